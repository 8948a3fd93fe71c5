package catalog

import "strings"

// ReservedWords are the words of ECMAScript that cannot name a variable, strict mode and modules included, and the globals
// that cannot be bound anew.
const ReservedWords = `arguments await break case catch class const continue debugger default delete do else enum eval export
	extends false finally for function globalThis if implements import in Infinity instanceof interface let NaN new null package
	private protected public return static super switch this throw true try typeof undefined var void while with yield`

// ObjectMembers are names that the language itself looks up on objects: promises, JSON, coercion, prototypes.
const ObjectMembers = `then toJSON toString toLocaleString valueOf constructor prototype __proto__ hasOwnProperty isPrototypeOf
	propertyIsEnumerable`

// reservedNames can never be convenience names on the tools object.
var reservedNames = func() map[string]bool {
	names := map[string]bool{}
	for _, list := range []string{
		// Helpers of the tools object.
		"search describe call",
		// The other control tools: tools.exec may only ever be the core shell tool, and tools.wait nothing.
		"wait tool_search_code tool_search tool_describe tool_call",
		// What the language looks up by name on any object: promises, JSON, coercion, iteration protocols.
		ObjectMembers,
		"next done",
		// Members of functions, should tools ever be callable.
		"apply bind caller callee length name",
		ReservedWords,
		"async",
	} {
		for _, name := range strings.Fields(list) {
			names[name] = true
		}
	}
	return names
}()

// convenienceName returns the identifier for a tool's name, or "".
func convenienceName(tool string) string {
	if '0' <= tool[0] && tool[0] <= '9' {
		return ""
	}
	name := identReplacer.Replace(tool)
	if reservedNames[name] || strings.HasPrefix(name, "__") {
		return ""
	}
	return name
}

var identReplacer = strings.NewReplacer("-", "_", ".", "_", "/", "_")

// convenienceNames maps each unambiguous name to its id.
func convenienceNames(entries []*Entry) map[string]string {
	ids := make(map[string]string, len(entries))
	for _, e := range entries {
		if !e.guest() {
			continue
		}
		name := convenienceName(e.Name)
		if name == "" {
			continue
		}
		if _, taken := ids[name]; taken {
			ids[name] = "" // ambiguous: neither gets it
			continue
		}
		ids[name] = e.ID
	}
	for name, id := range ids {
		if id == "" {
			delete(ids, name)
		}
	}
	return ids
}
