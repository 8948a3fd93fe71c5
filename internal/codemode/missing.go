package codemode

import (
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// What a cell lacks that JavaScript has elsewhere, and what to use instead.
const (
	noNetwork = `a cell has no network: tools.search("what you need") finds a tool for it`
	noFiles   = `a cell has no files and no modules: tools.search("what you need") finds a tool for it`
	noProcess = "a cell has no process and no environment: a tool can supply what it needs"
	noPage    = "a cell has no page: it calls tools and returns a value"
	noTimer   = "a cell has no timers: await the tool itself, or await yield_control() to go on with the next wait"
	noBuffer  = "use Uint8Array: new TextEncoder().encode(text), new TextDecoder().decode(bytes), bytes.toBase64(), Uint8Array.fromBase64(text), or atob and btoa"
	noURL     = "there is no URL parser: use encodeURIComponent, decodeURIComponent, split and regular expressions"
	noIntl    = "there is no locale data: use toFixed, padStart, toISOString"
	noPython  = "this is JavaScript: true, false and null"
)

// instead has a remedy for each name.
var instead = func() map[string]string {
	m := map[string]string{
		"Buffer": noBuffer, "Intl": noIntl, "crypto": "there is no crypto: Math.random() is there, and tools for what needs more",
		"performance": "use Date.now(), which goes in steps of 10 ms", "print": "use console.log(value), or return the value",
		"await":    "await works in async functions only: write async in front of the function around it",
		"exec":     "this is a cell already: go on with its program",
		"wait":     "await what you wait for; wait is for the caller of exec",
		"callTool": "use tools.call(id, input)", "call_tool": "use tools.call(id, input)", "invoke": "use tools.call(id, input)",
		"search": "use tools.search(query)", "describe": "use tools.describe(id)", "call": "use tools.call(id, input)",
	}
	for remedy, names := range map[string]string{
		noNetwork: "fetch XMLHttpRequest WebSocket axios http https request Headers Response Request EventSource navigator",
		noFiles:   "fs path module exports require __dirname __filename os child_process open",
		noProcess: "process Deno Bun env std",
		noPage:    "window document location alert prompt localStorage sessionStorage",
		noTimer:   "setTimeout setInterval setImmediate clearTimeout clearInterval clearImmediate sleep delay",
		noURL:     "URL URLSearchParams",
		noPython:  "True False None nil",
	} {
		for _, name := range strings.Fields(names) {
			m[name] = remedy
		}
	}
	return m
}()

// globals are names that a misspelt one may mean.
var globals = []string{"tools", "console", "ALL_TOOLS", "MCP", "API", "text", "json", "yield_control", "namespaces", "structuredClone", "JSON", "Object", "Array", "Promise", "Math", "Date", "Map", "Set", "String", "Number", "undefined"}

// missingGlobal is about a name that is not defined: a tool, a server or a namespace that is reached otherwise, what
// other surroundings of JavaScript have, or a typing error.
func (r *Run) missingGlobal(name string) string {
	if len(name) > 100 {
		return ""
	}
	if _, there := r.view.Catalog.Convenience()[name]; there {
		return "did you mean tools." + name + "?"
	}
	servers := make([]string, len(r.view.MCP))
	for i, s := range r.view.MCP {
		servers[i] = s.API.Name
	}
	if slices.Contains(servers, name) {
		return "did you mean MCP." + name + "?"
	}
	if remedy := instead[name]; remedy != "" {
		if remedy == noTimer && slices.Contains(r.convenient(), "sleep") {
			return "a cell has no timers: await tools.sleep(input)"
		}
		return remedy
	}
	if near := schema.Suggest(name, slices.Concat(globals, r.globalNames())); near != "" {
		return "did you mean " + near + "?"
	}
	if near := schema.Suggest(name, r.convenient()); near != "" {
		return "did you mean tools." + near + "?"
	}
	if near := schema.Suggest(name, servers); near != "" {
		return "did you mean MCP." + near + "?"
	}
	return ""
}

// convenient lists the names in tools.
func (r *Run) convenient() []string {
	var names []string
	for name := range r.view.Catalog.Convenience() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// globalNames lists the globals of plugins' namespaces.
func (r *Run) globalNames() []string {
	var names []string
	for _, path := range r.memberPaths() {
		global, _, _ := strings.Cut(path, ".")
		if !slices.Contains(names, global) {
			names = append(names, global)
		}
	}
	return names
}

// memberPaths lists the functions of plugins' namespaces.
func (r *Run) memberPaths() []string {
	var paths []string
	if built := r.spaces.Get(); built != nil {
		for i := range built.Members {
			if m := &built.Members[i]; m.Of != nil {
				paths = append(paths, m.Path)
			}
		}
	}
	return paths
}

// absentMember is about NAMESPACE.MEMBER, also with namespaces. in front.
func (r *Run) absentMember(path string) string {
	path = strings.TrimPrefix(path, "namespaces.")
	global, _, _ := strings.Cut(path, ".")
	paths := r.memberPaths()
	if slices.Contains(paths, path) || !slices.Contains(r.globalNames(), global) {
		return ""
	}
	text := "there is no " + plaintext.Short(path, 100)
	if near := schema.Suggest(path, paths); near != "" {
		return text + "; did you mean " + near + "?"
	}
	var own []string
	for _, p := range paths {
		if strings.HasPrefix(p, global+".") && len(own) < 8 {
			own = append(own, p)
		}
	}
	return text + "; there is " + strings.Join(own, ", ")
}
