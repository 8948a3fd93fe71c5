package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/internal/safefile"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

const keygenLong = `Makes a key pair to sign plugins with: NAME.key, which is private and readable by
you alone, and NAME.pub, which you give to those who are to trust you. Files that
are there are never overwritten.

The private key is encrypted with a password, in the format that cosign uses:
that of --password-file, else that of CLOISTER_KEY_PASSWORD, else you are asked
twice at the terminal. --no-password leaves it plain, which whoever reads the file
can sign with.`

type keygenFlags struct {
	out      string
	ed25519  bool
	json     bool
	password passwordFlags
}

func (a *app) pluginKeygen() *cobra.Command {
	f := &keygenFlags{}
	cmd := &cobra.Command{
		Use:   "keygen",
		Short: "Make a key pair to sign plugins with",
		Long:  keygenLong,
		Example: `  cloister plugin keygen
  cloister plugin keygen --out acme.key
  CLOISTER_KEY_PASSWORD=... cloister plugin keygen --out ci.key`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return pluginFault(cmd.Context(), a.keygen(cmd.Context(), f))
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.out, "out", "cloister.key", "`FILE` of the private key; the public one is beside it, ending in .pub")
	fs.BoolVar(&f.ed25519, "ed25519", false, "an Ed25519 key instead of ECDSA P-256")
	f.password.register(cmd)
	fs.BoolVar(&f.password.none, "no-password", false, "do not encrypt the private key")
	jsonFlag(cmd, &f.json)
	return cmd
}

func (a *app) keygen(ctx context.Context, f *keygenFlags) error {
	base := strings.TrimSuffix(f.out, trust.PrivateKeySuffix)
	if base == f.out || base == "" || strings.HasSuffix(base, string(os.PathSeparator)) {
		return usageError(fmt.Errorf("--out %s does not end in a name and %s", f.out, trust.PrivateKeySuffix), "such as --out acme.key")
	}
	// Before the password is asked for: nobody should type it twice for nothing.
	for _, name := range []string{f.out, base + trust.PublicKeySuffix} {
		if _, err := os.Lstat(name); err == nil {
			return usageError(fmt.Errorf("%s is there already, and a key is never overwritten", name), "choose another name with --out, or move it away")
		}
	}
	password, err := f.password.forNewKey(ctx, a)
	if err != nil {
		return err
	}
	kind := trust.KeyECDSAP256
	if f.ed25519 {
		kind = trust.KeyEd25519
	}
	private, public, err := trust.GenerateKey(kind, password)
	if err != nil {
		return err
	}
	fingerprint, err := trust.Fingerprint(string(public))
	if err != nil {
		return err
	}
	if err := trust.WriteKeys(base, private, public); err != nil {
		return err
	}
	if f.json {
		return a.printJSON(map[string]any{"private": f.out, "public": base + trust.PublicKeySuffix,
			"kind": kind, "fingerprint": fingerprint, "encrypted": password != nil})
	}
	note := "encrypted; keep it and its password"
	if password == nil {
		note = "NOT encrypted; whoever reads it signs as you"
	}
	return a.write(fmt.Sprintf("private      %s (%s)\npublic       %s (for those who are to trust you)\nfingerprint  %s\n",
		a.stdout.text(f.out), note, a.stdout.text(base+trust.PublicKeySuffix), fingerprint))
}

// passwordFlags say where the password of a private key is from.
type passwordFlags struct {
	file string
	none bool
}

func (f *passwordFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "password-file", "", "the first line of `FILE` is the password of the private key; - is standard input (default: $CLOISTER_KEY_PASSWORD, else you are asked)")
	mustComplete(cmd.MarkFlagFilename("password-file"))
}

const passwordHint = "give the password with --password-file FILE or CLOISTER_KEY_PASSWORD"

// given is the password of the flag or of the environment; nil if there is neither.
func (f *passwordFlags) given(stdin io.Reader) ([]byte, error) {
	if f.file == "" {
		if p := os.Getenv("CLOISTER_KEY_PASSWORD"); p != "" {
			return []byte(p), nil
		}
		return nil, nil
	}
	from := stdin
	if f.file != "-" {
		file, err := os.Open(f.file)
		if err != nil {
			return nil, usageError(fmt.Errorf("--password-file: %w", err), "")
		}
		defer file.Close()
		from = file
	}
	return readSecret(from, "--password-file "+f.file, trust.MaxPasswordBytes)
}

// readSecret reads the one line of a file that holds a secret.
func readSecret(from io.Reader, what string, most int64) ([]byte, error) {
	line, err := safefile.ReadLine(from, most)
	if err != nil {
		hint := ""
		if errors.Is(err, safefile.ErrMoreLines) {
			hint = "write the password, and nothing else"
		}
		return nil, usageError(fmt.Errorf("%s: %w", what, err), hint)
	}
	return line, nil
}

// forNewKey gives the password of a new key; nil for none, which must be asked for.
func (f *passwordFlags) forNewKey(ctx context.Context, a *app) ([]byte, error) {
	password, err := f.given(a.stdin)
	switch {
	case err != nil:
		return nil, err
	case f.none && f.file != "":
		return nil, usageError(errors.New("--no-password and --password-file contradict each other"), "")
	case f.none:
		return nil, nil
	case password != nil:
		return password, nil
	}
	first, err := a.askSecret(ctx, "Password for the new key: ", passwordHint+"; --no-password makes a key without")
	if err != nil {
		return nil, err
	}
	if len(first) == 0 {
		return nil, usageError(errors.New("the password is empty"), "--no-password makes a key without a password")
	}
	second, err := a.askSecret(ctx, "Again: ", passwordHint)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(first, second) {
		return nil, usageError(errors.New("the two passwords differ"), "")
	}
	return first, nil
}

// load reads a private key, and asks for its password if it has one that was not
// given.
func (f *passwordFlags) load(ctx context.Context, a *app, file string) (*trust.SigningKey, error) {
	// NB: an unencrypted key must open although a password for others is in the
	// environment, so the first attempt is without.
	key, err := trust.LoadKeyFile(file, nil)
	if err == nil && f.file != "" {
		return nil, usageError(fmt.Errorf("%s is not encrypted", file), "leave --password-file out")
	}
	if !errors.Is(err, trust.ErrPassword) {
		return key, err
	}
	password, err := f.given(a.stdin)
	if err != nil {
		return nil, err
	}
	if password == nil {
		if password, err = a.askSecret(ctx, "Password of "+escapeLine(file)+": ", file+" is encrypted; "+passwordHint); err != nil {
			return nil, err
		}
	}
	key, err = trust.LoadKeyFile(file, password)
	if errors.Is(err, trust.ErrPassword) {
		return nil, usageError(err, passwordHint)
	}
	return key, err
}

// askSecret asks for one line that is not shown. Where nobody can answer it is an
// error with the hint.
func (a *app) askSecret(ctx context.Context, question, hint string) ([]byte, error) {
	fd := int(a.stdin.Fd())
	if !a.interactive() {
		return nil, usageError(errors.New("a password is needed, and there is no terminal to ask at"), hint)
	}
	state, err := term.GetState(fd)
	if err != nil {
		return nil, &exitError{code: exitInternal, err: fmt.Errorf("asking for a password: %w", err)}
	}
	secret, err := a.ask(ctx, question, func() ([]byte, error) { return term.ReadPassword(fd) })
	// Without standard error there is nobody to tell.
	_, _ = io.WriteString(a.stderr, "\n")
	if ctx.Err() != nil {
		_ = term.Restore(fd, state) // the best that can be done on the way out
	}
	if err != nil {
		return nil, noAnswer(ctx, err, hint)
	}
	return secret, nil
}

// askLine asks for one line.
func (a *app) askLine(ctx context.Context, question, hint string) (string, error) {
	if !a.interactive() {
		return "", usageError(errors.New("there is no terminal to ask at"), hint)
	}
	line, err := a.ask(ctx, question, func() ([]byte, error) { return readLine(a.stdin) })
	if err != nil {
		return "", noAnswer(ctx, err, hint)
	}
	return strings.TrimSpace(string(line)), nil
}

// interactive says whether somebody can see a question and answer it.
func (a *app) interactive() bool {
	return a.stderr.tty && term.IsTerminal(int(a.stdin.Fd()))
}

// ask puts a question and waits for the answer or for the end of the context. The
// read of a terminal cannot be cancelled: it ends with the program.
func (a *app) ask(ctx context.Context, question string, read func() ([]byte, error)) ([]byte, error) {
	_, _ = io.WriteString(a.stderr, question) // without standard error there is no question
	type answer struct {
		text []byte
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		text, err := read()
		answers <- answer{text, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case got := <-answers:
		return got.text, got.err
	}
}

func noAnswer(ctx context.Context, err error, hint string) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	return usageError(fmt.Errorf("there was no answer: %w", err), hint)
}

// readLine reads up to a line feed, and not a byte more: what follows is for the
// next question.
func readLine(from io.Reader) ([]byte, error) {
	var line []byte
	for b := make([]byte, 1); len(line) < settings.MaxSecretBytes; {
		switch _, err := io.ReadFull(from, b); {
		case err != nil:
			return nil, err
		case b[0] == '\n':
			return line, nil
		}
		line = append(line, b[0])
	}
	return nil, errors.New("the line is too long")
}
