package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// Bounds on one tool, in bytes. Schemas have those of internal/schema.
const (
	maxToolName    = 256
	maxTitle       = 1 << 10
	maxDescription = 32 << 10
)

// wireTool is a tool as a server lists it. Icons, execution hints and _meta are for
// other clients.
type wireTool struct {
	Name        string                     `json:"name"`
	Title       string                     `json:"title"`
	Description string                     `json:"description"`
	Input       json.RawMessage            `json:"inputSchema"`
	Output      json.RawMessage            `json:"outputSchema"`
	Annotations json.RawMessage            `json:"annotations"`
	Other       map[string]json.RawMessage `json:",embed"`
}

// add takes over the tools of a list. One that is not usable is left out and named:
// the rest of the server is not to blame. Two of one name are both left out, since
// nobody can say which of them a call would reach.
func (l *toolList) add(items []json.RawMessage, kept map[string]bool) {
	count := map[string]int{}
	for i, raw := range items {
		var notes []string
		t, err := decodeTool(raw, func(s string) { notes = append(notes, s) })
		name := fmt.Sprintf("#%d", i+1)
		if t != nil {
			name = t.Name
			count[name]++
		}
		if err == nil && kept != nil && !kept[t.Name] {
			err = fmt.Errorf("its x-mcp-header annotations cannot be used")
		}
		if err != nil {
			l.skip(name, err.Error())
			continue
		}
		l.Tools = append(l.Tools, *t)
		if len(notes) > 0 && len(l.Notes) < maxSkipped {
			l.Notes = append(l.Notes, plaintext.Short("tool "+plaintext.Short(t.Name, 80)+": "+strings.Join(notes, "; "), 400))
		}
	}
	l.Tools = slices.DeleteFunc(l.Tools, func(t host.MCPTool) bool {
		if count[t.Name] > 1 {
			l.skip(t.Name, "it is listed twice")
		}
		return count[t.Name] > 1
	})
}

func (l *toolList) skip(name, reason string) {
	if len(l.Skipped) < maxSkipped {
		l.Skipped = append(l.Skipped, Skipped{Tool: plaintext.Short(name, 80), Reason: plaintext.Short(reason, 300)})
	}
}

// decodeTool reads and checks a tool. With an error it gives the name, if there is one. note gets what was made good.
func decodeTool(raw json.RawMessage, note func(string)) (*host.MCPTool, error) {
	var w wireTool
	if err := into(raw, &w); err != nil {
		return nil, err
	}
	if name := folded(w.Other, "name", "title", "description", "inputSchema", "outputSchema", "annotations"); name != "" {
		return nil, fmt.Errorf("its member %q differs from ours in letter case", name)
	}
	t := &host.MCPTool{Name: w.Name, Title: w.Title, Description: w.Description}
	switch {
	case w.Name == "":
		return nil, fmt.Errorf("it has no name")
	case len(w.Name) > maxToolName:
		return nil, fmt.Errorf("its name has more than %d bytes", maxToolName)
	}
	if err := checkTool(t, &w, note); err != nil {
		return &host.MCPTool{Name: w.Name}, err
	}
	return t, nil
}

func checkTool(t *host.MCPTool, w *wireTool, note func(string)) (err error) {
	switch {
	case !utf8.ValidString(w.Name):
		return fmt.Errorf("its name is no valid UTF-8")
	case len(w.Title) > maxTitle:
		return fmt.Errorf("its title has more than %d bytes", maxTitle)
	case len(w.Description) > maxDescription:
		return fmt.Errorf("its description has more than %d bytes", maxDescription)
	}
	if t.Parameters, err = checkSchema(w.Input); err != nil {
		var refused *schema.CompileError
		if errors.As(err, &refused) {
			t.Parameters, t.Checked = lenient(w.Input, note)
		}
		if t.Checked == nil {
			return fmt.Errorf("inputSchema: %w", err)
		}
	}
	if t.Parameters == nil {
		t.Parameters = json.RawMessage(`{"type":"object"}`)
	}
	if t.Returns, err = checkSchema(w.Output); err != nil {
		return fmt.Errorf("outputSchema: %w", err)
	}
	t.Annotations, err = decodeHints(w.Annotations, note)
	return err
}

// checkSchema gives a schema in its canonical form, so that two that mean the same are
// the same bytes. Nothing that does not compile, costs too much or refers to another
// document gets through.
func checkSchema(raw json.RawMessage) (json.RawMessage, error) {
	if raw == nil || string(raw) == "null" {
		return nil, nil
	}
	if len(raw) > schema.MaxSchemaBytes {
		return nil, fmt.Errorf("it has more than %d bytes", schema.MaxSchemaBytes)
	}
	if raw[0] != '{' {
		return nil, fmt.Errorf("it is no object")
	}
	if _, err := schema.Compile(raw); err != nil {
		return nil, err
	}
	return compact(raw)
}

// compact leaves the order of members to the author: what is asked for first stands first
// in declarations. Comparing and hashing do not depend on it.
func compact(raw json.RawMessage) (json.RawMessage, error) {
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// sameTool says whether a tool is what a caller saw of it. Approval is ours.
func sameTool(a, b *host.MCPTool) bool {
	return a.Name == b.Name && a.Title == b.Title && a.Description == b.Description &&
		sameSchema(a.Parameters, b.Parameters) && sameSchema(a.Returns, b.Returns) &&
		sameHint(a.Annotations.ReadOnly, b.Annotations.ReadOnly) &&
		sameHint(a.Annotations.Destructive, b.Annotations.Destructive) &&
		sameHint(a.Annotations.Idempotent, b.Annotations.Idempotent) &&
		sameHint(a.Annotations.OpenWorld, b.Annotations.OpenWorld)
}

func sameHint(a, b *bool) bool {
	return (a == nil) == (b == nil) && (a == nil || *a == *b)
}

// sameSchema compares schemas whatever the order of their members.
func sameSchema(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	ca, errA := schema.Canonical(a)
	cb, errB := schema.Canonical(b)
	return errA == nil && errB == nil && bytes.Equal(ca, cb)
}
