// Package namespace holds the rules for what a plugin may put into a cell's global scope: the name of the global, and the
// scope behind it, which is plain data with call markers.
//
// A scope is one JSON object. An object in it that has the member "$tool" is a call marker and becomes a function:
//
//	{"$tool": "list_issues"}                              the input is the first argument, or {} without one
//	{"$tool": "update_issue", "args": ["number","patch"]} the arguments become the members number and patch
//	{"$tool": "search", "mapInput": true}                 the plugin maps the arguments to the input
//
// The same rules hold for a scope that is written in a manifest and for one that a plugin computes for a run. They are
// checked on the host, before any guest code runs: JSON has no functions and no cycles; what is left to refuse are keys that
// mean something to JavaScript objects, keys that hold the separator of paths, markers for tools that the namespace did not
// declare, and sizes.
//
//	root, err := namespace.ParseScope(data, []string{"list_issues", "update_issue"})
package namespace
