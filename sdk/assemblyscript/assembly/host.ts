// Functions of the host. Each is an import of the module only if the plugin uses it, and the host refuses imports that the
// manifest's permissions do not grant.

import { Memory } from "@extism/as-pdk";
import { Answer } from "./answer";
import { Value } from "./json";
import { share } from "./memory";

@external("cloister:host", "log")
declare function host_log(request: u64): u64;
@external("cloister:host", "progress")
declare function host_progress(request: u64): u64;
@external("cloister:host", "config_get")
declare function host_config_get(request: u64): u64;
@external("cloister:host", "kv_get")
declare function host_kv_get(request: u64): u64;
@external("cloister:host", "kv_put")
declare function host_kv_put(request: u64): u64;
@external("cloister:host", "kv_delete")
declare function host_kv_delete(request: u64): u64;
@external("cloister:host", "http")
declare function host_http(request: u64): u64;
@external("cloister:host", "call_tool")
declare function host_call_tool(request: u64): u64;
@external("cloister:host", "interrupt")
declare function host_interrupt(request: u64): u64;
@external("cloister:host", "now")
declare function host_now(request: u64): u64;
@external("cloister:host", "random")
declare function host_random(request: u64): u64;
@external("extism:host/env", "length")
declare function env_length(offset: u64): u64;

function request(): Value { return Value.object().set("abi", Value.number(1)); }

function put(r: Value): Memory { return share(r.toString()); }

/** Reads the host's answer and frees both blocks. */
function take(sent: Memory, offset: u64): Answer {
  sent.free();
  const length = env_length(offset);
  if (length == 0) return Answer.fail("invalid_response", "the host did not answer");
  const block = new Memory(offset, length);
  const text = block.toString();
  block.free();
  return Answer.read(text);
}

/** Writes a line to the host's log. The level is "trace", "debug", "info", "warn" or "error". */
export function log(level: string, message: string): void {
  const m = put(request().set("level", Value.text(level)).set("message", Value.text(message)));
  take(m, host_log(m.offset));
}

/** Reports how far the call is: done of total, in any unit; a total of 0 means that it is not known. */
export function progress(done: f64, total: f64 = 0, message: string = ""): void {
  const m = put(request().set("progress", Value.number(done)).set("total", Value.number(total)).set("message", Value.text(message)));
  take(m, host_progress(m.offset));
}

/** What the operator set for a key of permissions.config; the value is null where nothing is set. */
export function config(key: string): Answer {
  const m = put(request().set("key", Value.text(key)));
  return take(m, host_config_get(m.offset));
}

/** An entry of the plugin's own store: {found, value}. Needs permissions.kv. */
export function kvGet(key: string): Answer {
  const m = put(request().set("key", Value.text(key)));
  return take(m, host_kv_get(m.offset));
}

/** Sets an entry; 0 seconds keeps it as long as the session's store. Needs permissions.kv. */
export function kvPut(key: string, value: string, ttlSeconds: i32 = 0): Answer {
  const m = put(request().set("key", Value.text(key)).set("value", Value.text(value)).set("ttlSeconds", Value.number(ttlSeconds)));
  return take(m, host_kv_put(m.offset));
}

/** Removes an entry. Needs permissions.kv. */
export function kvDelete(key: string): Answer {
  const m = put(request().set("key", Value.text(key)));
  return take(m, host_kv_delete(m.offset));
}

/** Makes a request to a server of permissions.hosts. The members are those of HTTPRequest in the contract: method, url,
 * headers, secretHeaders, body, bodyBase64, timeoutMs; the answer has status, url, headers, body, bodyBase64. A secret goes
 * to the hosts only that the manifest names with it. */
export function http(r: Value): Answer {
  const m = put(r.set("abi", Value.number(1)));
  return take(m, host_http(m.offset));
}

/** Runs another tool, an entry of permissions.tools. */
export function callTool(tool: string, input: Value): Answer {
  const m = put(request().set("tool", Value.text(tool)).set("input", input));
  return take(m, host_call_tool(m.offset));
}

/** Pauses the run until somebody resolves it; the answer is the resolution. */
export function interrupt(payload: Value): Answer {
  const m = put(request().set("payload", payload));
  return take(m, host_interrupt(m.offset));
}

/** The host's clock in milliseconds since 1970, UTC; 0 where the host does not answer. */
export function now(): f64 {
  const m = put(request());
  const value = take(m, host_now(m.offset)).value;
  return value ? value.num("unixMs") : 0;
}

/** Random bytes fit for cryptography, 1 to 4096 of them, in base64. */
export function random(bytes: i32): Answer {
  const m = put(request().set("bytes", Value.number(bytes)));
  const answer = take(m, host_random(m.offset));
  const value = answer.value;
  return value ? Answer.ok(Value.text(value.str("base64"))) : answer;
}
