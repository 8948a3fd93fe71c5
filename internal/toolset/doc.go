// Package toolset is the set of tools that runs are made of: Go functions of the embedding program, the tools and
// namespaces of plugins, those of MCP servers. A [Set] does not change; another is put in its place (read, copy,
// update), and a run keeps the one that it started with, which keeps that one's plugins open.
//
// What differs from the lock is left out and named (Drift). What is wrong with one tool of an MCP server leaves that one
// out (Status); what is wrong with a Go function or a plugin is an error of Build.
package toolset
