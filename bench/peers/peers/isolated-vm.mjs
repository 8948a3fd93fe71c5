// isolated-vm: V8 isolates by a native addon. Not WebAssembly and not QuickJS: it stands here as the native yardstick.
// Each cell gets a fresh isolate. A context made in place (createContextSync) was measured to be its fastest form.
import ivm from "isolated-vm";
import { LIMITS, callJSON } from "../cells.mjs";

const BRIDGE = `
  const host = $0;
  const { stringify, parse } = JSON;
  const how = { arguments: { copy: true }, result: { promise: true, copy: true } };
  const tools = { call: (id, input) => host.apply(undefined, [id, stringify(input)], how).then(parse) };
`;

export async function open() {
  return { run };
}

// The addon passes a rejection on to the cell but leaves the promise itself without a handler, which would end the process.
function host(id, input) {
  const reply = callJSON(id, input);
  reply.catch(() => {});
  return reply;
}

async function run(source) {
  const isolate = new ivm.Isolate({ memoryLimit: LIMITS.memoryBytes / (1024 * 1024) });
  try {
    const context = isolate.createContextSync();
    const code = `${BRIDGE}return (async () => {${source}\n})().then(stringify);`;
    const json = await context.evalClosure(code, [new ivm.Reference(host)], {
      timeout: LIMITS.timeoutMs,
      result: { promise: true, copy: true },
    });
    return JSON.parse(json);
  } finally {
    isolate.dispose();
  }
}
