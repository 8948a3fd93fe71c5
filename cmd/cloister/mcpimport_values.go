package main

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/internal/forms"
	"github.com/cloister-wasm/cloister/internal/json5"
)

// text reads a string that has to be one as it stands.
func (i *importer) text(key string, n *json5.Node) string {
	switch {
	case n.Kind != json5.String:
		i.refuse("its %s is not a string", key)
	case strings.Contains(n.Text, "${input:"):
		i.refuse("its %s asks for an input when it starts, which Cloister cannot; use cloister mcp add with --env NAME=env:VARIABLE or NAME=file:PATH", key)
	case strings.Contains(n.Text, "${"):
		i.refuse("its %s holds %s, which Cloister does not replace; write it out", key, reference.FindString(n.Text))
	case forms.Text(n.Text) != "":
		i.refuse("its %s holds a NUL character", key)
	}
	return n.Text
}

var (
	reference = regexp.MustCompile(`\$\{[^}]*\}?`)
	// variableIn is a value that ends in a variable: ${VAR}, ${env:VAR}, ${VAR:-default}.
	variableIn = regexp.MustCompile(`^([^$]*)\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}$`)
)

// values reads variables or headers.
func (i *importer) values(to *map[string]mcp.Value, n *json5.Node, bad func(string) string) {
	if n.Kind != json5.Object {
		i.refuse("its variables or headers are not an object")
		return
	}
	if *to == nil {
		*to = map[string]mcp.Value{}
	}
	for _, m := range n.Members {
		v, err := importValue(m.Key, m.Value)
		if wrong := bad(m.Key); wrong != "" {
			err = errors.New("it " + wrong)
		}
		if err != nil {
			i.refuse("%s: %v", m.Key, err)
			continue
		}
		(*to)[m.Key] = v
	}
}

func importValue(key string, n *json5.Node) (mcp.Value, error) {
	text := n.Text
	switch n.Kind {
	case json5.String, json5.Number:
	case json5.Bool:
		text = fmt.Sprint(n.Bool)
	default:
		return mcp.Value{}, errors.New("it is not a string")
	}
	if !strings.Contains(text, "${") {
		if wrong := forms.Text(text); wrong != "" {
			return mcp.Value{}, errors.New("it " + wrong)
		}
		return mcp.Value{Text: text}, nil
	}
	if strings.Contains(text, "${input:") {
		return mcp.Value{}, fmt.Errorf("it asks for an input when it starts, which Cloister cannot; use cloister mcp add with %s=env:VARIABLE or %s=file:PATH", key, key)
	}
	m := variableIn.FindStringSubmatch(text)
	if m == nil || m[3] != "" && m[3] != ":-" {
		return mcp.Value{}, fmt.Errorf("it holds %s in a way that Cloister does not replace; write it out", reference.FindString(text))
	}
	return mcp.Value{Env: m[2], Prefix: m[1]}, nil
}

// sortImports gives the servers in the order of their names, files first.
func sortImports(list []imported) {
	slices.SortStableFunc(list, func(a, b imported) int { return strings.Compare(a.Name, b.Name) })
}

// namesOf are the keys of values, sorted.
func namesOf(values map[string]mcp.Value) []string { return slices.Sorted(maps.Keys(values)) }
