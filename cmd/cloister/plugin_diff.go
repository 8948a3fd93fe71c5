package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

const diffLong = `Shows what changes from one plugin, or version of it, to another: who signed
it, permissions, tools with their schemas, globals, and whether the code
differs. What gives the plugin more than it had is marked with "!", what else
an update would need consent for with "?".

The exit code is 0 where nothing differs, and 1 where something does.`

func (a *app) pluginDiff() *cobra.Command {
	remote, trustFile, asJSON := &remoteFlags{}, "", false
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Show what changes from one version of a plugin to another",
		Long:  diffLong,
		Example: `  cloister plugin diff hello-0.1.0.cloister hello-0.2.0.cloister
  cloister plugin diff acme.hello registry.example/acme/hello:0.2.0`,
		Args: exactly(2, "diff takes two plugins, each a FILE, DIR, REF or ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			remote.quiet, remote.trust = asJSON, trustFile
			return pluginFault(cmd.Context(), a.diff(cmd.Context(), args[0], args[1], trustFile, remote, asJSON))
		},
		ValidArgsFunction: completePlugins(2),
	}
	trustFlag(cmd, &trustFile)
	remote.register(cmd)
	jsonFlag(cmd, &asJSON)
	return cmd
}

// side is one of two plugins that are compared.
type side struct {
	Name      string          `json:"name"`
	Plugin    string          `json:"plugin"`
	Version   string          `json:"version"`
	Digest    string          `json:"digest"`
	Signature signatureReport `json:"signature"`
	manifest  *plugins.Manifest
	wasm      []byte
}

// diffReport is what diff prints.
type diffReport struct {
	Before  *side        `json:"before"`
	After   *side        `json:"after"`
	Widens  bool         `json:"widens"`
	Asks    bool         `json:"asks"`
	Changes []changeJSON `json:"changes"`
}

func (a *app) diff(ctx context.Context, before, after, trustFile string, remote *remoteFlags, asJSON bool) error {
	r := &diffReport{}
	var err error
	if r.Before, err = a.openSide(ctx, before, trustFile, remote); err != nil {
		return err
	}
	if r.After, err = a.openSide(ctx, after, trustFile, remote); err != nil {
		return err
	}
	d := compareSides(r.Before, r.After)
	r.Widens, r.Asks, r.Changes = d.Widens(), d.Asks(), changesJSON(d)
	if asJSON {
		err = a.printJSON(r)
	} else {
		err = a.write(diffText(a.stdout, r, d))
	}
	if err != nil || len(d.Changes) == 0 {
		return err
	}
	return silently(exitFailed)
}

func (a *app) openSide(ctx context.Context, arg, trustFile string, remote *remoteFlags) (*side, error) {
	o, err := a.open(ctx, arg, remote)
	if err != nil {
		return nil, err
	}
	m, err := o.artifact.Manifest()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", arg, err)
	}
	sig, err := signatureOf(ctx, o.artifact, trustFile)
	if err != nil {
		return nil, err
	}
	return &side{o.name, m.ID, m.Version, o.artifact.Digest(), *sig, m, o.artifact.Files().Wasm}, nil
}

// compareSides adds to the difference of the manifests what is not in them.
func compareSides(before, after *side) *plugins.Difference {
	d := plugins.Compare(before.manifest, after.manifest)
	var more []plugins.Change
	if was, is := whoSigned(&before.Signature), whoSigned(&after.Signature); was != is {
		widens := before.Signature.State != string(trust.StateUnsigned)
		more = append(more, plugins.Change{Area: "signer", Path: "/signature", Before: was, After: is, Widens: widens, Asks: widens,
			Text: "It is signed by another: " + is + ", before it was " + was + "."})
	}
	switch {
	case !bytes.Equal(before.wasm, after.wasm):
		more = append(more, plugins.Change{Area: "code", Path: "/wasm", Before: fileSize(len(before.wasm)), After: fileSize(len(after.wasm)),
			Text: fmt.Sprintf("The code differs (%s, before %s).", fileSize(len(after.wasm)), fileSize(len(before.wasm)))})
	case before.Digest != after.Digest && len(d.Changes) == 0:
		more = append(more, plugins.Change{Area: "texts", Text: "The code is the same; the layout of the manifest, the README or the license differs.",
			Before: before.Digest, After: after.Digest})
	}
	d.Changes = append(more, d.Changes...)
	return d
}

// whoSigned is the signer, or why there is none that is known.
func whoSigned(r *signatureReport) string {
	switch {
	case r.Signer != nil:
		return signerLine(trust.Signer(*r.Signer))
	case r.State == stateUnchecked:
		return "somebody who was not verified"
	case r.State == string(trust.StateUnsigned):
		return "nobody"
	}
	return "somebody who is refused (" + r.State + ")"
}

// diffText lays a difference out.
func diffText(s *stream, r *diffReport, d *plugins.Difference) string {
	title := fmt.Sprintf("%s %s -> %s %s", r.Before.Plugin, r.Before.Version, r.After.Plugin, r.After.Version)
	if len(d.Changes) == 0 {
		return escapeLine(title) + ": no difference\n"
	}
	return s.paint(styleBold, escapeLine(title)) + "\n" + changesText(s, d) + legend(s, d)
}
