// Package mcpapi writes what guest code sees of MCP servers before it calls them: the JavaScript names of servers and tools, the
// names of tools in catalog ids, and TypeScript declarations.
//
//	names := mcpapi.ToolNames([]string{"create_issue", "create-issue", "then"})  // createIssue, createIssue2, then2
//	ids := mcpapi.IDNames([]string{"create_issue", "exec", "größe"})             // create_issue, exec-<hash>, gr-e-<hash>
//	text := mcpapi.Declaration(&mcpapi.Server{Name: "github", Title: "github", Tools: tools})
//
// All functions are pure: the same input gives the same bytes, in every process. They are safe for concurrent use.
//
// # Files
//
// [IndexPath] and [Path] name the virtual files of the API global: "mcp/index.d.ts" with the types that all servers share and a
// line for each server, from [Index], and "mcp/<JavaScript name>.d.ts" for each server, from [Declaration], with what the server says
// of itself as comments at its head. [ToolDeclaration] is
// the part of one tool, which MCP.<server>.$api(tool) shows.
//
// # Hostile input
//
// Names, descriptions and schemas are by the server. Package declare writes the types and the comments. What comes out keeps these
// promises, whatever goes in:
//
//   - It is one well-formed TypeScript file: brackets are balanced, strings end on their line, and no text of the server stands
//     outside of a comment or a string, but for property names that are plain ASCII identifiers.
//   - No text ends the comment it stands in. Every line of a comment that holds such text begins with " * " or "//".
//   - There are no control, format, bidirectional, invisible characters or line separators. Strings and names are ASCII: what
//     is not stands there as an escape, so that a name that only looks like another shows.
//   - Size and work are bounded: see [MaxToolBytes] and [MaxServerBytes]. A schema that needs more is shown less deeply, and the
//     declaration says so. No reference is loaded; a reference to what is being shown already is unknown.
//
// What a description asks of a reader cannot be mended here: it stays text that a stranger wrote, and the index says that.
//
// Schemas that do not parse (see declare.Parse) or are over schema.MaxSchemaBytes are shown as
// Record<string, unknown>: a declaration never fails. Calls are checked against the schema itself, never against what is shown.
package mcpapi
