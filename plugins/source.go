package plugins

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// SourceManifest is a manifest as an author writes it: tools may lack their description, parameters and returns, or be
// left out, where the code knows them.
type SourceManifest struct {
	written Manifest
}

// Written is what the author wrote. It was checked as far as that goes; treat it as read-only, and use
// [SourceManifest.Complete] to get one that is whole.
func (s *SourceManifest) Written() *Manifest { return &s.written }

// sourceSchema is the published schema without what the code may say.
var sourceSchema = sync.OnceValues(func() (*schema.Schema, error) {
	var s struct {
		Required   []string                   `json:"required"`
		Properties map[string]json.RawMessage `json:"properties"`
		Defs       map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(manifestSchemaJSON, &s); err != nil {
		return nil, err
	}
	var whole map[string]any
	var tool, tools map[string]any
	for _, part := range []struct {
		raw []byte
		to  *map[string]any
	}{{manifestSchemaJSON, &whole}, {s.Defs["tool"], &tool}, {s.Properties["tools"], &tools}} {
		if err := json.Unmarshal(part.raw, part.to); err != nil {
			return nil, err
		}
	}
	whole["required"] = slices.DeleteFunc(s.Required, func(name string) bool { return name == "tools" })
	tool["required"] = []string{"name"}
	delete(tools, "minItems")
	whole["$defs"].(map[string]any)["tool"] = tool
	whole["properties"].(map[string]any)["tools"] = tools
	raw, err := json.Marshal(whole)
	if err != nil {
		return nil, err
	}
	return schema.Compile(raw)
})

// ParseSourceManifest reads an author's manifest and checks all that can be checked without the code. Mistakes are a
// [*ManifestError] with all of them.
func ParseSourceManifest(data []byte) (*SourceManifest, error) {
	m, err := parseManifest(data, sourceSchema, checker{source: true})
	if err != nil {
		return nil, err
	}
	return &SourceManifest{written: *m}, nil
}

// Complete fills in what the author left to the code, from what the code says about itself; nil says nothing. What is
// written stays. Tools that are not written are added in the code's order. The result is the JSON of a whole manifest,
// indented, the same for the same inputs, which [ParseManifest] takes. Mistakes are a [*ManifestError].
func (s *SourceManifest) Complete(d *guestabi.Description) ([]byte, error) {
	if d == nil {
		d = &guestabi.Description{}
	}
	m := s.written
	m.Tools = slices.Clone(m.Tools)
	var problems []Problem
	seen := map[string]bool{}
	for _, t := range d.Tools {
		if seen[t.Name] {
			problems = append(problems, Problem{Path: "/tools", Message: fmt.Sprintf("the code has two tools %q", plaintext.Line(t.Name, 80)), Suggestion: "give each tool a name of its own"})
			continue
		}
		seen[t.Name] = true
		complete(&m, t)
	}
	for i := range m.Tools {
		if t := &m.Tools[i]; len(d.Tools) > 0 && t.Export == "" && !seen[t.Name] {
			problems = append(problems, Problem{Path: fmt.Sprintf("/tools/%d", i), Message: fmt.Sprintf("the code has no tool %q", plaintext.Line(t.Name, 80)),
				Suggestion: "register it in the code, or take it out of the manifest"})
		}
	}
	if problems = append(problems, missing(&m)...); len(problems) > 0 {
		return nil, (&checker{problems: problems}).mistakes()
	}
	raw, err := indented(&m)
	if err != nil {
		return nil, &ManifestError{Problems: []Problem{{Message: "what the code describes cannot be written as JSON: " + plaintext.Line(err.Error(), 400)}}}
	}
	if _, err := ParseManifest(raw); err != nil {
		return nil, err
	}
	return raw, nil
}

func complete(m *Manifest, d guestabi.DescribedTool) {
	i := slices.IndexFunc(m.Tools, func(t Tool) bool { return t.Name == d.Name })
	if i < 0 {
		m.Tools = append(m.Tools, Tool{Name: d.Name})
		i = len(m.Tools) - 1
	}
	t := &m.Tools[i]
	if t.Description == "" {
		t.Description = d.Description
	}
	if t.Parameters == nil {
		t.Parameters = d.Parameters
	}
	if t.Returns == nil {
		t.Returns = d.Returns
	}
}

// missing lists what neither the author nor the code says.
func missing(m *Manifest) (problems []Problem) {
	if len(m.Tools) == 0 {
		problems = append(problems, Problem{Path: "/tools", Message: "neither the manifest nor the code has a tool", Suggestion: "register one in the code"})
	}
	for i := range m.Tools {
		t, path := &m.Tools[i], fmt.Sprintf("/tools/%d", i)
		if t.Description == "" {
			problems = append(problems, Problem{Path: path + "/description", Message: fmt.Sprintf("neither the manifest nor the code describes the tool %q", plaintext.Line(t.Name, 80)),
				Suggestion: suggestions["/tools/*/description"]})
		}
		if t.Parameters == nil {
			problems = append(problems, Problem{Path: path + "/parameters", Message: fmt.Sprintf("neither the manifest nor the code says what the tool %q takes", plaintext.Line(t.Name, 80)),
				Suggestion: suggestions["/tools/* parameters"]})
		}
	}
	return problems
}

func indented(m *Manifest) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(m)
	return b.Bytes(), err
}
