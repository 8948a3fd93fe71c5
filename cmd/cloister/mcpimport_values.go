package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/internal/forms"
	"github.com/cloister-wasm/cloister/internal/json5"
)

// text reads a string that has to be one as it stands.
func (i *importer) text(key string, n *json5.Node) string {
	if n.Kind != json5.String {
		i.refuse("its %s is not a string", key)
		return ""
	}
	text := i.expanded(n.Text)
	switch left := i.references.left(text); {
	case strings.Contains(text, "${input:"):
		i.refuse("its %s asks for an input when it starts, which Cloister cannot; use cloister mcp add with --env NAME=env:VARIABLE or NAME=file:PATH", key)
	case strings.Contains(text, "${"):
		i.refuse("its %s holds %s, which Cloister does not replace; write it out", key, reference.FindString(text))
	case left != "":
		i.refuse("its %s holds %s…, which Cloister does not replace; write it out", key, left)
	case forms.Text(text) != "":
		i.refuse("its %s holds a NUL character", key)
	}
	return text
}

// expanded replaces references that mean the same at every start, and says so.
func (i *importer) expanded(text string) string {
	out, done := i.references.expand(text)
	for _, ref := range done {
		if note := ref + " is written out, as it is now"; !slices.Contains(i.out.notes, note) {
			i.note("%s", note)
		}
	}
	return out
}

// variableIn is a value that ends in a variable: ${VAR}, ${env:VAR}, ${VAR:-default}.
var variableIn = regexp.MustCompile(`^([^$]*)\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}$`)

// values reads variables or headers.
func (i *importer) values(to *map[string]mcp.Value, n *json5.Node, bad func(string) string) {
	if n.Kind == json5.Null {
		return
	}
	if n.Kind != json5.Object {
		i.refuse("its variables or headers are not an object")
		return
	}
	if *to == nil {
		*to = map[string]mcp.Value{}
	}
	for _, m := range n.Members {
		v, err := i.value(m.Key, m.Value)
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

func (i *importer) value(key string, n *json5.Node) (mcp.Value, error) {
	text := n.Text
	switch n.Kind {
	case json5.String, json5.Number:
	case json5.Bool:
		text = fmt.Sprint(n.Bool)
	default:
		return mcp.Value{}, errors.New("it is not a string")
	}
	text = i.expanded(text)
	if i.references.left(text) != "" {
		return i.references.value(text)
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
	if m == nil {
		return mcp.Value{}, fmt.Errorf("it holds %s in a way that Cloister does not replace; write it out", reference.FindString(text))
	}
	if len(m[3]) > len(":-") {
		i.note("%s is the variable %s, which is set now; its default is not taken", key, m[2])
	}
	return mcp.Value{Env: m[2], Prefix: m[1]}, nil
}

// value reads a reference of the client's own form.
func (r references) value(text string) (mcp.Value, error) {
	if m := dollarIn.FindStringSubmatch(text); r.dollar && m != nil {
		return mcp.Value{Env: m[2], Prefix: m[1]}, nil
	}
	m := bracesIn.FindStringSubmatch(text)
	switch {
	case !r.braces || m == nil || m[2] == "env" && !variableName.MatchString(m[3]):
		return mcp.Value{}, fmt.Errorf("it holds %s… in a way that Cloister does not replace; write it out", r.left(text))
	case m[2] == "env":
		return mcp.Value{Env: m[3], Prefix: m[1]}, nil
	}
	path := m[3]
	if home, err := os.UserHomeDir(); err == nil && strings.HasPrefix(path, "~/") {
		path = filepath.Join(home, path[2:])
	} else if !filepath.IsAbs(path) {
		path = filepath.Join(r.dir, path)
	}
	return mcp.Value{File: path, Prefix: m[1]}, nil
}

// sortImports gives the servers in the order of their names, files first.
func sortImports(list []imported) {
	slices.SortStableFunc(list, func(a, b imported) int { return strings.Compare(a.Name, b.Name) })
}

// namesOf are the keys of values, sorted.
func namesOf(values map[string]mcp.Value) []string { return slices.Sorted(maps.Keys(values)) }
