package host

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/cloister-wasm/cloister/api"

	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/schema"
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/lock"
)

// toolRef is the host's side of a catalog entry: how to check and run a call.
type toolRef struct {
	params, returns *schema.Schema // nil: not declared
	approval        api.Approval
	plugin          *plugins.Plugin // whose tool it is, if it is a plugin's
	timeout         time.Duration
	client          bool           // executed by the caller of Exec
	mcp             bool           // a tool, resource or prompt of an MCP server
	strict          bool           // what invoke returns has been checked to be strict JSON
	original        *api.MCPTool   // as the server has it; nil for resources and prompts
	structured      *schema.Schema // of an MCP tool's structuredContent
	definition      func() string  // hash of what the tool says of itself
	facts           *api.ToolFacts
	invoke          func(ctx context.Context, c *call) (json.RawMessage, error)
	// prepare, if set, does what comes before a call and does not count against
	// its timeout: a plugin is compiled at its first use.
	prepare func(ctx context.Context, r *Run) error
}

// OfPlugin implements ref.
func (r *toolRef) OfPlugin() *plugins.Plugin { return r.plugin }

// OfServer implements ref.
func (r *toolRef) OfServer() *api.MCPTool { return r.original }

// Hints implements ref.
func (r *toolRef) Hints() api.ToolAnnotations { return r.facts.Annotations }

func (h *Host) goTool(t *api.RawTool) (catalog.Entry, error) {
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
	invoke := t.Call
	ref := &toolRef{approval: t.Approval, timeout: t.Timeout, invoke: func(ctx context.Context, c *call) (json.RawMessage, error) {
		return invoke(ctx, c.tc.Input)
	}}
	e := catalog.Entry{
		Name: t.Name, Label: t.Label, Description: t.Description, Source: catalog.SourceCloister, Owner: owner, Tier: tier,
		Parameters: t.Parameters, Returns: t.Returns, Ref: ref,
	}
	return e, h.complete(&e, ref)
}

func (h *Host) pluginTool(p *plugins.Plugin, t plugins.Tool) (catalog.Entry, error) {
	name := t.Name
	// The plugin bounds the time itself: what waits for a person does not count.
	ref := &toolRef{approval: api.Approval(t.Approval), plugin: p, strict: true}
	ref.prepare = func(ctx context.Context, r *Run) error {
		_, err := r.instance(ctx, p)
		return err
	}
	ref.invoke = func(ctx context.Context, c *call) (json.RawMessage, error) {
		return c.run.callPlugin(ctx, p, name, c.tc.Input)
	}
	e := catalog.Entry{
		Name: t.Name, Label: t.Label, Description: t.Description, Source: catalog.SourceCloister, Owner: p.ID(), Tier: catalog.External,
		Parameters: t.Parameters, Returns: t.Returns, Unsigned: p.Unsigned(), Ref: ref,
	}
	return e, h.complete(&e, ref)
}

func (h *Host) clientTool(t api.ClientTool) (catalog.Entry, error) {
	app := t.App
	if app == "" {
		app = "app"
	}
	ref := &toolRef{client: true}
	e := catalog.Entry{
		Name: t.Name, Label: t.Label, Description: t.Description, Source: catalog.SourceClient, Owner: app, Tier: catalog.Client,
		Parameters: t.Parameters, Returns: t.Returns, Ref: ref,
	}
	return e, h.complete(&e, ref)
}

// complete compiles a tool's schemas and gathers what a policy may know of it.
func (h *Host) complete(e *catalog.Entry, ref *toolRef) error {
	id, err := catalog.ID(e.Source, e.Owner, e.Name)
	if err != nil {
		return fmt.Errorf("%w: %w", api.ErrTool, err)
	}
	f := &api.ToolFacts{ID: id, Source: e.Source, Owner: e.Owner, Name: e.Name, Unsigned: e.Unsigned, Approval: ref.approval}
	if f.Approval == "" {
		f.Approval = api.ApprovalNever
	}
	if p := ref.plugin; p != nil {
		o := p.Origin()
		f.Signer, f.Publisher = o.Signer, o.Publisher
	}
	ref.facts = f
	said := *e
	ref.definition = sync.OnceValue(func() string {
		return lock.HashTool(said.Name, said.Description, said.Parameters, said.Returns).Hash
	})
	return h.compile(e, ref)
}

// anyObject is the input schema of a tool that declares none.
var anyObject = json.RawMessage(`{"type":"object"}`)

// compile compiles a tool's schemas.
func (h *Host) compile(e *catalog.Entry, ref *toolRef) error {
	if e.Parameters == nil {
		e.Parameters = anyObject
	}
	checked := e.Parameters
	if ref.original != nil && ref.original.Checked != nil {
		checked = ref.original.Checked
	}
	var err error
	if ref.params, err = h.schemas.Compile(checked); err != nil {
		return fmt.Errorf("%w: %s:%s: parameters: %w", api.ErrTool, e.Owner, e.Name, err)
	}
	if e.Returns != nil {
		if ref.returns, err = h.schemas.Compile(e.Returns); err != nil {
			return fmt.Errorf("%w: %s:%s: returns: %w", api.ErrTool, e.Owner, e.Name, err)
		}
	}
	return nil
}

// checkLock compares a tool with what was accepted of it.
func (ts *toolset) checkLock(e *catalog.Entry) error {
	if ts.lock == nil {
		return nil
	}
	id, err := catalog.ID(e.Source, e.Owner, e.Name)
	if err != nil {
		return fmt.Errorf("%w: %w", api.ErrTool, err)
	}
	return ts.lock.CheckTool(id, lock.HashTool(e.Name, e.Description, e.Parameters, e.Returns))
}
