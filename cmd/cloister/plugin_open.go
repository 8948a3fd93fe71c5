package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/internal/safefile"
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/bundle"
	"github.com/cloister-wasm/cloister/plugins/store"
)

// Kinds of places that a plugin is opened from.
const (
	placeFile     = "file"
	placeLayout   = "layout"
	placeFolder   = "folder"
	placeRegistry = "registry"
	placeStore    = "installed"
)

// opened is a plugin as it was found somewhere. Nothing about it is verified but
// its bounds, its digests and its form.
type opened struct {
	// name is what the user typed, or the file that a folder stands for.
	name  string
	place string
	// artifact is never nil. That of a folder that was not packed is what packing
	// its files would give; nobody has signed it.
	artifact *bundle.Artifact
}

// open finds a plugin: a file, a folder, a reference, or the id of an installed
// one. What exists as a file or folder is never looked for elsewhere.
func (a *app) open(ctx context.Context, arg string, remote *remoteFlags) (*opened, error) {
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		return openFolder(arg)
	case err == nil:
		artifact, err := bundle.Read(arg)
		return &opened{arg, placeFile, artifact}, err
	case !errors.Is(err, fs.ErrNotExist), looksLikePath(arg):
		return nil, usageError(err, "FILE is a .cloister file; cloister plugin build makes one")
	case !strings.Contains(arg, "/"):
		return openInstalled(arg)
	}
	r, done := remote.open(a)
	defer done()
	artifact, err := r.Pull(ctx, arg)
	return &opened{arg, placeRegistry, artifact}, err
}

// looksLikePath tells a file that is missing from a reference or an id.
func looksLikePath(arg string) bool {
	return filepath.IsAbs(arg) || strings.HasPrefix(arg, ".") || strings.HasSuffix(arg, bundleExtension) ||
		strings.ContainsRune(arg, '\\') || strings.HasSuffix(arg, "/")
}

// bundleExtension ends the names of bundles.
const bundleExtension = ".cloister"

// openFolder opens an OCI layout, or what the folder of a plugin was built into.
func openFolder(dir string) (*opened, error) {
	if _, err := os.Lstat(filepath.Join(dir, "oci-layout")); err == nil {
		artifact, err := bundle.Read(dir)
		return &opened{dir, placeLayout, artifact}, err
	}
	name, err := builtBundle(dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(name); err == nil {
		artifact, err := bundle.Read(name)
		return &opened{name, placeFile, artifact}, err
	}
	if _, err := os.Lstat(filepath.Join(dir, plugins.WasmFile)); err != nil {
		return nil, usageError(fmt.Errorf("%s is not built: there is neither %s nor %s in it", dir, filepath.Join(distDir, filepath.Base(name)), plugins.WasmFile),
			"cloister plugin build "+dir)
	}
	files, err := readPluginFiles(dir, dir)
	if err != nil {
		return nil, err
	}
	artifact, err := bundle.Build(files)
	return &opened{dir, placeFolder, artifact}, err
}

// distDir is the folder in the folder of a plugin that a build writes to.
const distDir = "dist"

// plainName is a text that may be part of a file's name.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+_-]{0,127}$`)

// builtBundle is where a build puts the bundle of a plugin's folder, whether it is
// there or not.
func builtBundle(dir string) (string, error) {
	text, err := readSourceManifest(dir)
	if err != nil {
		return "", err
	}
	var m struct{ ID, Version string }
	if err := json.Unmarshal(text, &m); err != nil || !plainName.MatchString(m.ID) || !plainName.MatchString(m.Version) {
		return "", usageError(fmt.Errorf("%s has no id and version that can be read", filepath.Join(dir, plugins.ManifestFile)), "cloister plugin build "+dir+" lists its mistakes")
	}
	return filepath.Join(dir, distDir, bundleName(m.ID, m.Version)), nil
}

// readSourceManifest reads the manifest in the folder of a plugin.
func readSourceManifest(dir string) ([]byte, error) {
	text, err := readRegular(dir, plugins.ManifestFile, plugins.MaxManifestBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, usageError(fmt.Errorf("%s is no plugin: there is no %s in it", dir, plugins.ManifestFile), "cloister plugin new makes a folder to start from")
	case err != nil:
		return nil, usageError(err, "")
	}
	return text, nil
}

// bundleName is the name of a bundle's file.
func bundleName(id, version string) string { return id + "-" + version + bundleExtension }

// readPluginFiles reads what a bundle is made of: manifest and module from one
// folder, the texts for people from another.
func readPluginFiles(built, texts string) (bundle.Files, error) {
	var f bundle.Files
	for _, file := range []struct {
		to        *[]byte
		dir, name string
		most      int64
		optional  bool
	}{
		{&f.Manifest, built, plugins.ManifestFile, bundle.MaxManifestBytes, false},
		{&f.Wasm, built, plugins.WasmFile, bundle.MaxWasmBytes, false},
		{&f.Readme, texts, "README.md", bundle.MaxReadmeBytes, true},
		{&f.License, texts, "LICENSE", bundle.MaxLicenseBytes, true},
	} {
		data, err := readRegular(file.dir, file.name, file.most)
		if file.optional && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return f, usageError(err, "")
		}
		*file.to = data
	}
	return f, nil
}

// readRegular reads a regular file of a folder.
func readRegular(dir, name string, most int64) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	data, err := safefile.ReadIn(root, name, most)
	if err != nil {
		err = fmt.Errorf("%s: %w", dir, err)
	}
	return data, errors.Join(err, root.Close())
}

// openInstalled opens what is installed under an id now.
func openInstalled(id string) (*opened, error) {
	const hint = "give a .cloister file, a folder, a reference such as registry.example/acme/hello:1.2.0, or the id of an installed plugin"
	dir, err := storeDir()
	if err != nil {
		return nil, err
	}
	missing := usageError(fmt.Errorf("%s is neither a file or folder nor the id of an installed plugin", id), hint)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, missing // looking for something must not make a store
	}
	s, err := store.Open(dir, nil)
	if err != nil {
		return nil, err
	}
	now, err := s.Current()
	if err != nil {
		return nil, err
	}
	for _, e := range now.Entries {
		if e.ID == id {
			artifact, err := s.Artifact(e.Digest)
			return &opened{id, placeStore, artifact}, err
		}
	}
	return nil, missing
}

// completePlugins offers bundles and folders, for some arguments.
func completePlugins(most int) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return []cobra.Completion{strings.TrimPrefix(bundleExtension, ".")}, cobra.ShellCompDirectiveFilterFileExt
	}
}

// completeFolder offers folders, for one argument.
func completeFolder(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// oneFolder takes at most one argument.
func oneFolder(command string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > 1 {
			return fmt.Errorf("%s takes one DIR and was given %d", command, len(args))
		}
		return nil
	}
}

// folderOf is the folder that a command was given, or the working folder.
func folderOf(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return filepath.Clean(args[0])
}
