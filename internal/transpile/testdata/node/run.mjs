// Runs transformed cells for the tests. Reads a JSON array of {name, code, frozen}
// from standard input and writes an array of {name, value | error, frames}, frames
// being the [line, column] of each stack frame in the cell, the innermost first.
// Each cell runs in a realm of its own in which no code can be made from strings;
// with frozen set, everything in that realm is frozen first.
import vm from "node:vm";
import { readFileSync } from "node:fs";

const freeze = `(() => {
  const seen = new Set();
  const visit = v => {
    if (v === null || typeof v !== "object" && typeof v !== "function" || seen.has(v)) return;
    seen.add(v);
    for (const key of Reflect.ownKeys(v)) {
      const d = Reflect.getOwnPropertyDescriptor(v, key);
      visit(d.value); visit(d.get); visit(d.set);
    }
    visit(Reflect.getPrototypeOf(v));
    if (v !== globalThis) Object.freeze(v);
  };
  visit(globalThis);
  for (const f of [function () {}, () => {}, async () => {}, function* () {}, async function* () {}]) visit(f);
  visit([][Symbol.iterator]());
})();
delete globalThis.eval;
delete globalThis.Function;`;

async function run({ name, code, frozen }) {
  const context = vm.createContext({}, { codeGeneration: { strings: false, wasm: false } });
  if (frozen) vm.runInContext(freeze, context);
  try {
    const script = new vm.Script(`(async () => {\n${code}\n})().then(v => JSON.stringify(v) ?? "null")`, { filename: "cell.js", lineOffset: -1 });
    return { name, value: await script.runInContext(context, { timeout: 10000 }) };
  } catch (e) {
    // An error of the context, whose class is not ours.
    const frames = [...String(e?.stack).matchAll(/cell\.js:(\d+)(?::(\d+))?/g)];
    return { name, error: String(e?.message ?? e), frames: frames.map(f => [Number(f[1]), Number(f[2] ?? 0)]) };
  }
}

const results = [];
for (const cell of JSON.parse(readFileSync(0, "utf8"))) results.push(await run(cell));
process.stdout.write(JSON.stringify(results));
