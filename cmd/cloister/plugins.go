package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/cloister-wasm/cloister/plugins"
)

// loadPlugins loads the plugins of plugins.dirs and of --tool-dir. They come from
// folders and have no signature, so somebody must have said that this is wanted.
// One that cannot be loaded is an error: a cell would miss its tools.
func (f *toolFlags) loadPlugins(ctx context.Context, cfg *config, o plugins.LoadOptions) ([]*plugins.Plugin, error) {
	dirs := slices.Concat(cfg.dirs, f.dirs)
	if len(dirs) == 0 {
		return nil, nil
	}
	if !f.allowUnsigned && !cfg.allowUnsigned {
		hint := "if you trust them, add --allow-unsigned-unsafe, or set plugins.allowUnsignedUnsafe: true in a file that --config names"
		return nil, usageError(errors.New("plugins of folders are development plugins, which nobody has signed, and are not loaded: "+strings.Join(dirs, ", ")), hint)
	}
	o.AllowUnsignedUnsafe = true
	o.CacheDir = pluginCache()
	var loaded []*plugins.Plugin
	var errs []error
	for _, dir := range dirs {
		some, faults := loadFolder(ctx, dir, &o)
		loaded = append(loaded, some...)
		for _, err := range faults {
			errs = append(errs, withProblems(err))
		}
	}
	if len(errs) > 0 {
		for _, p := range loaded {
			errs = append(errs, p.Close())
		}
		return nil, usageError(errors.Join(errs...), "")
	}
	return loaded, nil
}

// loadFolder loads one plugin, or all plugins in the folders of a folder.
func loadFolder(ctx context.Context, dir string, o *plugins.LoadOptions) ([]*plugins.Plugin, []error) {
	if _, err := os.Lstat(filepath.Join(dir, plugins.ManifestFile)); err == nil {
		p, err := plugins.LoadDir(ctx, dir, o)
		if err != nil {
			return nil, []error{err}
		}
		return []*plugins.Plugin{p}, nil
	}
	loaded, errs := plugins.LoadDirs(ctx, dir, o)
	if len(loaded) == 0 && len(errs) == 0 {
		errs = []error{fmt.Errorf("%s holds no plugin: neither %s nor folders with one", dir, plugins.ManifestFile)}
	}
	return loaded, errs
}

// compilePlugins makes the machine code of the plugins that have a tool in the
// run, all at once. Without it the first call of each would pay, within the time
// that the call and the cell may take: seconds, where nothing is cached yet.
func (s *session) compilePlugins(ctx context.Context) error {
	visible := map[string]bool{}
	for _, e := range s.run.Catalog() {
		visible[e.SourceName] = true
	}
	errs := make([]error, len(s.plugins))
	var wg sync.WaitGroup
	for i, p := range s.plugins {
		if visible[p.ID()] {
			wg.Go(func() { errs[i] = p.Compile(ctx) })
		}
	}
	wg.Wait()
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err := errors.Join(errs...); err != nil {
		return usageError(err, "")
	}
	return nil
}

// withProblems adds the list of a manifest's mistakes to an error that only says
// that there are some.
func withProblems(err error) error {
	var me *plugins.ManifestError
	if !errors.As(err, &me) {
		return err
	}
	text := ""
	for _, p := range me.Problems {
		text += "\n  " + p.String()
	}
	if me.More {
		text += "\n  and more"
	}
	return fmt.Errorf("%w%s", err, text)
}

// pluginCache is where plugins' compiled code is kept: beside the engine's.
func pluginCache() string {
	dir := os.Getenv("CLOISTER_CACHE_DIR")
	switch dir {
	case "off":
		return ""
	case "":
		base, err := os.UserCacheDir()
		if err != nil {
			return "" // no home, no cache
		}
		dir = filepath.Join(base, "cloister")
	}
	return filepath.Join(dir, "plugins")
}
