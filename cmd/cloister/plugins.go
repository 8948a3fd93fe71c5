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

	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/plugins"
)

// loadPlugins loads the plugins of plugins.dirs and of --tool-dir. They come from
// folders and have no signature, so somebody must have said that this is wanted.
// One that cannot be loaded is an error: a cell would miss its tools.
func (f *toolFlags) loadPlugins(ctx context.Context, cfg *settings.Settings, o plugins.LoadOptions) ([]*plugins.Plugin, error) {
	dirs := slices.Concat(cfg.Plugins.Dirs, f.dirs)
	if len(dirs) == 0 {
		return nil, nil
	}
	if !f.allowUnsigned && !cfg.Plugins.AllowUnsignedUnsafe {
		hint := "if you trust them, add --allow-unsigned-unsafe, or set plugins.allowUnsignedUnsafe: true in a file that --config names"
		return nil, usageError(errors.New("plugins of folders are development plugins, which nobody has signed, and are not loaded: "+strings.Join(dirs, ", ")), hint)
	}
	o.AllowUnsignedUnsafe = true
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

// compilePlugins makes the machine code of the plugins that the cell is going to
// need, all at once: those whose tools or globals it names, and those that compute
// a scope before the cell starts. Without it their first call would pay, within the
// time that a turn of the cell may take: seconds, where nothing is cached yet.
//
// The others are compiled at their first call, if there is one: with many plugins
// installed a cell that uses one pays for that one. The time that a plugin's call
// may take does not begin before it is compiled.
func (s *session) compilePlugins(ctx context.Context, code string) error {
	visible := map[string]bool{}
	for _, e := range s.run.Catalog() {
		visible[e.ID] = true
	}
	errs := make([]error, len(s.set.plugins))
	var wg sync.WaitGroup
	for i, p := range s.set.plugins {
		if needed(p, visible, code) {
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

// needed guesses whether a cell is going to call a plugin. A wrong guess costs
// time and nothing else.
func needed(p *plugins.Plugin, visible map[string]bool, code string) bool {
	m := p.Manifest()
	for _, t := range m.Tools {
		if visible[toolID(m.ID, t.Name)] && strings.Contains(code, t.Name) {
			return true
		}
	}
	for i := range m.Namespaces {
		n := &m.Namespaces[i]
		if shown(m.ID, n, visible) && (n.ScopeExport || strings.Contains(code, n.GlobalName)) {
			return true
		}
	}
	return false
}

// shown says whether cells get a namespace: all of its tools are in the catalog.
func shown(plugin string, n *plugins.Namespace, visible map[string]bool) bool {
	for _, name := range n.RequiredToolNames {
		if !visible[toolID(plugin, name)] {
			return false
		}
	}
	return len(n.RequiredToolNames) > 0
}

// withProblems adds the list of a manifest's mistakes to an error that only says
// that there are some.
func withProblems(err error) error {
	var me *plugins.ManifestError
	if !errors.As(err, &me) || len(me.Problems) > 0 && strings.Contains(err.Error(), me.Problems[0].String()) {
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
