package plugins

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Difference is what an update of a plugin changes.
type Difference struct {
	// Changes are in the order of the manifest: what the plugin is, permissions, namespaces, tools.
	Changes []Change
}

// Widens reports that the plugin gets something that it did not have.
func (d *Difference) Widens() bool {
	return slices.ContainsFunc(d.Changes, func(c Change) bool { return c.Widens })
}

// Asks reports that a person has to agree first: the plugin gets something that it did not have, or what a model reads, what
// a function of a namespace calls or what decisions rest on is not what was agreed to. What only narrows, and other code
// under the same contract, needs nobody's consent.
func (d *Difference) Asks() bool {
	return slices.ContainsFunc(d.Changes, func(c Change) bool { return c.Widens || c.Asks })
}

// Change is one difference between two manifests.
type Change struct {
	// Area is "id", "version", "description", "license", "homepage", "certification", "permissions", "namespaces" or "tools".
	Area string
	// Path leads to the place, with ids and names instead of indexes: "/tools/greet/approval".
	Path string
	// Text is one plain sentence.
	Text string
	// Before and After are the values, "" where there is none. They are a stranger's texts.
	Before, After string
	// Widens marks what the plugin did not have before: access, time, memory, a tool, a namespace or a global, or less of a say
	// for people.
	Widens bool
	// Asks marks what a person has to agree to: all that widens, and what a model reads, what a function of a namespace calls,
	// and what decisions about a call rest on.
	Asks bool
	// Parts are the places in a text or a JSON value where it differs, for people who decide. They are a stranger's texts, as
	// Before and After are, and may be empty where these are short and say it all.
	Parts []Part
}

// Compare lists what changes from one manifest to another. Nil for before compares with a plugin that is not there: all
// that after has is new.
func Compare(before, after *Manifest) *Difference {
	if before == nil {
		before = &Manifest{ID: after.ID}
	}
	c := comparison{}
	c.about(before, after)
	c.permissions(&before.Permissions, &after.Permissions)
	c.namespaces(before.Namespaces, after.Namespaces)
	c.tools(before, after)
	return &c.d
}

type comparison struct{ d Difference }

func (c *comparison) add(area, path, before, after string, widens bool, format string, args ...any) {
	c.d.Changes = append(c.d.Changes, Change{Area: area, Path: path, Before: before, After: after, Widens: widens, Asks: widens, Text: fmt.Sprintf(format, args...)})
}

// text compares a value that grants nothing and that nobody decides by.
func (c *comparison) text(area, path, what, before, after string) {
	switch {
	case before == after:
	case before == "":
		c.add(area, path, before, after, false, "%s is new.", what)
	case after == "":
		c.add(area, path, before, after, false, "%s is gone.", what)
	default:
		c.add(area, path, before, after, false, "%s changes.", what)
	}
}

// read compares a text that a model reads, or a person who decides about a call. A text that is gone asks as well: it may have
// been a warning.
func (c *comparison) read(area, path, what, before, after string) {
	if before == after {
		return
	}
	c.text(area, path, what, before, after)
	c.asks(textParts(before, after))
}

// json compares a schema, or another JSON value that a model reads.
func (c *comparison) json(area, path, what string, before, after json.RawMessage) {
	was, is := compact(before), compact(after)
	if was == is {
		return
	}
	c.text(area, path, what, was, is)
	c.asks(jsonParts(was, is))
}

// asks marks the change that was added last.
func (c *comparison) asks(parts []Part) {
	last := &c.d.Changes[len(c.d.Changes)-1]
	last.Asks, last.Parts = true, parts
}

func (c *comparison) about(before, after *Manifest) {
	if before.ID != after.ID {
		c.add("id", "/id", before.ID, after.ID, true, "It is another plugin: %s instead of %s.", after.ID, before.ID)
	}
	switch {
	case before.Version == after.Version:
	case before.Version == "":
		c.add("version", "/version", "", after.Version, false, "The version is %s.", after.Version)
	default:
		c.add("version", "/version", before.Version, after.Version, false, "The version changes from %s to %s.", before.Version, after.Version)
	}
	c.read("description", "/description", "The description", before.Description, after.Description)
	c.text("license", "/license", "The license", before.License, after.License)
	c.text("homepage", "/homepage", "The homepage", before.Homepage, after.Homepage)
	c.text("certification", "/certification", "The reference to a certification", certificate(before), certificate(after))
}

func certificate(m *Manifest) string {
	if m.Certification == nil {
		return ""
	}
	return strings.TrimSpace(m.Certification.Report + " " + m.Certification.URL)
}

func yes(b bool) string {
	if b {
		return "true"
	}
	return ""
}

func (c *comparison) namespaces(before, after []Namespace) {
	find := func(list []Namespace, id string) *Namespace {
		i := slices.IndexFunc(list, func(n Namespace) bool { return n.ID == id })
		if i < 0 {
			return nil
		}
		return &list[i]
	}
	for i := range after {
		n, path := &after[i], "/namespaces/"+after[i].ID
		was := find(before, n.ID)
		if was == nil {
			c.add("namespaces", path, "", n.GlobalName, true, "The namespace %s is new: cells get the global %s.", n.ID, n.GlobalName)
			c.asks(namespaceParts(n))
			continue
		}
		what := "of the namespace " + n.ID
		if was.GlobalName != n.GlobalName {
			c.add("namespaces", path+"/globalName", was.GlobalName, n.GlobalName, true, "The global %s becomes %s.", was.GlobalName, n.GlobalName)
		}
		c.read("namespaces", path+"/description", "The description "+what, was.Description, n.Description)
		c.read("namespaces", path+"/prompt", "The prompt "+what, was.Prompt, n.Prompt)
		// Longer or shorter: the list says in which runs the namespace is, and what a computed scope may call.
		c.read("namespaces", path+"/requiredToolNames", "The list of tools "+what, strings.Join(was.RequiredToolNames, ", "), strings.Join(n.RequiredToolNames, ", "))
		c.scope(path+"/scope", what, was, n)
		if was.ScopeExport != n.ScopeExport {
			text := "The scope %s is computed by the plugin for each run now."
			if !n.ScopeExport {
				text = "The scope %s is no longer computed by the plugin."
			}
			c.add("namespaces", path+"/scopeExport", yes(was.ScopeExport), yes(n.ScopeExport), false, text, what)
			c.asks(nil)
		}
	}
	for _, n := range before {
		if find(after, n.ID) == nil {
			c.add("namespaces", "/namespaces/"+n.ID, n.GlobalName, "", false, "The namespace %s with the global %s is gone.", n.ID, n.GlobalName)
		}
	}
}

func (c *comparison) tools(before, after *Manifest) {
	for i := range after.Tools {
		t := &after.Tools[i]
		if was, ok := before.tool(t.Name); ok {
			c.tool("/tools/"+t.Name, was, t)
			continue
		}
		c.add("tools", "/tools/"+t.Name, "", t.Name, true, "The tool %s is new%s.", t.Name, claims(t))
		c.asks(toolParts(t))
	}
	for i := range before.Tools {
		if name := before.Tools[i].Name; !hasTool(after, name) {
			c.add("tools", "/tools/"+name, name, "", false, "The tool %s is gone.", name)
		}
	}
}

func hasTool(m *Manifest, name string) bool {
	_, ok := m.tool(name)
	return ok
}

// claims puts what decides about a tool into words, to stand behind its name.
func claims(t *Tool) string {
	var parts []string
	for _, a := range annotationsOf(t) {
		if a.value {
			parts = append(parts, a.words)
		}
	}
	if t.Approval != "" {
		parts = append(parts, "approval "+string(t.Approval))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

type annotation struct {
	name, words string
	value       bool
	widens      bool // when it becomes this value
}

func annotationsOf(t *Tool) []annotation {
	a := t.Annotations
	return []annotation{
		{"readOnly", "changes nothing", a.ReadOnly, !a.ReadOnly},
		{"destructive", "may remove or overwrite what others need", a.Destructive, a.Destructive},
		{"idempotent", "may be called twice", a.Idempotent, false},
		{"openWorld", "reaches beyond the host", a.OpenWorld, a.OpenWorld},
	}
}

func (c *comparison) tool(path string, was, is *Tool) {
	what := "of the tool " + is.Name
	c.read("tools", path+"/label", "The label "+what, was.Label, is.Label)
	c.read("tools", path+"/description", "The description "+what, was.Description, is.Description)
	c.json("tools", path+"/parameters", "The input "+what, was.Parameters, is.Parameters)
	c.json("tools", path+"/returns", "The result "+what, was.Returns, is.Returns)
	before := annotationsOf(was)
	for i, a := range annotationsOf(is) {
		if a.value == before[i].value {
			continue
		}
		claim := "claims"
		if !a.value {
			claim = "no longer claims"
		}
		c.add("tools", path+"/annotations/"+a.name, yes(before[i].value), yes(a.value), a.widens, "The tool %s %s %q: it %s.", is.Name, claim, a.name, a.words)
		// Either way: hosts and policies decide by claims, and one that is milder than it was asks for less.
		c.asks(nil)
	}
	if was.Approval != is.Approval {
		c.add("tools", path+"/approval", string(was.Approval), string(is.Approval), strictness(is.Approval) < strictness(was.Approval),
			"The approval %s changes from %s to %s.", what, approvalInWords(was.Approval), approvalInWords(is.Approval))
	}
	c.text("tools", path+"/export", "The export "+what, was.Export, is.Export)
	c.time("tools", path+"/timeoutMs", "A call "+what, was.TimeoutMs, is.TimeoutMs)
	if was.Stateless != is.Stateless {
		c.add("tools", path+"/stateless", yes(was.Stateless), yes(is.Stateless), false, "The promise that the tool %s keeps nothing between calls changes.", is.Name)
	}
	c.json("tools", path+"/examples", "The list of examples "+what, examples(was), examples(is))
}

// strictness orders what an author asks for. Leaving it to the host lies between never and ask.
func strictness(a Approval) int {
	return slices.Index([]Approval{ApprovalNever, "", ApprovalAsk, ApprovalAlways}, a)
}

func approvalInWords(a Approval) string {
	if a == "" {
		return "the host's choice"
	}
	return strconv.Quote(string(a))
}

func examples(t *Tool) json.RawMessage {
	if len(t.Examples) == 0 {
		return nil
	}
	raw, err := json.Marshal(t.Examples)
	if err != nil {
		return fmt.Appendf(nil, "%d examples", len(t.Examples))
	}
	return raw
}

// compact makes two spellings of the same JSON one; the order of members counts.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if len(raw) == 0 || json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}
