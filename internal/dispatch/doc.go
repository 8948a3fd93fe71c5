// Package dispatch is the one way to a tool. A [Call] is one nested call of any origin (a cell, a namespace, a plugin,
// a surface without code mode, the embedding program) and of any kind of tool (Go, plugin, MCP, client); its Dispatch is
// catalog and policy, schema, hooks, policy again, approval, the tool, the size and the schema of its result, trace.
// Nothing else invokes a tool.
//
// A [Dispatcher] is what the calls of all runs of a host share, a [Run] what those of one run do. Whoever opens calls (a
// program of code mode, a surface) brings the set of answers that hold for it, and where binaries go.
//
// A call may wait for somebody outside of the host: an approver, whoever resolves what a plugin asks, the caller of exec
// who executes a client's tool. That is one state with three kinds, and its answer comes by Resolve, Reject or the
// approver's return.
//
// Callbacks of the embedding program run without a lock held, and a panic in one ends neither the process nor the run.
package dispatch
