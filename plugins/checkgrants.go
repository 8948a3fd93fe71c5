package plugins

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cloister-wasm/cloister/internal/egress"
	"github.com/cloister-wasm/cloister/internal/namespace"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// strings gives the texts of a list, "" for what is none.
func stringsOf(v any) []string {
	list, _ := v.([]any)
	out := make([]string, len(list))
	for i, item := range list {
		out[i], _ = item.(string)
	}
	return out
}

// permissions checks what the plugin asks for.
func (c *checker) permissions(m map[string]any) {
	p, _ := m["permissions"].(map[string]any)
	hosts, _ := p["hosts"].([]any)
	for i, h := range hosts {
		if h, ok := h.(map[string]any); ok {
			c.host("/permissions/hosts/"+strconv.Itoa(i), h)
		}
	}
	secrets, _ := p["secrets"].([]any)
	c.secrets(secrets, hosts)
	id, _ := m["id"].(string)
	for i, name := range stringsOf(p["tools"]) {
		if id != "" && strings.HasPrefix(name, "cloister:"+id+":") {
			c.add("/permissions/tools/"+strconv.Itoa(i), "call the function in the plugin's own code", "%q is a tool of this plugin, which would wait for itself", plaintext.Line(name, 80))
		}
	}
}

// host has the rules of the package that will enforce them.
func (c *checker) host(path string, h map[string]any) {
	insecure, _ := h["insecure"].(bool)
	host, _ := h["host"].(string)
	if host == "" {
		return // the structure check has said it
	}
	err := egress.ParseRule(egress.Rule{Host: host, Methods: stringsOf(h["methods"]), Paths: stringsOf(h["paths"]), Insecure: insecure})
	var re *egress.RuleError
	switch {
	case err == nil:
	case errors.As(err, &re):
		for _, p := range re.Problems {
			message, suggestion, _ := strings.Cut(p.Message, "; ")
			c.add(path+p.Path, suggestion, "%s", message)
		}
	default:
		c.add(path, "", "%v", err)
	}
}

func (c *checker) namespaces(m map[string]any) {
	list, _ := m["namespaces"].([]any)
	tools := map[string]bool{}
	all, listed := m["tools"].([]any)
	for _, t := range all {
		if t, ok := t.(map[string]any); ok {
			if name, ok := t["name"].(string); ok {
				tools[name] = true
			}
		}
	}
	if c.source || !listed {
		tools = nil // the code has them
	}
	seen := map[string]int{}
	for i, n := range list {
		if n, ok := n.(map[string]any); ok {
			c.namespace("/namespaces/"+strconv.Itoa(i), i, n, tools, seen)
		}
	}
}

func (c *checker) namespace(path string, index int, n map[string]any, tools map[string]bool, seen map[string]int) {
	c.text(path+"/description", n["description"])
	c.text(path+"/prompt", n["prompt"])
	for _, member := range []string{"id", "globalName"} {
		name, _ := n[member].(string)
		if first, dup := seen[member+name]; dup && name != "" {
			c.add(path+"/"+member, "give each namespace a name of its own", "%q is also that of namespace %d", plaintext.Line(name, 80), first)
			continue
		}
		seen[member+name] = index
	}
	if name, _ := n["globalName"].(string); name != "" {
		c.scopeMistake(path+"/globalName", namespace.CheckGlobalName(name))
	}
	required := stringsOf(n["requiredToolNames"])
	c.required(path+"/requiredToolNames", required, tools)
	scope, hasScope := n["scope"]
	computed := n["scopeExport"] == true
	switch {
	case hasScope && computed:
		c.add(path+"/scopeExport", `keep "scope" for one that is always the same, or "scopeExport" to compute it`, `"scope" and "scopeExport" exclude each other`)
	case !hasScope && !computed:
		c.add(path, `add "scope", or "scopeExport": true to have the plugin compute it`, "has no scope")
	}
	if members, ok := scope.(map[string]any); ok {
		c.scope(path+"/scope", members, required)
	}
}

func (c *checker) required(path string, names []string, tools map[string]bool) {
	if tools == nil {
		return
	}
	known := make([]string, 0, len(tools))
	for name := range tools {
		known = append(known, name)
	}
	slices.Sort(known)
	for i, name := range names {
		if name == "" || tools[name] {
			continue
		}
		hint := "name tools of this plugin only"
		if near := schema.Suggest(name, known); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		c.add(path+"/"+strconv.Itoa(i), hint, "%q is not a tool of this plugin", plaintext.Line(name, 80))
	}
}

func (c *checker) scope(path string, members map[string]any, required []string) {
	raw, err := json.Marshal(members)
	if err != nil {
		c.add(path, "", "cannot be written as JSON")
		return
	}
	_, mistakes := namespace.ParseScopeAll(raw, required)
	for _, e := range mistakes {
		c.add(path+e.Path, e.Suggestion, "%s", e.Message)
	}
}

func (c *checker) scopeMistake(path string, err error) {
	var se *namespace.ScopeError
	if errors.As(err, &se) {
		c.add(path, se.Suggestion, "%s", se.Message)
	}
}
