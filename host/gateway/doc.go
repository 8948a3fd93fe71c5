// Package gateway puts an MCP server in front of a host: an MCP client gets code
// mode, policy and approvals over any number of plugins and MCP servers, by the
// official Go SDK over stdio and streamable HTTP.
//
// With code mode the client sees exactly the tools exec and wait. Their results are
// those of package host, as structuredContent and, the same, as a text item; binaries
// whose handles stand in a result follow as image, audio and resource items. A result
// with status "failed" has isError. Without code mode the client sees the tools of the
// catalog, and each call goes through the same dispatcher.
//
// # Resources and prompts
//
// Without code mode the resources and prompts of the MCP servers are served by the
// protocol's own methods: resources/list, resources/templates/list, resources/read,
// prompts/list, prompts/get. Each of them is a call of the catalog's entry of that name,
// "mcp:<server>:resources/read" and so on, under the same policy, hooks, approvals and
// trace as any other. These entries are therefore not in tools/list. What a policy
// hides is not there: without entries the capability is not advertised, a server that
// must not be listed has nothing to be read, and one that must not be read gives
// "resource not found". With code mode nothing of this is advertised or served.
//
// Lists are put together from all servers, which are asked side by side; one that
// fails, is refused or takes longer than 20 seconds is left out and named in the log. A
// list is kept for 30 seconds, or until Gateway.Changed. A URI is read from the server
// that lists it, the first in the order of the catalog if several do, else from the
// first with a template for it. A prompt's name is "<server>__<name>", as that of a tool
// is; see host.ToolDefinition. Each server has its share of 10,000 items. Left out are items over
// 16 KiB, URIs and templates that are not absolute, names with characters that cannot be
// seen, and of all items icons and _meta; such characters are taken out of titles and
// descriptions. Contents and messages are handed on as their server gave them.
//
// The result of a list cannot ask the user with protocol 2026-07-28: a server whose
// lists need approval is left out there unless somebody else approves in time.
// Subscriptions to single resources and completion are not offered.
//
// # Sessions
//
// A session has one host.Run, made when it is first needed and replaced when tools
// have changed (Gateway.Changed); cells that were suspended in the old one can still
// be waited for. Protocol 2026-07-28 has no sessions over HTTP: there all requests of
// a principal share one, and no principal reaches another's. A session over HTTP ends
// when its client deletes it, or when it is idle: without requests, without cells that
// run or are suspended, without open approvals. A principal that has as many sessions
// as it may loses the one that it has not used for longest: one that is idle for fifteen
// seconds, or one whose client did nothing but listen for a minute.
//
// A request that is cancelled ends its program. A connection that is lost does not, with
// protocols before 2026-07-28: events have ids, and a client that comes back within
// Limits.ResumeTimeout with Last-Event-ID gets the rest of the answer. After that, or
// where the client was sent no id, the program is ended: it would run for nobody. What
// was sent can be had again for two minutes, within bounds for a session and for all.
// With protocol 2026-07-28 a lost connection is a cancellation, as it says.
//
// # Approvals
//
// Where Options.Elicit is set and the client can, a call that needs approval is put to
// the client's user as a form (elicitation): refuse, once, for this program, for this
// session. Until 2025-11-25 this is a request of the server's own; with 2026-07-28 it
// is a result that has the client ask and call again, whose requestState is
// authenticated and good for one session, tool and arguments only. Meanwhile the cell
// is suspended and nothing counts against its time. Declining, closing the form and
// every answer that was not offered refuse. A client that fails to ask leaves the
// approval open. Where nobody can be asked, exec gives a result with status "waiting"
// and reason "approval", and the approval is open for HTTPOptions.ApprovalTokens and
// whatever else answers the queue; wait goes on when it is answered. A direct call
// waits for Limits.ApprovalWait. Then it is answered with an error that says what waits and
// goes on by itself for up to an hour: it runs when it is approved, and the same call,
// with the same arguments in the same session, gets its answer, which is kept for ten
// minutes. A list of resources or prompts waits as long as its request does.
//
// What the model writes is never an answer: answers come by the protocol's own
// members beside a call's arguments. The client is trusted to have asked its user:
// do not set Elicit for clients that answer by themselves.
//
// # Client tools
//
// A client may lend tools to its session with the experimental capability
// "io.cloister/clientTools" in initialize:
//
//	{"app": "editor", "tools": [{"name", "title", "description", "inputSchema", "outputSchema"}]}
//
// They are in the session's catalog as "client:editor:name". A program that calls one
// makes exec give a result with status "waiting", whose pendingToolCalls have method
// "client", the id and the input. The client settles the call with the request
// "cloister/resolve" {callId, value} or "cloister/reject" {callId, error: {name,
// message, code}} and then calls wait. Only the session's own calls can be settled.
// Protocol 2026-07-28 over HTTP has no sessions and takes no such tools.
//
// # HTTP
//
// Handler serves /mcp, /healthz, and, if there are ApprovalTokens, /approvals and /status:
//
//	GET  /approvals             the open approvals, as an ApprovalList
//	GET  /approvals?wait=SECS   the same, when it is another than If-None-Match names, or
//	                            no longer empty; 304 when the time is up
//	POST /approvals/{id}        a host.Decision; 204, or 404 if it is not open
//	GET  /status                what the gateway holds now, as a Status
//
// Requests need a bearer token, and a Host and an Origin header that are allowed. A
// client's token does not open /approvals and /status.
//
// # Hostile clients
//
// Each message is checked before the SDK decodes it: its size, strict JSON without
// duplicate members, no batches, none of the protocol's own members in another case.
// Sessions, requests of a session, calls that run, and HTTP requests in all are
// bounded.
//
// Programs that run are bounded in number and memory, for all clients and for each
// principal (Limits.MaxRunning, MaxRunningPerPrincipal, MaxRunningBytes). One more waits
// for its place, and where none comes in time its exec or wait gives a failed result,
// with code "timeout" and a text that begins with "too many running programs"; nothing
// has happened to any program. A principal at its bound waits for its own programs, and
// where several wait the one with the fewest that run goes first. A program that is
// suspended does not run, nor does one that waits for its user's answer.
//
// Nothing waits for a client without end. A request has ten seconds until it is
// authenticated, an answer before that does not wait for its body, and with a token a
// message has thirty seconds to come. GET and DELETE have no body: one is refused with
// 400, unread. Each write of an answer has thirty seconds. A stream of events has a
// comment at an interval (Limits.CommentInterval, twenty seconds); one that cannot be written ends the stream, and
// with it what a client holds that left without a word. The time for the header is the
// server's own, http.Server.ReadHeaderTimeout.
package gateway
