package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/plugins/bundle"
)

// remoteFlags are the flags of commands that speak to registries.
type remoteFlags struct {
	plainHTTP bool
	quiet     bool   // no progress
	trust     string // the policy whose signers are looked for first; "": the user's
	// signer is asked in place of that policy, see bundle.Remote.Signer.
	signer func(*bundle.Artifact, []byte) string
}

func (f *remoteFlags) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.plainHTTP, "plain-http", false, "speak HTTP without TLS to the registry; loopback addresses are spoken to so anyway")
}

// open makes the connection's settings. done ends the display of progress.
func (f *remoteFlags) open(a *app) (r *bundle.Remote, done func()) {
	t := &transferLine{out: a.stderr}
	r = &bundle.Remote{PlainHTTP: f.plainHTTP, UserAgent: "cloister/" + readVersion().Version, Signer: f.signer}
	if r.Signer == nil {
		// Without a policy nobody is known. A command that needs one says so itself.
		p, _, _ := readPolicy(f.trust)
		r.Signer = p.SignerOf
	}
	if !f.quiet {
		r.Progress = t.show
	}
	return r, t.erase
}

// transferLine shows transfers: a bar on a terminal, a line for each part that is
// done elsewhere.
type transferLine struct {
	out *stream

	mu    sync.Mutex
	drawn bool
}

// barWidth is the number of columns of the bar itself.
const barWidth = 24

// show takes a step of a transfer. What is written to standard error may fail:
// there is nobody left to tell.
func (t *transferLine) show(p bundle.Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.out.tty {
		if p.Finished {
			_, _ = fmt.Fprintf(t.out, "%s  %s, %s\n", p.Operation, escapeLine(p.Name), fileSize(int(p.Total)))
		}
		return
	}
	full := barWidth
	if p.Total > 0 {
		full = int(min(p.Done, p.Total) * barWidth / p.Total)
	}
	text := fmt.Sprintf("%s  %s  %s%s  %s of %s", p.Operation, pad(escapeLine(p.Name), 12),
		strings.Repeat("█", full), strings.Repeat("░", barWidth-full), fileSize(int(p.Done)), fileSize(int(p.Total)))
	_, _ = io.WriteString(t.out, "\r\x1b[K"+t.out.paint(styleDim, clip(text, t.out.width()-1)))
	t.drawn = true
}

// erase removes the bar.
func (t *transferLine) erase() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.drawn {
		_, _ = io.WriteString(t.out, "\r\x1b[K") // see show
		t.drawn = false
	}
}

func (a *app) pluginPush() *cobra.Command {
	remote, asJSON := &remoteFlags{}, false
	cmd := &cobra.Command{
		Use:   "push FILE|DIR REF",
		Short: "Send a plugin and its signatures to a registry",
		Long: `Sends a plugin and its signatures to a registry, and prints the reference by
digest, which names these bytes and no others. What the registry has already
is not sent again. A tag that is another version than the plugin's is refused.`,
		Example: `  cloister plugin push dist/acme.hello-0.1.0.cloister \
      registry.example/acme/hello:0.1.0
  cloister login registry.example   # first, if it wants to know who you are`,
		Args: cobra.MatchAll(exactly(2, "push takes a FILE and a REF")),
		RunE: func(cmd *cobra.Command, args []string) error {
			remote.quiet = asJSON
			return pluginFault(cmd.Context(), a.push(cmd.Context(), args[0], args[1], remote, asJSON))
		},
		ValidArgsFunction: completePlugins(1),
	}
	remote.register(cmd)
	jsonFlag(cmd, &asJSON)
	return cmd
}

// exactly wants a number of arguments, and says what they are.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return fmt.Errorf("%s, and was given %d arguments", what, len(args))
		}
		return nil
	}
}

func (a *app) push(ctx context.Context, arg, ref string, remote *remoteFlags, asJSON bool) error {
	parsed, err := bundle.ParseReference(ref)
	if err != nil {
		return err
	}
	from, err := a.open(ctx, arg, remote)
	if err != nil {
		return err
	}
	r, done := remote.open(a)
	digest, err := r.Push(ctx, ref, from.artifact)
	done()
	if err != nil {
		return err
	}
	parsed.Tag, parsed.Digest = "", digest
	signatures := len(from.artifact.Signatures())
	if asJSON {
		return a.printJSON(map[string]any{"ref": parsed.String(), "digest": digest, "signatures": signatures})
	}
	if signatures == 0 {
		a.complain("note: it is not signed, and nobody can install it as it is", "cloister plugin sign "+parsed.String()+" --key FILE.key signs it where it is")
	}
	return a.write("pushed " + parsed.String() + "\n")
}

func (a *app) pluginPull() *cobra.Command {
	remote, asJSON, out := &remoteFlags{}, false, ""
	cmd := &cobra.Command{
		Use:   "pull REF",
		Short: "Fetch a plugin and its signatures into a file",
		Long: `Fetches a plugin and its signatures from a registry into a .cloister file. Bounds
and digests are checked, who made it is not: cloister plugin verify does that.`,
		Example: `  cloister plugin pull registry.example/acme/hello:0.1.0
  cloister plugin pull registry.example/acme/hello@sha256:... --out hello.cloister`,
		Args: exactly(1, "pull takes one REF"),
		RunE: func(cmd *cobra.Command, args []string) error {
			remote.quiet = asJSON
			return pluginFault(cmd.Context(), a.pull(cmd.Context(), args[0], out, remote, asJSON))
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	remote.register(cmd)
	cmd.Flags().StringVar(&out, "out", "", "`FILE` to write, which is replaced (default: ID-VERSION.cloister, which must not be there)")
	mustComplete(cmd.MarkFlagFilename("out", strings.TrimPrefix(bundleExtension, ".")))
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (a *app) pull(ctx context.Context, ref, out string, remote *remoteFlags, asJSON bool) error {
	r, done := remote.open(a)
	artifact, err := r.Pull(ctx, ref)
	done()
	if err != nil {
		return err
	}
	if out == "" {
		// NB: the registry chose the manifest, and so the name; the forms of id and
		// version leave it no way out of the working folder.
		m, err := artifact.Manifest()
		if err != nil {
			return usageError(withProblems(err), "--out FILE keeps it all the same")
		}
		if out = bundleName(m.ID, m.Version); !plainName.MatchString(out) {
			return usageError(fmt.Errorf("%s is no name for a file", out), "choose one with --out FILE")
		}
		if _, err := os.Lstat(out); err == nil {
			return usageError(fmt.Errorf("%s is there already", out), "--out FILE chooses a file, and replaces it")
		}
	}
	if err := artifact.WriteFile(out); err != nil {
		return err
	}
	signatures := len(artifact.Signatures())
	if asJSON {
		return a.printJSON(map[string]any{"file": out, "digest": artifact.Digest(), "signatures": signatures})
	}
	return a.write(fmt.Sprintf("pulled  %s\ndigest  %s\nsigned  %s, not verified\n", a.stdout.text(out), artifact.Digest(), count(signatures, "signature")))
}

// count writes a number of things.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (a *app) loginCommand() *cobra.Command {
	remote, user, fromStdin := &remoteFlags{}, "", false
	plaintext := false
	cmd := &cobra.Command{
		Use:   "login REGISTRY",
		Short: "Log in to a registry",
		Long: `Checks a user and a password with a registry and keeps them where Docker and
other tools keep theirs: with the credential helper of Docker's configuration, or of
the system. Where there is none, --plaintext-unsafe writes them into Docker's
configuration file, readable for whoever reads that file.`,
		Example: `  cloister login registry.example -u ann
  pass show registry | cloister login registry.example -u ann --password-stdin`,
		Args: exactly(1, "login takes one REGISTRY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			password, err := a.loginPassword(ctx, args[0], &user, fromStdin)
			if err != nil {
				return err
			}
			r, _ := remote.open(a)
			if r.Credentials, err = bundle.DockerCredentials(&bundle.DockerOptions{PlaintextUnsafe: plaintext}); err != nil {
				return pluginFault(ctx, err)
			}
			if err := r.Login(ctx, args[0], user, password); err != nil {
				if errors.Is(err, bundle.ErrAuth) && ctx.Err() == nil {
					return &exitError{code: exitFailed, err: err, hint: "check user and password; without a credential helper, --plaintext-unsafe keeps them in a file"}
				}
				return pluginFault(ctx, err)
			}
			return a.write("logged in to " + escapeLine(args[0]) + " as " + escapeLine(user) + "\n")
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	remote.register(cmd)
	cmd.Flags().StringVarP(&user, "username", "u", "", "`NAME` of the user (default: you are asked)")
	cmd.Flags().BoolVar(&fromStdin, "password-stdin", false, "the password is the first line of standard input")
	cmd.Flags().BoolVar(&plaintext, "plaintext-unsafe", false, "without a credential helper, keep the password in a file")
	return cmd
}

// loginPassword gives the password, and asks for what is missing.
func (a *app) loginPassword(ctx context.Context, registry string, user *string, fromStdin bool) (string, error) {
	const hint = "give them with --username NAME and --password-stdin"
	if fromStdin && *user == "" {
		return "", usageError(errors.New("--password-stdin needs --username"), "")
	}
	if fromStdin {
		secret, err := readSecret(a.stdin, "standard input", settings.MaxSecretBytes)
		return string(secret), err
	}
	if *user == "" {
		var err error
		if *user, err = a.askLine(ctx, "User at "+escapeLine(registry)+": ", hint); err != nil {
			return "", err
		}
	}
	secret, err := a.askSecret(ctx, "Password: ", hint)
	return string(secret), err
}

func (a *app) logoutCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "logout REGISTRY",
		Short: "Forget the login of a registry",
		Args:  exactly(1, "logout takes one REGISTRY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := (&bundle.Remote{}).Logout(cmd.Context(), args[0]); err != nil {
				return pluginFault(cmd.Context(), err)
			}
			return a.write("logged out of " + escapeLine(args[0]) + "\n")
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
}
