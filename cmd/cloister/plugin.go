package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/bundle"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

const pluginLong = `Makes, signs and shares plugins, and installs those of others.

An author's way, on a machine with Go and, for test, the JavaScript engine
("cloister engine install", once):
  cloister plugin new acme.hello    a folder with a working plugin
  cloister plugin test hello        build it and run its cells against it
  cloister plugin build hello       dist/acme.hello-0.1.0.cloister, reproducibly
  cloister plugin keygen            a key pair, once
  cloister plugin sign hello --key cloister.key
  cloister plugin push hello/dist/acme.hello-0.1.0.cloister REGISTRY/NAME:0.1.0

An operator's way:
  cloister trust add acme --key acme.pub --id acme. --tool 'acme_'
  cloister plugin install registry.example/acme/hello:0.1.0
  cloister run cell.ts              the cell calls the plugin's tools
  cloister plugin update --all      shows what changes, and asks
  cloister plugin rollback          as it was before

What is called FILE is a .cloister file, DIR the folder of a plugin or an OCI
layout, REF a plugin in a registry such as registry.example/acme/hello:1.2.0 or
one with @sha256:... at its end.

` + pluginExitHelp + `

Environment:
  CLOISTER_DATA_DIR      where installed plugins are kept
  CLOISTER_TRUST         the trust policy: whose plugins may be loaded
  CLOISTER_LOCK          the lock file: which plugins and tools were agreed to
  CLOISTER_KEY_PASSWORD  the password of private keys`

// pluginExitHelp documents the exit codes of all commands about plugins.
const pluginExitHelp = `Exit codes:
  0    done; for diff and lock: no difference
  1    it failed: a test, a build, a registry; you did not agree; for diff and lock: they differ
  2    the command line is wrong, or the plugin, its signature or its owner is refused
  3    the JavaScript engine is missing or unusable (test)
  6    Cloister itself failed
  130  interrupted with Ctrl-C (143: by SIGTERM)`

// pluginCommand is the parent of all commands about plugins.
func (a *app) pluginCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugin",
		Short: "Make, sign, share, check and install plugins",
		Long:  pluginLong,
		Args:  noArguments, RunE: group,
	}
	cmd.AddGroup(&cobra.Group{ID: authorGroup, Title: "Making plugins:"}, &cobra.Group{ID: lookGroup, Title: "Looking at plugins:"},
		&cobra.Group{ID: operatorGroup, Title: "Installing plugins:"})
	for _, c := range []*cobra.Command{
		a.pluginNew(), a.pluginTest(), a.pluginBuild(), a.pluginKeygen(), a.pluginSign(), a.pluginPush(),
	} {
		c.GroupID = authorGroup
		cmd.AddCommand(c)
	}
	for _, c := range []*cobra.Command{a.pluginPull(), a.pluginVerify(), a.pluginInspect(), a.pluginDiff()} {
		c.GroupID = lookGroup
		cmd.AddCommand(c)
	}
	for _, c := range []*cobra.Command{
		a.pluginInstall(), a.pluginUpdate(), a.pluginList(), a.pluginEnable(), a.pluginDisable(), a.pluginRemove(),
		a.pluginRollback(), a.pluginGenerations(), a.pluginGC(), a.pluginRepair(), a.trustCommand(), a.lockCommand(),
	} {
		c.GroupID = operatorGroup
		cmd.AddCommand(c)
	}
	return cmd
}

// Groups of commands in the help.
const (
	authorGroup   = "author"
	lookGroup     = "look"
	operatorGroup = "operator"
)

// trustFlag registers --trust.
func trustFlag(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "trust", "", "trust policy `FILE` (default: $CLOISTER_TRUST, else trust.json in this user's configuration)")
	mustComplete(cmd.MarkFlagFilename("trust", "json"))
}

// jsonFlag registers --json.
func jsonFlag(cmd *cobra.Command, on *bool) {
	cmd.Flags().BoolVar(on, "json", false, "print JSON, for programs")
}

// pluginFault gives an error about a plugin its exit code and says how to mend it
// where its own text does not.
func pluginFault(ctx context.Context, err error) error {
	var ee *exitError
	var te *trust.Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return errInterrupted
	case errors.As(err, &ee):
		return err
	case errors.As(err, &te):
		code := exitUsage
		if te.State == trust.StateInternal && te.Step != trust.StepPolicy {
			code = exitInternal
		}
		return &exitError{code: code, err: withProblems(err), hint: trustHint(te)}
	case errors.Is(err, bundle.ErrAuth):
		return &exitError{code: exitFailed, err: err, hint: "cloister login REGISTRY logs in"}
	case errors.Is(err, bundle.ErrReference):
		return usageError(err, "a reference is REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:..., such as registry.example/acme/hello:1.2.0")
	case errors.Is(err, bundle.ErrNotFound), errors.Is(err, bundle.ErrRegistry):
		hint := ""
		if strings.Contains(err.Error(), "PlainHTTP") {
			hint = "--plain-http allows it"
		}
		return &exitError{code: exitFailed, err: err, hint: hint}
	case errors.Is(err, trust.ErrNoPolicy):
		return usageError(err, "name one with --trust FILE or CLOISTER_TRUST; cloister plugin verify --key FILE.pub checks against one key")
	case errors.Is(err, plugins.ErrHost):
		return &exitError{code: exitInternal, err: err}
	}
	return usageError(withProblems(err), "")
}

// trustHint says what can be done about a refusal whose own text does not.
func trustHint(e *trust.Error) string {
	switch e.State {
	case trust.StateInvalidSignature:
		return "it was changed after it was signed, or the signature is another's; get it again from its publisher"
	case trust.StateUnknownSigner:
		return "only if you know whose it is: add the signer to the trust policy, with what its owner may own"
	}
	return ""
}

// signerLine says who signed, in words.
func signerLine(s trust.Signer) string {
	switch {
	case s.Key != "" && s.Publisher != "":
		return s.Publisher + " (key " + s.Key + ")"
	case s.Key != "":
		return "key " + s.Key
	case s.Subject != "":
		return strings.TrimSpace(s.Publisher + " (" + s.Subject + ", issued by " + s.Issuer + ")")
	}
	return s.String()
}

// fileSize shows a number of bytes to people.
func fileSize(n int) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
