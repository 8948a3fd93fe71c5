package main

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/internal/namespace"
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/bundle"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

const inspectLong = `Shows what a person needs to know before installing a plugin: who signed it, what
it may do, its tools with what they claim and when they ask for approval, the globals
that cells get, and sizes. It shows unsigned and refused plugins too, and says so.
Everything below the signature is the plugin's own word.`

func (a *app) pluginInspect() *cobra.Command {
	remote, trustFile, asJSON := &remoteFlags{}, "", false
	cmd := &cobra.Command{
		Use:   "inspect FILE|DIR|REF|ID",
		Short: "Show who signed a plugin, what it may do and what it has",
		Long:  inspectLong,
		Example: `  cloister plugin inspect hello.cloister
  cloister plugin inspect registry.example/acme/hello:0.1.0
  cloister plugin inspect --json acme.hello | jq .permissions.hosts`,
		Args: exactly(1, "inspect takes one FILE, DIR, REF or ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			remote.quiet, remote.trust = asJSON, trustFile
			return pluginFault(cmd.Context(), a.inspect(cmd.Context(), args[0], trustFile, remote, asJSON))
		},
		ValidArgsFunction: completePlugins(1),
	}
	trustFlag(cmd, &trustFile)
	remote.register(cmd)
	jsonFlag(cmd, &asJSON)
	return cmd
}

// stateVerified and stateUnchecked stand beside the states of package trust.
const (
	stateVerified  = "verified"
	stateUnchecked = "not-checked"
)

// signatureReport is what is known about who made a plugin.
type signatureReport struct {
	// State is "verified", "not-checked" or a trust.State.
	State  string      `json:"state"`
	Step   trust.Step  `json:"step,omitempty"`
	Detail string      `json:"detail,omitempty"`
	Signer *signerJSON `json:"signer,omitempty"`
	Count  int         `json:"signatures"`
	Policy string      `json:"policy,omitempty"`
}

// inspection is what inspect prints.
type inspection struct {
	Name      string          `json:"name"`
	Place     string          `json:"place"`
	Digest    string          `json:"digest"`
	Signature signatureReport `json:"signature"`
	// Permitted is the permissions in words.
	Permitted []string          `json:"permitted"`
	Manifest  *plugins.Manifest `json:"manifest"`
	Members   []memberReport    `json:"members,omitempty"`
	Bytes     map[string]int    `json:"bytes"`
}

// memberReport is a callable member of a namespace.
type memberReport struct {
	Namespace string `json:"namespace"`
	Member    string `json:"member"`
	Tool      string `json:"tool"`
	// Args are the names of the arguments; without them the one argument is the tool's input, or, with MapInput, the plugin
	// decides.
	Args     []string `json:"args,omitempty"`
	MapInput bool     `json:"mapInput,omitempty"`
}

// call is the member as a cell calls it.
func (m memberReport) call() string {
	switch {
	case m.MapInput:
		return m.Member + "(...)"
	case m.Args == nil:
		return m.Member + "(input)"
	}
	return m.Member + "(" + strings.Join(m.Args, ", ") + ")"
}

func (a *app) inspect(ctx context.Context, arg, trustFile string, remote *remoteFlags, asJSON bool) error {
	o, err := a.open(ctx, arg, remote)
	if err != nil {
		return err
	}
	sig, err := signatureOf(ctx, o.artifact, trustFile)
	if err != nil {
		return err
	}
	m, err := o.artifact.Manifest()
	if err != nil {
		return err
	}
	files := o.artifact.Files()
	in := &inspection{
		Name: o.name, Place: o.place, Digest: o.artifact.Digest(), Signature: *sig, Permitted: m.Permissions.InWords(),
		Manifest: m, Members: membersOf(m),
		Bytes: map[string]int{"manifest": len(files.Manifest), "wasm": len(files.Wasm), "readme": len(files.Readme), "license": len(files.License)},
	}
	if asJSON {
		return a.printJSON(in)
	}
	return a.write(inspectText(a.stdout, in))
}

// signatureOf says who made a plugin, as far as it can be known here. An error is
// one of the policy: that of a check never reads as something else.
func signatureOf(ctx context.Context, artifact *bundle.Artifact, trustFile string) (*signatureReport, error) {
	r := &signatureReport{Count: len(artifact.Signatures())}
	if r.Count == 0 {
		r.State = string(trust.StateUnsigned)
		return r, nil
	}
	path, named, err := trustPath(trustFile)
	if err != nil {
		return nil, err
	}
	policy, err := trust.LoadPolicy(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		r.State, r.Detail = stateUnchecked, "there is no trust policy at "+path
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	r.Policy = path
	v, err := policy.Verify(ctx, artifact)
	if err != nil {
		te := trust.Classify(err)
		r.State, r.Step, r.Detail = string(te.State), te.Step, te.Detail
		return r, nil
	}
	r.State, r.Signer = stateVerified, &signerJSON{v.Signer.Publisher, v.Signer.Key, v.Signer.Issuer, v.Signer.Subject}
	return r, nil
}

// membersOf lists the functions of the namespaces whose scope is in the manifest.
func membersOf(m *plugins.Manifest) []memberReport {
	var out []memberReport
	for _, ns := range m.Namespaces {
		if ns.ScopeExport {
			continue
		}
		root, err := namespace.ParseScope(ns.Scope, ns.RequiredToolNames)
		if err != nil {
			continue // a manifest that was checked has none such
		}
		for _, c := range root.Calls() {
			out = append(out, memberReport{ns.ID, ns.GlobalName + "." + strings.Join(c.Path, namespace.Separator), c.Tool, c.Args, c.MapInput})
		}
	}
	return out
}
