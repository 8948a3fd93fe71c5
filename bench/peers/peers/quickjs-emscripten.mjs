// quickjs-emscripten, the RELEASE_SYNC variant (its fastest). One WebAssembly instance for all cells, as its own README
// has it; each cell gets a runtime and a context of its own, so cells share one linear memory.
import { getQuickJS, shouldInterruptAfterDeadline } from "quickjs-emscripten";
import { LIMITS, callJSON } from "../cells.mjs";

const BRIDGE = `(host) => {
  const { stringify, parse } = JSON;
  globalThis.tools = { call: (id, input) => host(id, stringify(input)).then(parse) };
}`;

export async function open() {
  const engine = await getQuickJS();
  return { run: (source) => run(engine, source) };
}

async function run(engine, source) {
  using runtime = engine.newRuntime();
  runtime.setMemoryLimit(LIMITS.memoryBytes);
  runtime.setInterruptHandler(shouldInterruptAfterDeadline(Date.now() + LIMITS.timeoutMs));
  using vm = runtime.newContext();
  {
    using fn = vm.newFunction("host", hostCall(vm, runtime));
    using make = vm.unwrapResult(vm.evalCode(BRIDGE));
    vm.unwrapResult(vm.callFunction(make, vm.undefined, fn)).dispose();
  }
  using promise = vm.unwrapResult(vm.evalCode(`(async () => {${source}\n})().then(JSON.stringify)`, "cell.js"));
  const settled = vm.resolvePromise(promise);
  runtime.executePendingJobs().dispose();
  using result = vm.unwrapResult(await settled);
  return JSON.parse(vm.getString(result));
}

// Replies that settle in the same turn are drained together: one pass over the job queue for all of them.
function hostCall(vm, runtime) {
  let drains = false;
  const drain = () => {
    drains = false;
    runtime.executePendingJobs().dispose();
  };
  return (id, input) => {
    const deferred = vm.newPromise();
    const settle = (make, method) => (text) => {
      using handle = make(text);
      deferred[method](handle);
      if (!drains) {
        drains = true;
        queueMicrotask(drain);
      }
    };
    callJSON(vm.getString(id), vm.getString(input)).then(
      settle((text) => vm.newString(text), "resolve"),
      settle((error) => vm.newError(error), "reject"),
    );
    return deferred.handle;
  };
}
