// quickjs-wasi: QuickJS-NG in WebAssembly, the engine that Cloister runs too. The module is compiled once; each cell gets
// an instance of its own (QuickJS.create). Restoring a prepared snapshot instead was measured and is not faster.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { QuickJS } from "quickjs-wasi";
import { LIMITS, callJSON } from "../cells.mjs";

const BRIDGE = `(host) => {
  const { stringify, parse } = JSON;
  globalThis.tools = { call: (id, input) => host(id, stringify(input)).then(parse) };
}`;

// For a cell that is to be snapshotted, the resolvers of open calls must live in the guest: host promises do not survive.
const PARKING_BRIDGE = `(host) => {
  const { stringify, parse } = JSON;
  const open = new Map();
  let last = 0;
  globalThis.tools = {
    call: (id, input) => new Promise((resolve) => {
      open.set(++last, resolve);
      host(last, id, stringify(input));
    }),
  };
  return (key, reply) => {
    open.get(key)(parse(reply));
    open.delete(key);
  };
}`;

function wrap(source) {
  return `(async () => {${source}\n})().then(JSON.stringify)`;
}

export async function open() {
  const path = fileURLToPath(import.meta.resolve("quickjs-wasi/quickjs.wasm"));
  const wasm = await WebAssembly.compile(readFileSync(path));
  const options = () => {
    const deadline = performance.now() + LIMITS.timeoutMs;
    return { wasm, memoryLimit: LIMITS.memoryBytes, interruptHandler: () => performance.now() > deadline };
  };
  return { run: (source) => run(options, source), suspend: (source) => suspend(options, source) };
}

async function run(options, source) {
  using vm = await QuickJS.create(options());
  install(vm, BRIDGE, hostCall(vm))?.dispose();
  using promise = vm.evalCode(wrap(source), "cell.js");
  vm.executePendingJobs();
  return value(await vm.resolvePromise(promise));
}

// Replies that settle in the same turn are drained together: one pass over the job queue for all of them.
function hostCall(vm) {
  let drains = false;
  const drain = () => {
    drains = false;
    vm.executePendingJobs();
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
    callJSON(id.toString(), input.toString()).then(
      settle((text) => vm.newString(text), "resolve"),
      settle((error) => vm.newError(error), "reject"),
    );
    return deferred.handle;
  };
}

function install(vm, bridge, host) {
  using fn = vm.newFunction("host", host);
  using make = vm.evalCode(bridge);
  return vm.callFunction(make, vm.undefined, fn);
}

function value(result) {
  if (result.error !== undefined) {
    throw new Error(result.error.consume((handle) => handle.toString()));
  }
  return JSON.parse(result.value.consume((handle) => handle.toString()));
}

/** Runs a cell up to its first call, stores it as bytes, restores it in a new instance, answers, and finishes it. */
async function suspend(options, source) {
  const { bytes, settle, promise, parked } = await park(options, source);
  using vm = await QuickJS.restore(QuickJS.deserializeSnapshot(bytes), options());
  vm.registerHostCallback("host", () => vm.undefined);
  using settleHandle = vm.importHandle(settle);
  using promiseHandle = vm.importHandle(promise);
  using key = vm.newNumber(parked.key);
  using reply = vm.newString(await callJSON(parked.id, parked.input));
  vm.callFunction(settleHandle, vm.undefined, key, reply).dispose();
  vm.executePendingJobs();
  return { value: value(await vm.resolvePromise(promiseHandle)), bytes };
}

async function park(options, source) {
  using vm = await QuickJS.create(options());
  let parked;
  using settle = install(vm, PARKING_BRIDGE, (key, id, input) => {
    parked = { key: key.toNumber(), id: id.toString(), input: input.toString() };
    return vm.undefined;
  });
  using promise = vm.evalCode(wrap(source), "cell.js");
  vm.executePendingJobs();
  if (parked === undefined || promise.promiseState !== 0) {
    throw new Error("the cell did not stop at a call");
  }
  const tokens = { settle: vm.exportHandle(settle), promise: vm.exportHandle(promise) };
  return { ...tokens, bytes: QuickJS.serializeSnapshot(vm.snapshot()), parked };
}
