// Package api is the vocabulary of a host: what a tool, a call, an approval, a result, an MCP server and an event of a
// trace are, and the interfaces that an embedding program may implement ([Policy], [TraceSink], [Transformer],
// [SnapshotStore], [MCPClient]).
//
// It holds data and no behaviour, and imports nothing of ours but guestabi, so that whatever stands around a host can
// speak of these things without linking an engine. Package host has a name of its own for each of them:
// host.ToolCall is api.ToolCall. Programs that have a host write host.ToolCall; packages that have none import api.
package api
