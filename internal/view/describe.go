package view

import (
	"strings"
)

// indexBudget bounds the index of tools in the exec description, in tokens.
const indexBudget = 1500

// describeExec teaches the model the guest's API. It is the same text for the
// same catalog and configuration, so that prompt caches hold.
func (v *View) describeExec(typeScript bool) string {
	var b strings.Builder
	b.WriteString("Run a program in a sealed JavaScript sandbox. The code is the body of an async function: top-level await works, and `return` gives the result (JSON). ")
	if typeScript {
		b.WriteString("Set language to \"typescript\" for TypeScript. ")
	}
	b.WriteString(`There are no modules (import, require), files, network or timers: use the tools.
- await tools.search("what you need", { limit: 5 }) finds tools; ALL_TOOLS lists them all as { id, name, description, source }.
- await tools.describe(id) gives a tool's input schema.
- await tools.call(id, input), or tools.<name>(input) for a name that is unique, calls it. Failures are thrown: catch them by message and code.
- Calls run side by side with Promise.all. Await every call.
- text(value), json(value) and console.log add to the output; keep it small.
- yield_control() hands back to you in the middle; call wait to go on.
- await API.list() and await API.read(path) show declaration files, of MCP servers above all; MCP holds their tools.
A result with status "waiting" has a runId: call wait with it.
`)
	b.WriteString(v.describeMCP())
	b.WriteString(v.describeNamespaces())
	b.WriteString("\nTools:\n")
	b.WriteString(v.Catalog.Index(indexBudget))
	return strings.TrimRight(b.String(), "\n")
}
