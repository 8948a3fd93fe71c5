// experimental-ai-sdk-code-mode: an AI SDK tool that runs each cell in a pooled worker thread, in a fresh QuickJS module.
// Driven through runCodeMode, its lowest public entry, with a schema that costs no check of its own.
import { jsonSchema, tool } from "ai";
import { runCodeMode, setMaxWorkers } from "experimental-ai-sdk-code-mode";
import { ECHO, LIMITS, echo } from "../cells.mjs";

// In this peer tools.<name>(input) is a call and no second argument crosses, so one line maps tools.call onto it.
const ADAPTER = "const tools = { call: (id, input) => globalThis.tools[id](input) };";

const options = {
  executionPolicy: {
    timeoutMs: LIMITS.timeoutMs,
    memoryLimitBytes: LIMITS.memoryBytes,
    maxBridgeRequests: 256,
    maxInFlightBridgeRequests: 256,
  },
};

export async function open() {
  setMaxWorkers(256); // a cap, not a count: it starts as many as there are cells in flight
  const tools = { [ECHO]: tool({ inputSchema: jsonSchema({ type: "object" }), execute: (input) => echo(input) }) };
  return { run: (source) => runCodeMode({ js: ADAPTER + source, tools, options }) };
}
