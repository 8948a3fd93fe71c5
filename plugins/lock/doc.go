// Package lock reads, writes and compares cloister.lock, the file that says which plugins and tools a host has agreed to.
//
// The file holds, for each plugin, the version, the digest of its artifact, its publisher and who signed it; and for each
// tool of a plugin or an MCP server, by its id in the catalog, a hash of its name, description and schemas. What an MCP
// server says of itself stands there as the description of a tool "mcp:<server>:server/instructions". It is meant to
// be kept beside the code that uses the tools: its text is sorted and indented, so that a change of one tool is a change
// of a few lines.
//
//	l, err := lock.Load(lock.FileName)
//	if errors.Is(err, fs.ErrNotExist) { … } // nothing was ever locked
//	err = l.CheckTool("mcp:github:create_issue", lock.HashTool("create_issue", description, parameters, nil))
//	var drift *lock.DriftError
//	if errors.As(err, &drift) { … } // the tool changed since somebody looked at it: it stays out of the catalog
//
// # Drift
//
// What is not in the file, or not as the file says, has drifted: [*DriftError]. The package never mends that by itself.
// A person sees the differences ([File.Differences]), and `cloister lock accept` writes a new file. A file that cannot be
// read is an error, never an empty file.
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
