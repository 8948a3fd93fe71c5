package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/internal/safefile"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

const trustLong = `The trust policy says whose plugins may be loaded, and what each publisher may
own: ids of plugins, names of tools, globals of cells. Nothing has a default:
what is not listed is not owned, and without a policy no plugin is installed
or loaded. It may also want several signers of a publisher, and refuse old
versions.

The file is that of --trust, else of CLOISTER_TRUST, else trust.json in this
user's configuration. A configuration file that --config names may name
another with plugins.trust.

` + pluginExitHelp

func (a *app) trustCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "Say whose plugins may be loaded",
		Long:  trustLong,
		Args:  noArguments,
	}
	file, asJSON := "", false
	list := func(cmd *cobra.Command, _ []string) error {
		return operatorFault(cmd.Context(), a.trustList(file, asJSON))
	}
	cmd.RunE = list
	show := &cobra.Command{Use: "list", Short: "List the publishers and what they own", Args: noArguments, RunE: list}
	for _, c := range []*cobra.Command{cmd, show} {
		trustFlag(c, &file)
		jsonFlag(c, &asJSON)
	}
	cmd.AddCommand(show, a.trustAdd(), a.trustRemove(), a.trustRevoke(), a.trustThreshold(), a.trustMinVersion(), a.trustCheck())
	return cmd
}

// readPolicy reads the policy for a command that shows or changes it.
func readPolicy(flag string) (*trust.Policy, string, error) {
	path, _, err := trustPath(flag)
	if err != nil {
		return nil, "", err
	}
	p, err := trust.LoadPolicy(path)
	return p, path, err
}

func (a *app) trustList(flag string, asJSON bool) error {
	p, path, err := readPolicy(flag)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(json.RawMessage(p.Marshal()))
	}
	return a.write(policyText(a.stdout, p, path))
}

// policyText lays a policy out.
func policyText(s *stream, p *trust.Policy, path string) string {
	var b strings.Builder
	for _, pub := range p.Publishers {
		b.WriteString(s.paint(styleBold, escapeLine(pub.Name)) + "\n")
		if pub.Threshold > 1 {
			fmt.Fprintf(&b, "  signers   %d of %d must have signed\n", pub.Threshold, len(pub.Keys)+len(pub.Identities))
		}
		for _, k := range pub.Keys {
			fingerprint, err := trust.Fingerprint(k.PublicKey)
			if err != nil {
				fingerprint = err.Error()
			}
			if slices.Contains(p.Revoked.Keys, fingerprint) {
				fingerprint += " " + s.paint(styleRed, "(revoked)")
			}
			if k.Comment != "" {
				fingerprint += "  " + escapeLine(k.Comment)
			}
			b.WriteString("  key       " + fingerprint + "\n")
		}
		for _, id := range pub.Identities {
			b.WriteString("  identity  " + escapeLine(id.Subject) + ", issued by " + escapeLine(id.Issuer) + "\n")
		}
		for _, row := range []struct {
			name string
			list []string
		}{{"ids", pub.Owns.IDs}, {"tools", pub.Owns.Tools}, {"globals", pub.Owns.Globals}} {
			if len(row.list) > 0 {
				b.WriteString("  " + pad(row.name, 8) + "  " + escapeLine(strings.Join(row.list, ", ")) + "\n")
			}
		}
		b.WriteByte('\n')
	}
	if len(p.Publishers) == 0 {
		b.WriteString("No publisher is trusted.\n\n")
	}
	for _, id := range slices.Sorted(maps.Keys(p.MinVersions)) {
		b.WriteString("least version   " + escapeLine(id+" "+p.MinVersions[id]) + "\n")
	}
	for _, digest := range p.Revoked.Digests {
		b.WriteString("revoked plugin  " + digest + "\n")
	}
	for _, key := range p.Revoked.Keys {
		b.WriteString("revoked key     " + key + "\n")
	}
	return b.String() + s.paint(styleDim, "in "+escapeLine(path)) + "\n"
}

// lockPolicy keeps other processes from changing the policy until unlock.
func lockPolicy(flag string) (unlock func() error, err error) {
	path, _, err := trustPath(flag)
	if err != nil {
		return nil, err
	}
	return lockFile(path)
}

// lockFile locks a file, whose folder is made for this user alone.
func lockFile(path string) (unlock func() error, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, &exitError{code: exitInternal, err: err}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if unlock, err = safefile.Lock(ctx, path); err != nil {
		return nil, &exitError{code: exitFailed, err: fmt.Errorf("changing %s: %w", path, err), hint: "another cloister is changing it; try again"}
	}
	return unlock, nil
}

// savePolicy writes the policy; its folder is made, for this user alone.
func savePolicy(p *trust.Policy, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return &exitError{code: exitInternal, err: err}
	}
	return p.Save(path)
}

func (a *app) trustRemove() *cobra.Command {
	file, key := "", ""
	cmd := &cobra.Command{
		Use:   "remove PUBLISHER",
		Short: "Stop trusting a publisher, or one of its keys",
		Long: `Removes a publisher and all that it owns: its plugins are not loaded any more. With
--key only that key goes. A key that was lost or stolen is revoked instead, so that
nobody adds it again.`,
		Args: exactly(1, "trust remove takes one PUBLISHER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return operatorFault(cmd.Context(), a.changePolicy(file, "removed "+args[0], func(p *trust.Policy) error {
				if key == "" {
					return p.RemovePublisher(args[0])
				}
				fingerprint, err := fingerprintOf(key)
				if err != nil {
					return err
				}
				return p.RemoveKey(args[0], fingerprint)
			}))
		},
		ValidArgsFunction: completePublishers(&file),
	}
	trustFlag(cmd, &file)
	cmd.Flags().StringVar(&key, "key", "", "only this key: its `FINGERPRINT`, or the file of the public key")
	return cmd
}

// changePolicy reads the policy, changes it and writes it, while no other process does:
// a revocation must not be lost.
func (a *app) changePolicy(flag, done string, change func(*trust.Policy) error) (err error) {
	unlock, err := lockPolicy(flag)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	p, path, err := readPolicy(flag)
	if err != nil {
		return err
	}
	if err := change(p); err != nil {
		return err
	}
	if err := savePolicy(p, path); err != nil {
		return err
	}
	return a.write(escapeLine(done) + " in " + a.stdout.text(path) + "\n")
}

// digestForm is a SHA-256 as it is written everywhere.
var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// fingerprintOf takes a fingerprint, or the file of a public key.
func fingerprintOf(text string) (string, error) {
	if strings.HasPrefix(text, "sha256:") {
		if !digestForm.MatchString(text) {
			return "", usageError(fmt.Errorf("%s is no fingerprint", text), "sha256: and 64 lower-case hexadecimal digits; cloister trust list shows them")
		}
		return text, nil
	}
	public, err := readPublicKey(text)
	if err != nil {
		return "", err
	}
	return trust.Fingerprint(public)
}

func (a *app) trustRevoke() *cobra.Command {
	file, key, digest := "", "", ""
	cmd := &cobra.Command{
		Use:   "revoke --key FINGERPRINT|FILE.pub | --digest DIGEST",
		Short: "Refuse a key or a plugin from now on, whoever signed it",
		Long: `Puts a key, or one plugin by its digest, on the list of what is refused, whatever
else the policy says. What a revoked key signed is refused whenever it was signed, and
plugins that are installed already are not loaded any more.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return operatorFault(cmd.Context(), a.revoke(file, key, digest))
		},
	}
	trustFlag(cmd, &file)
	cmd.Flags().StringVar(&key, "key", "", "`FINGERPRINT` of a key, or the file of the public key")
	cmd.Flags().StringVar(&digest, "digest", "", "`DIGEST` of a plugin, as cloister plugin list --json shows it")
	return cmd
}

func (a *app) revoke(file, key, digest string) error {
	if (key == "") == (digest == "") {
		return usageError(errors.New("revoke needs one of --key and --digest"), "")
	}
	if digest != "" {
		if !digestForm.MatchString(digest) {
			return usageError(fmt.Errorf("%s is no digest", digest), "sha256: and 64 lower-case hexadecimal digits; cloister plugin list --json shows them")
		}
		return a.changePolicy(file, "revoked "+digest, func(p *trust.Policy) error { return p.RevokeDigest(digest) })
	}
	fingerprint, err := fingerprintOf(key)
	if err != nil {
		return err
	}
	return a.changePolicy(file, "revoked key "+fingerprint, func(p *trust.Policy) error { return p.RevokeKey(fingerprint) })
}

func (a *app) trustCheck() *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check the trust policy's file, and list all its mistakes",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, path, err := readPolicy(file)
			if err != nil {
				return operatorFault(cmd.Context(), err)
			}
			return a.write(fmt.Sprintf("%s is good: %s\n", a.stdout.text(path), count(len(p.Publishers), "publisher")))
		},
	}
	trustFlag(cmd, &file)
	return cmd
}

// completePublishers offers the names of the policy's publishers.
func completePublishers(file *string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		p, _, err := readPolicy(*file)
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []cobra.Completion
		for _, pub := range p.Publishers {
			out = append(out, pub.Name)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}
