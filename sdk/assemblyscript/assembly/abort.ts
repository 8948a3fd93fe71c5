import { Value } from "./json";
import { share } from "./memory";

@external("extism:host/env", "error_set")
declare function error_set(offset: u64): void;
@external("extism:host/env", "log_error")
declare function log_error(offset: u64): void;

/** What AssemblyScript calls where other languages throw: the host's log gets the place, and the instance ends. Built in
 * by "use": "abort=…/abort/aborted", since the host offers no abort of its own. */
export function aborted(message: string | null, file: string | null, line: u32, column: u32): void {
  const text = (message ? message : "the plugin aborted") + " (" + (file ? file : "") + ":" + line.toString() + ":" + column.toString() + ")";
  const failure = Value.object().set("name", Value.text("PluginPanic")).set("code", Value.text("plugin_panic")).set("message", Value.text(text));
  log_error(share(text).offset); // the host frees the block
  error_set(share(failure.toString()).offset);
  unreachable();
}
