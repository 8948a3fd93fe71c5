// Package catalog holds the tools of one run: which there are, which may be seen, how they are found, and how they are shown
// to guest code and to the model. It implements the pages "Catalog" and "Guest API" of the code mode contract.
//
// # Life of a catalog
//
// The host collects the effective tools of a run as [Entry] values, compiles its policies into layers, and calls [Build]:
//
//	host, err := catalog.NewLayer("host", catalog.Policy{Deny: []string{"mcp:*:delete_*"}})
//	...
//	c, err := catalog.Build(entries, host, agent, run)
//
// A [Catalog] is immutable and safe for concurrent use. It belongs to one run: nothing is shared between catalogs but pooled
// memory that is wiped, and the embedded table of synonyms. [Catalog.Digest] identifies everything a guest can see, so that a
// template made for one run can serve another with the same tools.
//
// # Ids and owners
//
// A tool's id is "<source>:<owner>:<tool>", for example cloister:core:message, cloister:acme.csv:parse, mcp:github:create_issue,
// client:app:select_file. [ID] documents the alphabet. It is narrow, ASCII only, so that an id can be printed, matched and compared
// without care, and no id looks like another. Texts that owners write (labels, descriptions) are cleaned of control,
// format and invisible characters when the catalog is built; JSON Schemas are handed on as they are, white space aside,
// because inputs are checked against them.
//
// # Policy
//
// Layers are asked one after the other and each of them must let a tool pass; within a layer a deny rule beats an allow rule.
// [NewLayer] documents the rules, [NewSandboxLayer] the alsoAllow list of a sandboxed run. Filtering happens before anything is
// built, so that a denied tool cannot be listed, searched, suggested, described or called by a guessed id. Why a tool is
// missing is kept for the host alone, in [Catalog.Excluded].
//
// Control tools (exec, wait, tool_search_code, tool_search, tool_describe, tool_call) are never in a catalog, but for the core
// shell tool cloister:core:exec; [Build] says what that means for tools of other owners that bear such a name.
//
// # What guest code sees
//
// MCP tools are in the catalog, so that policy, approvals and traces treat them like all others, but not in what
// guest code reads from it: [Catalog.GuestEntries] (ALL_TOOLS), [Catalog.Search], [Catalog.Describe], [Catalog.Convenience],
// [Catalog.Suggest] and [Catalog.Index] leave them out, since cells reach them through the MCP and API globals.
//
// # Search
//
// [Catalog.Search] ranks with BM25 over words, in fields of different weight, with a table of synonyms (synonyms.txt),
// light stemming and spelling correction. testdata/retrieval holds the tools and queries it is judged by;
// TestRetrieval is the gate. The weights and synonyms were tuned on queries-dev.txt alone; queries-heldout.txt was set apart before
// any tuning, queries-final.txt written after all of it. Queries, ids, schemas and entries are hostile: all work is bounded, by limits that stand beside the code they
// bound, and none of them depends on a size that the input declares.
package catalog
