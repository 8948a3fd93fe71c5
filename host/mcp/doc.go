// Package mcp holds a host's connections to MCP servers. It gives them to package host as
// host.MCPServer values, whose tools cells call under the host's policy, approvals and
// trace.
//
//	m, err := mcp.New([]mcp.Server{
//		{Name: "files", Command: "mcp-server-filesystem", Args: []string{"/srv/data"}},
//		{Name: "tracker", URL: "https://mcp.example.com/mcp", Headers: map[string]mcp.Value{
//			"Authorization": {Env: "TRACKER_TOKEN", Prefix: "Bearer "},
//		}},
//	}, &mcp.Options{Cache: dir, OnChange: func(m *mcp.Manager) { _ = h.SetMCP(ctx, m.Servers()) }})
//	...
//	defer m.Close()
//	h, err := host.New(ctx, &host.Options{MCP: m.Load(ctx)})
//
// The protocol is spoken by the official Go SDK, versions 2024-11-05 to 2026-07-28, over
// standard input and output and over streamable HTTP.
//
// # Life of a connection
//
// [New] checks the configuration and starts nothing. [Manager.Load] makes all tool lists
// known: from the cache if they are there, and otherwise by starting the servers, all at the
// same time. A server whose list is cached starts with its first call. One that fails has
// its Err and no tools; the others are not touched. One that Load waited for in vain is
// waited for briefly only by the Loads of the next 10 minutes, those of other processes as
// well, since the cache remembers it; [Manager.Test] heeds no such memory.
//
// A connection that ends, or cannot be made, is tried again after a pause that grows from
// 0.25 to 30 seconds and starts over after a connection of two seconds, ten times at
// most, and after a flood begins with two seconds and does not start over; after that, and where the credentials or a secret are at fault, only calls try. A
// call waits for a rest of that pause of up to two seconds, and otherwise fails at once. A
// failed handshake is followed by one in the manner of protocol 2025-11-25, since some
// older servers do not survive the question for a newer one.
//
// A call is sent once. It is sent a second time only if the server has surely not seen
// the first (no connection, or a session that it says it has ended), or if
// [Server.Idempotent] names the tool. What a server says of itself does not count.
//
// Each call compares what the caller saw of the tool with what the server says of it now:
// name, title, description, schemas and hints. Another definition is refused with
// [CodeChanged], and the caller has to look again. When the server has told of a change
// that was not read yet, it is read before the call, no more than once a second. Without a
// call the lists are read when the server has told of nothing for a tenth of a second, so
// that a storm of changes is read once; one that goes on is read after two seconds, and
// then less and less often. OnChange is told of lists that are others than before.
//
// # Errors
//
// Errors of calls are *host.ToolError for errors.As, with one of the codes of this package
// and a text for guests that has no paths and no addresses; the cause is behind it, for
// errors.Is and for the log: [ErrUnavailable], [ErrProtocol], [ErrAuthorization],
// [ErrClosed] and others. The end of the caller's own context stays what it is. A tool that
// fails (isError) is no error here but a result.
//
// # A hostile server
//
// A server is a program of somebody else, and what it lists and answers is written by
// whoever writes to what it reads. What is contained, and how:
//
//   - All bytes are checked before the SDK sees them, as strict JSON and JSON-RPC:
//     duplicate keys, invalid UTF-8, NUL bytes, numbers and nesting beyond bounds, keys that
//     are ours but for letter case, messages of two kinds, batches. An answer has to be to an
//     open request, once, under its exact id; one to a cancelled request is dropped. All
//     else ends the connection with ErrProtocol.
//   - Results of calls do not go through the SDK at all. Numbers keep their digits.
//   - On standard output, a line that no reader could take for a message is handed to
//     Options.Stderr and skipped, up to 1000 lines and 1 MiB between two messages, as servers
//     print banners and logs there by mistake. One that names jsonrpc in any writing, or has
//     an id with a method, a result or an error, has to be a correct message.
//   - Lines, bodies, events, pages, cursors, lists, tools, descriptions, schemas and content
//     items are bounded, before they are parsed. A list that goes in circles is an error.
//     A tool whose schema does not compile, or refers to another document, is left out and
//     named in Status; so are both of two tools of one name. An input schema is not refused for a
//     pattern that Go's engine cannot take, unless the schema may let less through without it, for an
//     unknown $schema, which is taken as 2020-12, or for a required that is null: calls are checked
//     against the rest (host.MCPTool.Checked). Hints that are no booleans are as absent, but for
//     destructiveHint, which then is true. Manager.Test notes all that.
//   - Sampling, elicitation and roots are not offered, and refused when asked for. A result
//     that asks for input (2026-07-28) is an error with [CodeInput]. At most 64 requests of a
//     server are open.
//   - Notifications are handled where they are read, and never queued without a bound.
//   - What it says unasked has a budget, [Limits].MaxUnaskedPerSecond: notifications of any
//     kind, requests of its own, events without a message, and lines of standard error and
//     output that are no messages, each by its size too. A server that is over it is
//     read no faster: what it writes stays in the pipe or the connection until the server
//     has to wait. If that goes on for ten seconds the connection is ended with
//     [ErrFlood], which is in the log, in Status, and for a day in the cache ([LastEnded]).
//   - A server that does not read, answers in drops or not at all costs its own callers the
//     time of their context or Limits.CallTimeout, and nobody else anything.
//   - A stdio server runs in a process group of its own, which Close ends: standard input is
//     closed, after a second comes SIGTERM, after two more SIGKILL.
//   - A stdio server gets PATH, HOME, LANG, LANGUAGE, LC_*, TZ, TMPDIR, USER, LOGNAME, SHELL
//     and TERM of the host's environment (on Windows what programs need there), and what
//     Server.Env and Server.InheritEnv add. It runs with the rights of the host: nothing here
//     is a sandbox for it.
//
// # HTTP
//
// The configured URL is the only origin that anything is sent to: redirects to another one
// are refused, and so are those that change the method. http:// is refused but for this
// machine and with Server.AllowPrivate. Addresses that the server chooses, those of its
// authorization server, may be public only, unless the configured server is on this machine
// or AllowPrivate is set; they are checked after the name was looked up (see
// internal/egress). The stream on which a server tells of changes is opened again whenever
// it breaks, and after that the lists are read anew.
//
// # Secrets
//
// A [Value] is looked up when its server is connected to, and again for the next
// connection. Errors, also the texts of results that say isError, logs, Status and lines of
// standard error have "***" in its place, if it has four bytes at least. Other results stay as
// the server gave them.
// OAuth tokens are kept by a [TokenStore], under the server's name and URL: [FileTokens] is
// one of files. A cached tool list is bound to a hash of the configuration, in which secrets
// stand by where they come from.
package mcp
