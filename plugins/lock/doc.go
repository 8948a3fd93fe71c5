// Package lock reads, writes and compares cloister.lock, the file that says which plugins and tools a host has agreed to.
//
// The file holds, for each plugin, the version, the digest of its artifact, its publisher and who signed it; and for each
// tool of a plugin or an MCP server, by its id in the catalog, all that a decision, a model or a person rests on: a hash of
// its name, description and schemas, its title, what its author says that it does, and the approval that a plugin's author
// asks for. What an MCP server says of itself stands there as the description of a tool
// "mcp:<server>:server/instructions", and that it has resources and prompts as "server/resources" and "server/prompts". It
// is meant to be kept beside the code that uses the tools: its text is sorted and indented, so that a change of one tool
// is a change of a few lines.
//
//	l, err := lock.Load(lock.FileName)
//	if errors.Is(err, fs.ErrNotExist) { … } // nothing was ever locked
//	tool := lock.Definition{Name: "create_issue", Description: description, Parameters: parameters, Hints: hints}
//	err = l.CheckTool("mcp:github:create_issue", tool.Entry())
//	var drift *lock.DriftError
//	if errors.As(err, &drift) { … } // the tool changed since somebody looked at it: it stays out of the catalog
//
// # Drift
//
// What is not in the file, or not as the file says, has drifted: [*DriftError]. The package never mends that by itself.
// A person sees the differences ([File.Differences]), and `cloister lock accept` writes a new file. A file that cannot be
// read is an error, never an empty file.
//
// Hints and approval have an order. A tool that says that it destroys and then says so no more, that suddenly only reads,
// or that wants nobody to be asked any more, has drifted: approvals and policies would let more of it through than
// somebody agreed to. The other way round nothing is taken away from what was agreed to, and [File.CheckTool] lets the tool
// pass as it is now; [File.Differences] shows that as well.
//
// # Versions
//
// Version 1 of the file held no titles, hints or approvals, and not that a server has resources and prompts. It is
// read, and what it held still counts. What it did not hold was agreed to by nobody: see [File.CheckTool] and
// [File.Incomplete].
//
// # Hashes
//
// [HashTool] hashes the canonical JSON of RFC 8785, so that white space and the order of members do not count. A schema
// that has no canonical form (a duplicate key, a number that a double cannot hold) is hashed byte by byte instead: then
// every change counts, rather than none.
//
// The lock file is trusted: who can write to it can agree to anything. It adds to the signatures of plugins and takes
// nothing from them.
//
// A [*File] is plain data: reading from several goroutines is safe, changing is for one.
package lock
