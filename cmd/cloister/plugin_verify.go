package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/internal/forms"
	"github.com/cloister-wasm/cloister/internal/namespace"
	"github.com/cloister-wasm/cloister/internal/safefile"
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/bundle"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

const verifyLong = `Checks a plugin as loading it would, and shows each step: bounds, digests and form
of the bundle, signature, signer, ownership, manifest, version of the contract, and
what the module imports. It says which step failed and how; then the exit code is 2.
Nothing is installed or run.

With --trust, or the trust policy of this user, everything is checked. With --key a
signature by that one key is enough: the policy's publishers, what they own and what
was revoked are not asked, and the output says so.`

type verifyFlags struct {
	trust, key string
	json       bool
	remote     remoteFlags
}

func (a *app) pluginVerify() *cobra.Command {
	f := &verifyFlags{}
	cmd := &cobra.Command{
		Use:   "verify FILE|DIR|REF|ID",
		Short: "Check a plugin's signature and everything else, step by step",
		Long:  verifyLong,
		Example: `  cloister plugin verify acme.hello-0.1.0.cloister --key acme.pub
  cloister plugin verify registry.example/acme/hello:0.1.0
  cloister plugin verify --json hello.cloister | jq .failed`,
		Args: exactly(1, "verify takes one FILE, DIR, REF or ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.remote.quiet = f.json
			return pluginFault(cmd.Context(), a.verify(cmd.Context(), f, args[0]))
		},
		ValidArgsFunction: completePlugins(1),
	}
	trustFlag(cmd, &f.trust)
	cmd.Flags().StringVar(&f.key, "key", "", "public key `FILE`: a signature by this key is enough")
	mustComplete(cmd.MarkFlagFilename("key", "pub"))
	f.remote.register(cmd)
	jsonFlag(cmd, &f.json)
	return cmd
}

// verifySteps are the steps in their order.
var verifySteps = []trust.Step{trust.StepBounds, trust.StepDigests, trust.StepFormat, trust.StepSignature, trust.StepSigner,
	trust.StepOwnership, trust.StepManifest, trust.StepABI, trust.StepImports}

// stepReport is one line of a verification.
type stepReport struct {
	Step trust.Step `json:"step"`
	// State is "ok", "failed", "not-reached" or "not-checked".
	State  string `json:"state"`
	Detail string `json:"detail,omitempty"`
}

// verifyReport is what verify prints.
type verifyReport struct {
	Verified bool         `json:"verified"`
	Name     string       `json:"name"`
	Plugin   string       `json:"plugin,omitempty"`
	Version  string       `json:"version,omitempty"`
	Digest   string       `json:"digest,omitempty"`
	Signer   *signerJSON  `json:"signer,omitempty"`
	Steps    []stepReport `json:"steps"`
	Failed   *refusalJSON `json:"failed,omitempty"`
}

type signerJSON struct {
	Publisher string `json:"publisher,omitempty"`
	Key       string `json:"key,omitempty"`
	Issuer    string `json:"issuer,omitempty"`
	Subject   string `json:"subject,omitempty"`
}

type refusalJSON struct {
	Step   trust.Step  `json:"step"`
	State  trust.State `json:"state"`
	Detail string      `json:"detail"`
}

func (a *app) verify(ctx context.Context, f *verifyFlags, arg string) error {
	if f.key != "" && f.trust != "" {
		return usageError(errors.New("--key and --trust contradict each other"), "")
	}
	// Before anything is fetched: without a policy there is nothing to check against.
	policyFor, err := f.policy()
	if err != nil {
		return err
	}
	f.remote.signer = func(artifact *bundle.Artifact, signature []byte) string {
		return policyFor(artifact).SignerOf(artifact, signature)
	}
	r := &verifyReport{Name: arg}
	refused, err := a.check(ctx, f, arg, policyFor, r)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	r.fill(refused, f.key != "")
	code := exitOK
	if refused != nil {
		code = exitUsage
		if refused.State == trust.StateInternal {
			code = exitInternal
		}
	}
	if f.json {
		if err := a.printJSON(r); err != nil {
			return err
		}
		return silently(code)
	}
	if err := a.write(verifyText(a.stdout, r)); err != nil || refused == nil {
		return err
	}
	return &exitError{code: code, err: withProblems(fmt.Errorf("%s is refused: %w", arg, refused)), hint: trustHint(refused)}
}

// policy gives what an artifact is checked against: the trust policy, or one that
// trusts a key with whatever the artifact is called.
func (f *verifyFlags) policy() (func(*bundle.Artifact) *trust.Policy, error) {
	if f.key == "" {
		path, _, err := trustPath(f.trust)
		if err != nil {
			return nil, err
		}
		p, err := trust.LoadPolicy(path)
		return func(*bundle.Artifact) *trust.Policy { return p }, err
	}
	text, err := readPublicKey(f.key)
	if err != nil {
		return nil, err
	}
	return func(artifact *bundle.Artifact) *trust.Policy { return keyPolicy(artifact, text) }, nil
}

// keyPolicy trusts one key, with whatever the artifact is called.
func keyPolicy(artifact *bundle.Artifact, publicKey string) *trust.Policy {
	return &trust.Policy{Publishers: []trust.Publisher{{
		Name: "key", Keys: []trust.Key{{PublicKey: publicKey}}, Owns: claimed(artifact.Files().Manifest),
	}}}
}

// readPublicKey reads a public key and checks its form.
func readPublicKey(name string) (string, error) {
	text, err := safefile.ReadTrusted(name, settings.MaxSecretBytes)
	if err != nil {
		return "", usageError(fmt.Errorf("--key: %w", err), "")
	}
	if strings.Contains(string(text), "PRIVATE KEY") {
		return "", usageError(fmt.Errorf("--key: %s is a private key", name), "verifying takes the public one, which ends in "+trust.PublicKeySuffix)
	}
	if _, err := trust.Fingerprint(string(text)); err != nil {
		return "", usageError(fmt.Errorf("--key: %s: %w", name, err), "cloister plugin keygen makes key pairs")
	}
	return string(text), nil
}

// claimed is the ownership of whatever a manifest claims. What has not the right
// form is left out: the manifest is refused for it.
func claimed(manifest []byte) trust.Ownership {
	var m struct {
		ID         string `json:"id"`
		Namespaces []struct {
			GlobalName string `json:"globalName"`
		} `json:"namespaces"`
	}
	owns := trust.Ownership{IDs: []string{"a."}, Tools: []string{"*"}}
	if err := json.Unmarshal(manifest, &m); err != nil {
		return owns // the manifest's step reports it
	}
	if forms.PluginID(m.ID) == "" {
		owns.IDs = []string{m.ID}
	}
	for _, n := range m.Namespaces {
		if namespace.CheckGlobalName(n.GlobalName) == nil && !slices.Contains(owns.Globals, n.GlobalName) && len(owns.Globals) < trust.MaxOwned {
			owns.Globals = append(owns.Globals, n.GlobalName)
		}
	}
	return owns
}

// check opens and checks a plugin. Refusals are the plugin's fault; errors are of
// the command or of the way to the plugin.
func (a *app) check(ctx context.Context, f *verifyFlags, arg string, policyFor func(*bundle.Artifact) *trust.Policy, r *verifyReport) (*trust.Error, error) {
	o, err := a.open(ctx, arg, &f.remote)
	if err != nil {
		if te := trust.Classify(err); slices.Contains(verifySteps, te.Step) && te.State == trust.StateInvalid {
			return te, nil
		}
		return nil, err
	}
	r.Name, r.Digest = o.name, o.artifact.Digest()
	v, err := policyFor(o.artifact).Verify(ctx, o.artifact)
	if err != nil {
		return trust.Classify(err), nil
	}
	r.Plugin, r.Version = v.Manifest.ID, v.Manifest.Version
	r.Signer = &signerJSON{v.Signer.Publisher, v.Signer.Key, v.Signer.Issuer, v.Signer.Subject}
	if f.key != "" {
		r.Signer.Publisher = ""
	}
	p, err := plugins.New(v.Manifest, o.artifact.Files().Wasm, v.Origin(""), nil)
	if err != nil {
		return trust.Classify(err), nil
	}
	return nil, p.Close()
}

// fill writes down how far it came.
func (r *verifyReport) fill(refused *trust.Error, byKey bool) {
	r.Verified = refused == nil
	state := "ok"
	for _, s := range verifySteps {
		report := stepReport{Step: s, State: state}
		switch {
		case refused != nil && refused.Step == s:
			report.State, report.Detail, state = "failed", refused.Detail, "not-reached"
		case byKey && s == trust.StepOwnership && state == "ok":
			report.State, report.Detail = "not-checked", "--key says nothing about what its owner may own"
		case state == "ok":
			report.Detail = r.detail(s)
		}
		r.Steps = append(r.Steps, report)
	}
	if refused != nil {
		r.Failed = &refusalJSON{refused.Step, refused.State, refused.Detail}
		if !slices.Contains(verifySteps, refused.Step) { // nothing is known about any of them
			for i := range r.Steps {
				r.Steps[i].State, r.Steps[i].Detail = "not-reached", ""
			}
		}
	}
}

// detail is what is worth knowing about a step that passed.
func (r *verifyReport) detail(s trust.Step) string {
	switch s {
	case trust.StepDigests:
		return r.Digest
	case trust.StepSigner:
		if r.Signer != nil {
			return signerLine(trust.Signer(*r.Signer))
		}
	case trust.StepManifest:
		if r.Plugin != "" {
			return r.Plugin + " " + r.Version
		}
	}
	return ""
}

// verifyText lays a report out.
func verifyText(s *stream, r *verifyReport) string {
	var b strings.Builder
	marks := map[string]string{"ok": "ok", "failed": s.paint(styleRed, "FAIL"), "not-reached": s.paint(styleDim, "-"), "not-checked": s.paint(styleYellow, "?")}
	widths := map[string]int{"ok": 2, "failed": 4, "not-reached": 1, "not-checked": 1}
	for _, step := range r.Steps {
		detail := step.Detail
		switch step.State {
		case "failed":
			detail = string(r.Failed.State)
		case "not-reached":
			detail = "not reached"
		case "not-checked":
			detail = "not checked: " + detail
		}
		line := marks[step.State] + strings.Repeat(" ", 6-widths[step.State]) + pad(string(step.Step), 11) + escapeLine(detail)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	if r.Verified {
		fmt.Fprintf(&b, "verified: %s %s, signed by %s\n", escapeLine(r.Plugin), escapeLine(r.Version), escapeLine(signerLine(trust.Signer(*r.Signer))))
	}
	return b.String()
}
