package plugins

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/internal/namespace"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// maxScopeWords is the number of functions of a scope that a change says something about in words. The parts of the change have
// all of them.
const maxScopeWords = 20

// maxCallName bounds how a function, and what it calls, stand in a sentence, in bytes.
const maxCallName = 400

// scope compares what a namespace's global consists of, and says in words which tool a function calls now.
func (c *comparison) scope(path, what string, was, is *Namespace) {
	before := len(c.d.Changes)
	c.json("namespaces", path, "The scope "+what, was.Scope, is.Scope)
	if len(c.d.Changes) > before {
		last := &c.d.Changes[before]
		last.Text = strings.Join(append([]string{last.Text}, scopeWords(was, is)...), " ")
	}
}

// scopeWords has one sentence for each function that calls another tool than before, or takes its arguments in another way.
func scopeWords(was, is *Namespace) (words []string) {
	old := map[string]string{}
	var gone []string
	for _, call := range scopeCalls(was) {
		old[call.name], gone = call.text, append(gone, call.name)
	}
	say := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	for _, call := range scopeCalls(is) {
		name := is.GlobalName + call.name
		switch before, ok := old[call.name]; {
		case !ok:
			say("%s is new and calls %s.", name, call.text)
		case before != call.text:
			say("%s calls %s, before it called %s.", name, call.text, before)
		}
		gone = slices.DeleteFunc(gone, func(n string) bool { return n == call.name })
	}
	for _, name := range gone {
		say("%s%s is gone.", is.GlobalName, name)
	}
	if n := len(words); n > maxScopeWords {
		words = append(words[:maxScopeWords], fmt.Sprintf("%d more functions differ.", n-maxScopeWords))
	}
	return words
}

type scopeCall struct{ name, text string }

// scopeCalls are the functions of a scope in their order. A scope that is computed has none that are known.
func scopeCalls(n *Namespace) (calls []scopeCall) {
	root, err := namespace.ParseScope(n.Scope, n.RequiredToolNames)
	if err != nil {
		return nil // also where there is none: the plugin computes it
	}
	for _, call := range root.Calls() {
		text := "the tool " + call.Tool
		switch {
		case call.MapInput:
			text += " with an input that the plugin makes"
		case len(call.Args) > 0:
			text += " with " + strings.Join(call.Args, ", ")
		}
		// NB: keys and arguments are any text, and stand inside a sentence of ours.
		calls = append(calls, scopeCall{plaintext.Show("."+strings.Join(call.Path, "."), maxCallName), plaintext.Show(text, maxCallName)})
	}
	return calls
}
