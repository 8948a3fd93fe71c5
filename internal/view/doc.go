// Package view is what a run sees of the tools that there are: the catalog that policy leaves, the namespaces of plugins
// and MCP servers as objects of a program, the description that teaches a model both, the tools themselves for a model
// without code mode, and what to say of a name that is not there.
//
// A View does not change. Runs that see the same share one ([Cache]); a run's own are its Namespaces, whose scopes
// plugins may compute for it ([NamespaceCache]). Nothing here calls a tool.
//
// Names, descriptions and schemas are texts of strangers: what goes to a model or into a program passes the catalog's
// and plaintext's rules first.
package view
