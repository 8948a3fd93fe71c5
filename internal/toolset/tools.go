package toolset

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/dispatch"
	"github.com/cloister-wasm/cloister/plugins"
)

func (b *Builder) goTool(t *api.RawTool) (catalog.Entry, error) {
	owner := t.Owner
	tier := catalog.External
	if owner == "" {
		owner = "core"
	}
	if owner == "core" {
		tier = catalog.Core
	}
	if t.Call == nil {
		return catalog.Entry{}, fmt.Errorf("%w: %s:%s has no Call", api.ErrTool, owner, t.Name)
	}
	ref := &dispatch.Tool{Approval: t.Approval, Timeout: t.Timeout, Invoke: dispatch.InvokeGo(t.Call)}
	e := catalog.Entry{
		Name: t.Name, Label: t.Label, Description: t.Description, Source: catalog.SourceCloister, Owner: owner, Tier: tier,
		Parameters: t.Parameters, Returns: t.Returns, Ref: ref,
	}
	return e, b.complete(&e, ref)
}

func (b *Builder) pluginTool(p *plugins.Plugin, t plugins.Tool) (catalog.Entry, error) {
	ref := dispatch.ToolOfPlugin(p, &t)
	e := catalog.Entry{
		Name: t.Name, Label: t.Label, Description: t.Description, Source: catalog.SourceCloister, Owner: p.ID(), Tier: catalog.External,
		Parameters: t.Parameters, Returns: t.Returns, Unsigned: p.Unsigned(), Ref: ref,
	}
	return e, b.complete(&e, ref)
}

// ClientTool makes the entry of a tool that the caller of exec executes.
func (b *Builder) ClientTool(t api.ClientTool) (catalog.Entry, error) {
	app := t.App
	if app == "" {
		app = "app"
	}
	ref := &dispatch.Tool{Client: true}
	e := catalog.Entry{
		Name: t.Name, Label: t.Label, Description: t.Description, Source: catalog.SourceClient, Owner: app, Tier: catalog.Client,
		Parameters: t.Parameters, Returns: t.Returns, Ref: ref,
	}
	return e, b.complete(&e, ref)
}

// complete compiles a tool's schemas and gathers what a policy may know of it.
func (b *Builder) complete(e *catalog.Entry, ref *dispatch.Tool) error {
	id, err := catalog.ID(e.Source, e.Owner, e.Name)
	if err != nil {
		return fmt.Errorf("%w: %w", api.ErrTool, err)
	}
	f := &api.ToolFacts{ID: id, Source: e.Source, Owner: e.Owner, Name: e.Name, Unsigned: e.Unsigned, Approval: ref.Approval}
	if f.Approval == "" {
		f.Approval = api.ApprovalNever
	}
	if p := ref.Plugin; p != nil {
		o := p.Origin()
		f.Signer, f.Publisher = o.Signer, o.Publisher
	}
	ref.Facts = f
	ref.Definition = sync.OnceValue(defined(e, ref).Digest)
	return b.compile(e, ref)
}

// anyObject is the input schema of a tool that declares none.
var anyObject = json.RawMessage(`{"type":"object"}`)

// compile compiles a tool's schemas.
func (b *Builder) compile(e *catalog.Entry, ref *dispatch.Tool) error {
	if e.Parameters == nil {
		e.Parameters = anyObject
	}
	checked := e.Parameters
	if ref.Original != nil && ref.Original.Checked != nil {
		checked = ref.Original.Checked
	}
	var err error
	if ref.Params, err = b.schemas.Compile(checked); err != nil {
		return fmt.Errorf("%w: %s:%s: parameters: %w", api.ErrTool, e.Owner, e.Name, err)
	}
	if e.Returns != nil {
		if ref.Returns, err = b.schemas.Compile(e.Returns); err != nil {
			return fmt.Errorf("%w: %s:%s: returns: %w", api.ErrTool, e.Owner, e.Name, err)
		}
	}
	return nil
}

// checkLock compares a tool with what was accepted of it.
func (ts *Set) checkLock(e *catalog.Entry) error {
	if ts.Parts.Lock == nil {
		return nil
	}
	id, err := catalog.ID(e.Source, e.Owner, e.Name)
	if err != nil {
		return fmt.Errorf("%w: %w", api.ErrTool, err)
	}
	return ts.Parts.Lock.CheckTool(id, defined(e, e.Ref.(*dispatch.Tool)).Entry())
}
