// Package otel turns the trace of a host into OpenTelemetry spans and sends them to
// a collector by OTLP over HTTP.
//
//	exporter, err := otel.New(otel.Options{Endpoint: "http://localhost:4318"})
//	if err != nil {
//		return err
//	}
//	defer exporter.Shutdown(ctx)
//	h, err := host.New(ctx, &host.Options{Trace: exporter})
//
// # Spans
//
// A trace is one code mode run: its id, and those of its spans, follow from the
// run's id, so that exec and every wait of a run meet in one trace, whichever
// process they ran in. A call without a cell is a trace of its own.
//
//	execute_tool exec                  the root
//	├ tools/call create_issue          a call of an MCP tool (kind client)
//	│ └ approval                       asked, decided
//	├ execute_tool csv_query           a call of another tool
//	│ └ execute_tool lookup            a call that its plugin made
//	├ execute_tool mail                denied: no duration, status error
//	└ execute_tool wait                child of exec, with the calls that began in it
//
// A call belongs to the exec or wait during which the cell made it, and may end
// after that. search, describe, suspend, resume and calls.more are events of these
// spans; expire, abort and namespace.refused are spans without duration.
//
// Attributes follow OpenTelemetry's conventions for generative AI and MCP as they
// were at version 1.42: gen_ai.operation.name, gen_ai.tool.name, gen_ai.tool.call.id,
// gen_ai.tool.type, gen_ai.agent.id, gen_ai.conversation.id, mcp.method.name,
// error.type. What they have no name for begins with "cloister.": run.id,
// agent_run.id, tool.id, tool.owner, tool.unsigned, tool.untrusted, namespace,
// caller, sender, channel, status, reason, denied.rule, approval.by,
// approval.extent, input.bytes, output.bytes, unfinished, and count for what stands
// for more than one. A tool that does not exist gives no span its name, as a guest can
// make up any number of them.
//
// Inputs and results are in no event, so in no span. Texts are bounded, and what
// looks like a secret is taken out of them.
//
// # Bounds
//
// Emit never waits: it puts the event into a queue of QueueSize, and drops it if
// that is full. Spans wait in another queue until they are sent. At most MaxOpen
// spans are open; over it, the run that was quiet for longest is closed, as is one
// that was quiet for OpenTTL: its spans are sent with cloister.unfinished. Stats
// counts what was sent and what was dropped.
//
// # Endpoint
//
// Traces tell who did what, so they go to https, or to http at this machine's
// loopback addresses alone; a name is checked at each connection. Redirects are not
// followed, and the OTEL_ variables of the environment are not read: what is in
// Options is all there is. Values of Headers are secrets: Options does not print
// them, and errors do not hold them, also where the collector sends them back.
package otel
