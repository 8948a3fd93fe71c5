package lock

import (
	"encoding/json"
	"unicode/utf8"
)

// Hints are what the author of a tool says about what it does (MCP specification, ToolAnnotations). Nil: he does not say.
// Approvals and policies are decided by them.
type Hints struct {
	ReadOnly    *bool `json:"readOnlyHint,omitempty"`
	Destructive *bool `json:"destructiveHint,omitempty"`
	Idempotent  *bool `json:"idempotentHint,omitempty"`
	OpenWorld   *bool `json:"openWorldHint,omitempty"`
}

// Definition is all of a tool that a decision, a model or a person rests on.
type Definition struct {
	// Name is the tool's own name, not its id in the catalog. Title is for people, Description for the model.
	Name, Title, Description string
	// Parameters and Returns are JSON Schemas; Returns may be nil.
	Parameters, Returns json.RawMessage
	// Hints are the author's.
	Hints Hints
	// Approval is what the author asks for: "never", "ask" or "always"; "" is as "never". It stays empty where the author
	// has no say in it, as for a tool of an MCP server.
	Approval string
}

// Entry makes the lock entry of a tool. It does not fail and is safe for concurrent use.
func (d *Definition) Entry() Tool {
	t := HashTool(d.Name, d.Description, d.Parameters, d.Returns)
	hints := d.Hints.clone()
	t.Title, t.Annotations, t.Approval = keptTitle(d.Title), &hints, d.Approval
	return t
}

// Digest is one hash of all of the definition, "sha256:…": it is another one where anything is another.
func (d *Definition) Digest() string {
	text, err := json.Marshal(d.Entry())
	if err != nil { // an entry is texts and booleans
		panic("lock: " + err.Error())
	}
	return sum(text)
}

// keptTitle makes a title fit the file. One that does not fit is its hash, and so is one that looks like a hash: no two
// titles are the same text there.
func keptTitle(title string) string {
	if !utf8.ValidString(title) || len(title) > MaxTitleBytes || hashForm.MatchString(title) {
		return sum([]byte(title))
	}
	return title
}

func (h Hints) clone() Hints {
	copied := func(b *bool) *bool {
		if b == nil {
			return nil
		}
		v := *b
		return &v
	}
	return Hints{copied(h.ReadOnly), copied(h.Destructive), copied(h.Idempotent), copied(h.OpenWorld)}
}
