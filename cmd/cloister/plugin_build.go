package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/safefile"
	"github.com/cloister-wasm/cloister/internal/scaffold"
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/bundle"
)

const buildLong = `Builds a plugin from its folder, reproducibly: the same sources and tools give the
same bytes, and the same digest. The folder holds cloister.plugin.json, in which tools
may lack what the code says by itself (description, parameters, returns), the sources,
and README.md and LICENSE if you like. All mistakes of the manifest are reported at
once. In the folder dist it writes:

  plugin.wasm             the module
  cloister.plugin.json    the manifest, complete
  ID-VERSION.cloister     the bundle of all, to sign and to push

Sources are Go, AssemblyScript or C, as cloister plugin new lays them out. For other
languages build the module yourself and name it with --wasm.`

func (a *app) pluginBuild() *cobra.Command {
	asJSON, wasm := false, ""
	cmd := &cobra.Command{
		Use:   "build [DIR]",
		Short: "Build a plugin and pack it into a bundle",
		Long:  buildLong,
		Example: `  cloister plugin build
  cloister plugin build hello
  cloister plugin build --wasm target/wasm32-wasip1/release/hello.wasm`,
		Args: oneFolder("build"),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.buildPlugin(cmd.Context(), folderOf(args), wasm)
			if err != nil {
				return pluginFault(cmd.Context(), err)
			}
			if asJSON {
				return a.printJSON(b)
			}
			return a.write(b.text(a.stdout))
		},
		ValidArgsFunction: completeFolder,
	}
	wasmFlag(cmd, &wasm)
	jsonFlag(cmd, &asJSON)
	return cmd
}

// wasmFlag registers --wasm.
func wasmFlag(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "wasm", "", "take the module in `FILE` instead of compiling the sources")
	mustComplete(cmd.MarkFlagFilename("wasm", "wasm"))
}

// built is what a build made.
type built struct {
	Plugin  string `json:"plugin"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
	Bundle  string `json:"bundle"`
	// Bytes are the sizes of the bundle's file and of what is in it.
	Bytes map[string]int `json:"bytes"`
}

func (b *built) text(s *stream) string {
	return fmt.Sprintf("built   %s %s\ndigest  %s\nbundle  %s (%s)\nsize    %s\n",
		escapeLine(b.Plugin), escapeLine(b.Version), b.Digest, s.text(b.Bundle), fileSize(b.Bytes["bundle"]), escapeLine(sizesText(b.Bytes)))
}

// buildPlugin builds the plugin in a folder and writes its dist. A module that is
// given is not compiled again.
func (a *app) buildPlugin(ctx context.Context, dir, module string) (*built, error) {
	text, err := readSourceManifest(dir)
	if err != nil {
		return nil, err
	}
	// NB: before the sources are compiled, which takes longer than finding a typing error.
	source, err := plugins.ParseSourceManifest(text)
	if err != nil {
		return nil, inManifest(dir, err)
	}
	wasm, err := a.moduleOf(ctx, dir, module)
	if err != nil {
		return nil, err
	}
	description, err := describePlugin(ctx, source, wasm)
	if err != nil {
		return nil, err
	}
	manifest, err := source.Complete(description)
	if err != nil {
		return nil, inManifest(dir, err)
	}
	return pack(dir, manifest, wasm)
}

// moduleOf compiles the sources, or reads the module that was given.
func (a *app) moduleOf(ctx context.Context, dir, module string) ([]byte, error) {
	if module == "" {
		return a.compileSources(ctx, dir)
	}
	wasm, err := readRegular(filepath.Dir(module), filepath.Base(module), bundle.MaxWasmBytes)
	if err != nil {
		return nil, usageError(fmt.Errorf("--wasm: %w", err), "")
	}
	return wasm, nil
}

// compileSources runs the tools of the sources' language. What they say is shown
// when they fail.
func (a *app) compileSources(ctx context.Context, dir string) ([]byte, error) {
	u := &ui{out: a.stdout, err: a.stderr, open: map[string]string{}, noCell: true, progress: a.stderr.tty}
	u.note = "building " + escapeLine(dir)
	done := u.watch(ctx)
	wasm, err := scaffold.Build(ctx, dir, nil)
	done()
	switch {
	case errors.Is(err, scaffold.ErrMissingTool):
		return nil, usageError(err, "")
	case errors.Is(err, scaffold.ErrLanguage):
		return nil, usageError(err, "--wasm FILE takes a module that was built otherwise")
	case errors.Is(err, scaffold.ErrBuild):
		return nil, &exitError{code: exitFailed, err: err}
	}
	return wasm, err
}

// inManifest names the file of mistakes.
func inManifest(dir string, err error) error {
	return usageError(withProblems(fmt.Errorf("%s: %w", filepath.Join(dir, plugins.ManifestFile), err)), "")
}

// describePlugin asks the code what it knows about its tools; nil where it says
// nothing. Imports and exports are checked on the way.
func describePlugin(ctx context.Context, source *plugins.SourceManifest, wasm []byte) (d *guestabi.Description, err error) {
	p, err := plugins.New(source.Written(), wasm, plugins.Origin{Unsigned: true},
		&plugins.LoadOptions{AllowUnsignedUnsafe: true, CacheDir: pluginCache()})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	i, err := p.NewInstance(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer i.Close()
	d, err = i.Describe(ctx)
	if errors.Is(err, plugins.ErrExport) {
		return nil, nil // then the manifest must be complete by itself
	}
	return d, err
}

// pack writes dist: module, manifest and bundle, each whole or not at all.
func pack(dir string, manifest, wasm []byte) (*built, error) {
	dist := filepath.Join(dir, distDir)
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return nil, usageError(err, "")
	}
	for name, data := range map[string][]byte{plugins.ManifestFile: manifest, plugins.WasmFile: wasm} {
		if err := replaceFile(filepath.Join(dist, name), data); err != nil {
			return nil, usageError(err, "")
		}
	}
	files, err := readPluginFiles(dist, dir)
	if err != nil {
		return nil, err
	}
	artifact, err := bundle.Build(files)
	if err != nil {
		return nil, err
	}
	m, err := artifact.Manifest()
	if err != nil {
		return nil, err
	}
	b := &built{Plugin: m.ID, Version: m.Version, Digest: artifact.Digest(), Bundle: filepath.Join(dist, bundleName(m.ID, m.Version))}
	if err := keepSignatures(b.Bundle, artifact); err != nil {
		return nil, err
	}
	if err := artifact.WriteFile(b.Bundle); err != nil {
		return nil, err
	}
	info, err := os.Stat(b.Bundle)
	if err != nil {
		return nil, usageError(err, "")
	}
	b.Bytes = map[string]int{"bundle": int(info.Size()), "manifest": len(files.Manifest), "wasm": len(files.Wasm),
		"readme": len(files.Readme), "license": len(files.License)}
	return b, nil
}

// keepSignatures takes over the signatures of the bundle that is there, if it is the
// same but for them: building again what was signed must not unsign it.
func keepSignatures(name string, artifact *bundle.Artifact) error {
	before, err := bundle.Read(name)
	if err != nil || before.Digest() != artifact.Digest() {
		return nil // there is none, or another, which gives way
	}
	for _, s := range before.Signatures() {
		if err := artifact.AddSignature(s); err != nil {
			return err
		}
	}
	return nil
}

// replaceFile writes a file by one rename, unless it holds the same already.
func replaceFile(name string, data []byte) error {
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, data) {
		return nil
	}
	return safefile.ReplaceBytes(name, 0o644, data)
}
