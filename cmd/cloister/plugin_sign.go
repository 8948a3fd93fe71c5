package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/bundle"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

const signLong = `Signs a plugin: the digest of its bundle, which covers manifest, module and texts.
The signature is added to the .cloister file, to the OCI layout, or, for a REF,
beside the plugin in its registry, where tags stay as they are. A folder of a plugin
stands for the bundle that a build put into its dist. Other signatures are kept.

The signature is what "cosign sign --key" makes, and "cosign verify --key" accepts
it. The password of the private key is that of --password-file, else that of
CLOISTER_KEY_PASSWORD, else you are asked.`

type signFlags struct {
	key      string
	json     bool
	password passwordFlags
	remote   remoteFlags
}

func (a *app) pluginSign() *cobra.Command {
	f := &signFlags{}
	cmd := &cobra.Command{
		Use:   "sign [FILE|DIR|REF] --key FILE.key",
		Short: "Sign a plugin",
		Long:  signLong,
		Example: `  cloister plugin sign --key acme.key        # what build made of the folder here
  cloister plugin sign dist/acme.hello-0.1.0.cloister --key acme.key
  cloister plugin sign registry.example/acme/hello:0.1.0 --key acme.key`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.remote.quiet = f.json
			target := "."
			if len(args) == 1 {
				target = args[0]
			}
			return pluginFault(cmd.Context(), a.sign(cmd.Context(), f, target))
		},
		ValidArgsFunction: completePlugins(1),
	}
	cmd.Flags().StringVar(&f.key, "key", "", "private key `FILE`, as cloister plugin keygen makes it")
	mustComplete(cmd.MarkFlagFilename("key", "key"))
	f.password.register(cmd)
	f.remote.register(cmd)
	jsonFlag(cmd, &f.json)
	return cmd
}

func (a *app) sign(ctx context.Context, f *signFlags, arg string) error {
	if f.key == "" {
		return usageError(errors.New("sign needs a private key: --key FILE"), "cloister plugin keygen makes one")
	}
	target, err := a.open(ctx, arg, &f.remote)
	if err != nil {
		return err
	}
	switch target.place {
	case placeFolder:
		return usageError(fmt.Errorf("%s holds no bundle to sign", target.name), "cloister plugin build "+target.name)
	case placeStore:
		return usageError(errors.New("what is installed is signed already, and stays as it is"), "sign the file or the reference that it is from")
	}
	// NB: a signature under what is not even a plugin would be of use to nobody.
	m, err := target.artifact.Manifest()
	if err != nil {
		return err
	}
	key, err := f.password.load(ctx, a, f.key)
	if err != nil {
		return err
	}
	if signedWith(ctx, target.artifact, key) {
		a.complain("note: it is signed with this key already", "")
		return a.signed(f, target, m, key, target.name)
	}
	signature, err := trust.Sign(ctx, target.artifact, key)
	if err != nil {
		return err
	}
	if err := target.artifact.AddSignature(signature); err != nil {
		return err
	}
	where, err := a.putBack(ctx, target, &f.remote)
	if err != nil {
		return err
	}
	return a.signed(f, target, m, key, where)
}

// signed says what is signed now.
func (a *app) signed(f *signFlags, target *opened, m *plugins.Manifest, key *trust.SigningKey, where string) error {
	digest := target.artifact.Digest()
	if f.json {
		return a.printJSON(map[string]any{"plugin": m.ID, "version": m.Version, "digest": digest,
			"key": key.Fingerprint(), "where": where, "signatures": len(target.artifact.Signatures())})
	}
	return a.write(fmt.Sprintf("signed  %s %s\ndigest  %s\nkey     %s\nin      %s\n",
		m.ID, m.Version, digest, key.Fingerprint(), a.stdout.text(where)))
}

// signedWith says whether there is a good signature by a key. Signing once more
// would only add another that says the same.
func signedWith(ctx context.Context, artifact *bundle.Artifact, key *trust.SigningKey) bool {
	_, err := keyPolicy(artifact, string(key.PublicPEM())).Verify(ctx, artifact)
	return err == nil
}

// putBack writes an artifact with its new signature to where it was, and says where
// that is.
func (a *app) putBack(ctx context.Context, o *opened, remote *remoteFlags) (string, error) {
	switch o.place {
	case placeFile:
		return o.name, o.artifact.WriteFile(o.name)
	case placeLayout:
		return o.name, replaceLayout(o.name, o.artifact)
	}
	ref, err := bundle.ParseReference(o.name)
	if err != nil {
		return "", err
	}
	// By digest: a tag that was moved meanwhile must not be moved back.
	ref.Tag, ref.Digest = "", o.artifact.Digest()
	r, done := remote.open(a)
	defer done()
	_, err = r.Push(ctx, ref.String(), o.artifact)
	return ref.String(), err
}

// replaceLayout puts a layout in the place of another: the old one is there until
// the new one is whole.
func replaceLayout(dir string, artifact *bundle.Artifact) error {
	dir = filepath.Clean(dir)
	aside, err := os.MkdirTemp(filepath.Dir(dir), ".cloister-*")
	if err != nil {
		return err
	}
	fresh, old := filepath.Join(aside, "new"), filepath.Join(aside, "old")
	if err := artifact.WriteLayout(fresh); err != nil {
		return errors.Join(err, os.RemoveAll(aside))
	}
	if err := os.Rename(dir, old); err != nil {
		return errors.Join(err, os.RemoveAll(aside))
	}
	if err := os.Rename(fresh, dir); err != nil {
		// Back to how it was; where that fails too, the text says where it is.
		if back := os.Rename(old, dir); back != nil {
			return fmt.Errorf("%w; the layout is in %s", err, old)
		}
		return errors.Join(err, os.RemoveAll(aside))
	}
	return os.RemoveAll(aside)
}
