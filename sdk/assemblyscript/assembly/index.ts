// The SDK for authors of Cloister plugins in AssemblyScript. See README.md beside the SDKs, and texttools for an example.
//
//   import { Answer, Value, tool, ok, fail } from "./cloister";
//   export { cloister_call, cloister_describe } from "./cloister";
//
//   tool("greet", "Greets somebody by name.", (input: Value): Answer =>
//     ok(Value.object().set("text", Value.text("Hello, " + input.str("name") + "!"))));
//
// AssemblyScript has no exceptions: a tool gives ok or fail. What aborts (an index out of range, a null that was asserted
// to be none) ends the instance, and the host's log says where.

import { Host } from "@extism/as-pdk";
import "./abort";
import { Answer } from "./answer";
import { Kind, Value } from "./json";
import { share } from "./memory";

export { Answer } from "./answer";
export { Kind, Value } from "./json";
export { log, progress, config, kvGet, kvPut, kvDelete, http, callTool, interrupt, now, random } from "./host";

/** The answer with a value. */
export function ok(value: Value): Answer { return Answer.ok(value); }

/** The answer of a failure: a code for programs, and a text that says how to mend it. */
export function fail(code: string, message: string): Answer { return Answer.fail(code, message); }

/** Makes a call marker for a computed scope. */
export function marker(tool: string, args: string[] = []): Value {
  const m = Value.object().set("$tool", Value.text(tool));
  if (args.length == 0) return m;
  const names = Value.array();
  for (let i = 0; i < args.length; i++) names.push(Value.text(args[i]));
  return m.set("args", names);
}

class Registered {
  constructor(readonly description: string, readonly run: (input: Value) => Answer) {}
}

const tools = new Map<string, Registered>();
const scopes = new Map<string, (context: Value) => Answer>();
const mappers = new Map<string, (path: Value, args: Value) => Answer>();

/** Registers a tool. Call it at the top level of the module. The host has checked the input, an object, against the
 * schema in the manifest. */
export function tool(name: string, description: string, run: (input: Value) => Answer): void {
  tools.set(name, new Registered(description, run));
}

/** Registers the function that computes the scope of a namespace whose manifest entry has scopeExport true. It gets the
 * run's context and gives an object of data and markers. Export cloister_scope too. */
export function scope(namespaceID: string, compute: (context: Value) => Answer): void {
  scopes.set(namespaceID, compute);
}

/** Registers the function that makes a tool's input of the arguments of a namespace call, for markers with mapInput. path
 * is an array of texts, args an array. Export cloister_map_input too. */
export function mapInput(namespaceID: string, map: (path: Value, args: Value) => Answer): void {
  mappers.set(namespaceID, map);
}

/** Export of a plugin: runs its tools. */
export function cloister_call(): i32 { return reply(runTool(Host.inputString())); }

/** Export of a plugin: says which tools there are. */
export function cloister_describe(): i32 {
  const list = Value.array();
  const names = tools.keys();
  for (let i = 0; i < names.length; i++) {
    const entry = Value.object().set("name", Value.text(names[i]));
    const description = tools.get(names[i]).description;
    if (description.length > 0) entry.set("description", Value.text(description));
    list.push(entry);
  }
  return reply(ok(Value.object().set("tools", list)));
}

/** Export of a plugin with a computed scope. */
export function cloister_scope(): i32 { return reply(runScope(Host.inputString())); }

/** Export of a plugin that maps arguments. */
export function cloister_map_input(): i32 { return reply(runMap(Host.inputString())); }

function runTool(text: string): Answer {
  const request = Value.parse(text);
  if (!request) return unreadable();
  if (request.num("abi") != 1) return otherABI();
  const name = request.str("tool");
  if (!tools.has(name)) return fail("unknown_tool", "the plugin has no tool " + name + "; it has " + tools.keys().join(", "));
  const input = request.get("input");
  if (!input || input.kind != Kind.Object) return fail("invalid_input", "a tool's input is an object");
  return tools.get(name).run(input);
}

function runScope(text: string): Answer {
  const request = Value.parse(text);
  if (!request) return unreadable();
  if (request.num("abi") != 1) return otherABI();
  const id = request.str("namespace");
  if (!scopes.has(id)) return fail("unknown_namespace", "the plugin computes no scope for the namespace " + id);
  const context = request.get("context");
  return scopes.get(id)(context ? context : Value.object());
}

function runMap(text: string): Answer {
  const request = Value.parse(text);
  if (!request) return unreadable();
  if (request.num("abi") != 1) return otherABI();
  const id = request.str("namespace");
  if (!mappers.has(id)) return fail("unknown_namespace", "the plugin maps no arguments for the namespace " + id);
  const path = request.get("path");
  const args = request.get("args");
  return mappers.get(id)(path ? path : Value.array(), args ? args : Value.array());
}

function unreadable(): Answer { return fail("invalid_request", "the host's request is not JSON"); }

function otherABI(): Answer { return fail("unsupported_abi", "the host speaks another version of the messages; build the plugin with a newer SDK"); }

function reply(answer: Answer): i32 {
  // Host.outputString of the PDK cuts text that is not ASCII.
  Host.outputMemory(share(answer.toString()));
  return 0;
}
