package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/namespace"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// Bounds of the answers that are no tool's.
const (
	// maxDescription bounds what a plugin says about itself.
	maxDescription = 4 * MaxManifestBytes
	// maxPathSegments bounds the path of a call in a scope.
	maxPathSegments = namespace.MaxDepth
)

// Scope has the plugin compute the scope of a namespace whose manifest entry has scopeExport. What it gives was checked:
// an object of data and call markers for the namespace's required tools, at most 256 KiB, 32 levels and 512 markers.
//
// Errors: [*ToolError] where the plugin refuses; [*PluginError] otherwise, ErrUnknownNamespace and ErrScope besides those of
// [Instance.Call].
func (i *Instance) Scope(ctx context.Context, ns string, sc guestabi.ScopeContext) (json.RawMessage, error) {
	n, err := i.namespace(ns)
	if err != nil {
		return nil, err
	}
	if !n.ScopeExport {
		return nil, &PluginError{Plugin: i.plugin.ID(), Kind: ErrUnknownNamespace, Detail: fmt.Sprintf("the scope of %q is in the manifest", n.ID)}
	}
	value, err := i.exchange(ctx, guestabi.ExportScope, guestabi.ScopeRequest{ABI: ABIVersion, Namespace: n.ID, Context: sc})
	if err != nil {
		return nil, err
	}
	if _, err := namespace.ParseScope(value, n.RequiredToolNames); err != nil {
		return nil, &PluginError{Plugin: i.plugin.ID(), Kind: ErrScope, Detail: plaintext.Line(n.ID+": "+err.Error(), 600), cause: err}
	}
	return value, nil
}

// MapInput has the plugin turn the arguments of a namespace call into the input of the marker's tool, an object. path leads
// to the marker, tool is the marker's. Errors are those of [Instance.Scope], but for ErrScope.
func (i *Instance) MapInput(ctx context.Context, ns string, path []string, tool string, args []json.RawMessage) (json.RawMessage, error) {
	n, err := i.namespace(ns)
	if err != nil {
		return nil, err
	}
	id := i.plugin.ID()
	if !slices.Contains(n.RequiredToolNames, tool) {
		return nil, &PluginError{Plugin: id, Kind: ErrUnknownTool, Detail: fmt.Sprintf("%q is no tool of the namespace %s", plaintext.Line(tool, 80), n.ID)}
	}
	if len(path) == 0 || len(path) > maxPathSegments {
		return nil, &PluginError{Plugin: id, Tool: tool, Kind: ErrInput, Detail: fmt.Sprintf("a path has 1 to %d segments, this has %d", maxPathSegments, len(path))}
	}
	if args == nil {
		args = []json.RawMessage{}
	}
	value, err := i.exchange(ctx, guestabi.ExportMapInput, guestabi.MapInputRequest{ABI: ABIVersion, Namespace: n.ID, Path: path, Tool: tool, Args: args})
	if err != nil {
		return nil, err
	}
	if err := checkInput(value); err != nil {
		return nil, &PluginError{Plugin: id, Tool: tool, Kind: ErrProtocol, Detail: plaintext.Line(guestabi.ExportMapInput+": "+err.Error(), 600), cause: err}
	}
	return value, nil
}

// Describe asks the plugin's code what it knows about itself. Errors are those of [Instance.Call]; ErrExport says that the
// plugin cannot describe itself.
func (i *Instance) Describe(ctx context.Context) (*guestabi.Description, error) {
	value, err := i.ask(ctx, request{export: guestabi.ExportDescribe, answer: envelopeAnswer, limit: i.plugin.baseTimeout()})
	if err != nil {
		return nil, err
	}
	protocol := func(err error) error {
		return &PluginError{Plugin: i.plugin.ID(), Kind: ErrProtocol, Detail: plaintext.Line(guestabi.ExportDescribe+": "+err.Error(), 600), cause: err}
	}
	if len(value) > maxDescription {
		return nil, protocol(fmt.Errorf("%d bytes are more than %d", len(value), maxDescription))
	}
	var d guestabi.Description
	if err := schema.DecodeInto(value, &d, nil); err != nil {
		return nil, protocol(err)
	}
	if len(d.Tools) > maxTools {
		return nil, protocol(fmt.Errorf("%d tools are more than %d", len(d.Tools), maxTools))
	}
	return &d, nil
}

// exchange sends a message of the contract to an export of the contract.
func (i *Instance) exchange(ctx context.Context, export string, message any) (json.RawMessage, error) {
	raw, err := json.Marshal(message)
	if err == nil {
		err = schema.Check(raw)
	}
	if err != nil {
		return nil, &PluginError{Plugin: i.plugin.ID(), Kind: ErrInput, Detail: plaintext.Line(err.Error(), 600), cause: err}
	}
	if most := i.plugin.options.Limits.InputBytes; len(raw) > most {
		return nil, i.overLimit("", "input", len(raw), most)
	}
	return i.ask(ctx, request{export: export, message: raw, answer: envelopeAnswer, limit: i.plugin.baseTimeout()})
}

func (i *Instance) namespace(id string) (*Namespace, error) {
	var ids []string
	for k := range i.plugin.manifest.Namespaces {
		n := &i.plugin.manifest.Namespaces[k]
		if n.ID == id {
			return n, nil
		}
		ids = append(ids, n.ID)
	}
	detail := fmt.Sprintf("%q", plaintext.Line(id, 80))
	if near := schema.Suggest(id, ids); near != "" {
		detail += fmt.Sprintf("; did you mean %q?", near)
	}
	return nil, &PluginError{Plugin: i.plugin.ID(), Kind: ErrUnknownNamespace, Detail: detail}
}

// CheckDescription compares the plugin's code with its manifest, by [guestabi.ExportDescribe], for builds: each tool that the
// code describes must be in the manifest, and each tool of the manifest without an export of its own must be described. A
// difference is ErrManifest with a [*ManifestError]; a plugin that does not describe itself is ErrExport.
func (p *Plugin) CheckDescription(ctx context.Context) error {
	i, err := p.NewInstance(ctx, nil)
	if err != nil {
		return err
	}
	defer i.Close()
	d, err := i.Describe(ctx)
	if err != nil {
		return err
	}
	if problems := describedProblems(p.manifest, d); len(problems) > 0 {
		return &PluginError{Plugin: p.ID(), Kind: ErrManifest, Detail: "it does not agree with the code", cause: &ManifestError{Problems: problems}}
	}
	return nil
}

func describedProblems(m *Manifest, d *guestabi.Description) []Problem {
	described := map[string]bool{}
	var problems []Problem
	for _, t := range d.Tools {
		described[t.Name] = true
		if _, ok := m.tool(t.Name); !ok {
			problems = append(problems, Problem{Path: "/tools", Message: fmt.Sprintf("the code has a tool %q that the manifest does not list", plaintext.Line(t.Name, 80)),
				Suggestion: "list it, or take it out of the code"})
		}
	}
	for k, t := range m.Tools {
		if t.Export == "" && !described[t.Name] {
			problems = append(problems, Problem{Path: fmt.Sprintf("/tools/%d", k), Message: fmt.Sprintf("the code has no tool %q", t.Name),
				Suggestion: "register it in the code, or take it out of the manifest"})
		}
	}
	return problems[:min(len(problems), MaxProblems)]
}

// ScopeConfig gives the configuration that the plugin may read and that is set, for [guestabi.ScopeContext]. A value that is
// not JSON or too large is left out.
func (p *Plugin) ScopeConfig() map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for _, key := range p.manifest.Permissions.Config {
		if v, err := p.broker.config(key); err == nil && v != nil {
			out[key] = v
		}
	}
	return out
}

var errConfigValue = errors.New("the value that is set is not usable JSON")
