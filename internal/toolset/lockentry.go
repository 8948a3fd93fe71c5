package toolset

import (
	"encoding/json"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/dispatch"
	"github.com/cloister-wasm/cloister/internal/mcpapi"
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/lock"
)

// defined is all that a tool says of itself: what a lock file holds, and what an answer for the session is bound to.
func defined(e *catalog.Entry, ref *dispatch.Tool) *lock.Definition {
	d := &lock.Definition{Name: e.Name, Title: e.Label, Description: e.Description, Parameters: e.Parameters, Returns: e.Returns}
	if d.Parameters == nil {
		d.Parameters = anyObject
	}
	switch {
	case ref.Original != nil: // the title as the server has it, and not as far as it is shown
		d.Title, d.Hints = ref.Original.Title, hintsOf(ref.Original.Annotations)
	case ref.Manifest != nil:
		d.Hints, d.Approval = claimsOf(ref.Manifest.Annotations), string(ref.Manifest.Approval)
	}
	return d
}

func hintsOf(a api.ToolAnnotations) lock.Hints {
	return lock.Hints{ReadOnly: a.ReadOnly, Destructive: a.Destructive, Idempotent: a.Idempotent, OpenWorld: a.OpenWorld}
}

// claimsOf gives what a plugin's author claims. What he does not claim he does not say.
func claimsOf(a plugins.Annotations) lock.Hints {
	claimed := func(b bool) *bool {
		if !b {
			return nil
		}
		return &b
	}
	return lock.Hints{ReadOnly: claimed(a.ReadOnly), Destructive: claimed(a.Destructive), Idempotent: claimed(a.Idempotent), OpenWorld: claimed(a.OpenWorld)}
}

// LockPlugin gives what a lock file holds of a plugin when it is accepted as it is: entries of lock.File.Tools by catalog
// id. A plugin that is signed is locked by its digest as well (lock.File.Plugins), which covers its namespaces; of one
// under development their texts and scopes have entries, "cloister:<plugin>:namespace/<id>".
func LockPlugin(p *plugins.Plugin) map[string]lock.Tool {
	entries := LockManifest(p.Manifest())
	if p.Unsigned() {
		for i := range p.Manifest().Namespaces {
			id, t := lockNamespace(p, &p.Manifest().Namespaces[i])
			entries[id] = t
		}
	}
	return entries
}

// LockManifest gives what a lock file holds of the tools of a plugin that is locked by its digest.
func LockManifest(m *plugins.Manifest) map[string]lock.Tool {
	entries := map[string]lock.Tool{}
	for i := range m.Tools {
		t := &m.Tools[i]
		d := lock.Definition{
			Name: t.Name, Title: t.Label, Description: t.Description, Parameters: t.Parameters, Returns: t.Returns,
			Hints: claimsOf(t.Annotations), Approval: string(t.Approval),
		}
		// A name that makes no id, which a checked manifest does not have, is of no tool.
		if id, err := catalog.ID(catalog.SourceCloister, m.ID, t.Name); err == nil {
			entries[id] = d.Entry()
		}
	}
	return entries
}

// lockNamespace is the entry of a namespace: all that a model reads of it, and what its functions call.
func lockNamespace(p *plugins.Plugin, n *plugins.Namespace) (id string, t lock.Tool) {
	text := n.Description
	if n.Prompt != "" {
		text += "\n\n" + n.Prompt
	}
	// Tools have no slash in their names.
	return catalog.SourceCloister + ":" + p.ID() + ":namespace/" + n.ID, lock.HashTool(n.GlobalName, text, n.Scope, nil)
}

// checkNamespace compares a namespace with what was accepted of it. The digest of a signed plugin covers it.
func (ts *Set) checkNamespace(p *plugins.Plugin, n *plugins.Namespace) error {
	if ts.Parts.Lock == nil || !p.Unsigned() {
		return nil
	}
	return ts.Parts.Lock.CheckTool(lockNamespace(p, n))
}

// lockTexts are the entries of a lock file for what is no tool of a server: what it says of itself, and that it has
// resources and prompts, which reach out as tools do. These texts are the host's and must not change.
func (s *Server) lockTexts() map[string]lock.Tool {
	out := map[string]lock.Tool{}
	add := func(there bool, name, text string, parameters json.RawMessage) {
		if there {
			out[catalog.SourceMCP+":"+s.Name+":"+name] = lock.HashTool(name, text, parameters, nil)
		}
	}
	add(s.Instructions != "", mcpapi.InstructionsID, s.Instructions, anyObject)
	add(s.Resources, mcpapi.ResourcesID, "The server has resources, which can be listed and read.", nil)
	add(s.Prompts, mcpapi.PromptsID, "The server has prompts, which can be listed and filled in.", nil)
	return out
}

// leaveUnaccepted takes away of a server what is no tool and is not as it was accepted, and says what that is.
func (s *Server) leaveUnaccepted(accepted *lock.File) (drift []error) {
	if accepted == nil {
		return nil
	}
	texts := s.lockTexts()
	for _, part := range []struct {
		name  string
		leave func()
	}{
		{mcpapi.InstructionsID, func() { s.Instructions = "" }},
		{mcpapi.ResourcesID, func() { s.Resources = false }},
		{mcpapi.PromptsID, func() { s.Prompts = false }},
	} {
		id := catalog.SourceMCP + ":" + s.Name + ":" + part.name
		if t, has := texts[id]; has {
			if err := accepted.CheckTool(id, t); err != nil {
				drift = append(drift, err)
				part.leave()
			}
		}
	}
	return drift
}
