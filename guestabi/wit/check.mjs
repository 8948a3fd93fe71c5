// Reads cloister-plugin.wit with a WIT tool that others use too, and makes bindings and a component of it: what this
// repository's own test compares with the Go structs must be WIT to everybody. Run by hand and in CI:
//
//	npm ci && node check.mjs
import { readFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { generateGuestTypes } from "@bytecodealliance/jco-transpile";
import { componentEmbed, componentNew, componentWit } from "@bytecodealliance/jco-transpile/wasm-tools";

const source = fileURLToPath(new URL("cloister-plugin.wit", import.meta.url));
const text = await readFile(source, "utf8");

function must(ok, what) {
  if (!ok) throw new Error(what);
}

// Bindings: every function and record has a type.
const files = Object.values(Object.fromEntries(Object.entries(await generateGuestTypes(source, { worldName: "plugin" }))))
  .map((content) => Buffer.from(content).toString("utf8"))
  .join("\n");
const names = (pattern) => [...text.matchAll(pattern)].map((m) => m[1]);
const camel = (name) => name.replace(/-([a-z0-9])/g, (_, c) => c.toUpperCase());
const functions = names(/^ {2}([a-z][a-z0-9-]*): func/gm);
const records = names(/^ {2}record ([a-z][a-z0-9-]*)/gm);
must(functions.length >= 15 && records.length >= 20, `only ${functions.length} functions and ${records.length} records`);
for (const f of functions) {
  must(files.includes(`function ${camel(f)}(`), `no binding for the function ${f}`);
}
for (const r of records.filter((r) => r !== "plugin-response")) {
  const type = camel("-" + r);
  must(files.includes(`interface ${type} `), `no binding for the record ${r}`);
}

// A component of the world, without code, and its WIT read back.
const core = await componentEmbed({ dummy: true, witPath: source, world: "plugin" });
const component = await componentNew(core, []);
must(component[4] === 0x0d && component[6] === 1, "the result is not a component");
const printed = await componentWit(component);
must(printed.includes("export cloister:plugin/guest@1.0.0"), `the component does not export the interface:\n${printed}`);

// The tool can say no.
const dir = await mkdtemp(join(tmpdir(), "cloister-wit-"));
try {
  const broken = join(dir, "broken.wit");
  await writeFile(broken, text.replace("input: json,", "input: nothing-like-this,"));
  const refused = await generateGuestTypes(broken, { worldName: "plugin" }).then(() => false, () => true);
  must(refused, "a type that does not exist was taken");
} finally {
  await rm(dir, { recursive: true, force: true });
}
console.log(`cloister-plugin.wit: ${functions.length} functions, ${records.length} records, a component of ${component.length} bytes`);
