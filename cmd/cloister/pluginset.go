package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"

	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/lock"
	"github.com/cloister-wasm/cloister/plugins/store"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

// pluginSet is the plugins that a run gets, and those that it does not get.
type pluginSet struct {
	plugins []*plugins.Plugin
	// refused are installed and enabled plugins that were not loaded.
	refused []*trust.Error
	// lock is what the tools are compared with, nil for nothing; lockPath is its
	// file.
	lock     *lock.File
	lockPath string
}

// close closes the plugins. What fails to close has done its work.
func (s *pluginSet) close() {
	for _, p := range s.plugins {
		_ = p.Close() // see above
	}
	s.plugins = nil
}

// loadSet loads the plugins of folders and the installed ones.
func (f *toolFlags) loadSet(ctx context.Context, cfg *settings.Settings, o plugins.LoadOptions) (set *pluginSet, err error) {
	set = &pluginSet{}
	defer func() {
		if err != nil {
			set.close()
			set = nil
		}
	}()
	if set.lock, set.lockPath, err = loadLock(f.lock, cfg); err != nil {
		return set, err
	}
	if err := f.fill(ctx, cfg, o, set); err != nil {
		return set, err
	}
	return set, set.exempt()
}

// fill loads the plugins. After an error those that were loaded are in the set.
func (f *toolFlags) fill(ctx context.Context, cfg *settings.Settings, o plugins.LoadOptions, set *pluginSet) error {
	o.CacheDir = pluginCache()
	o.Services = cfg.Plugins.Services()
	if err := f.loadInstalled(ctx, cfg, o, set); err != nil {
		return err
	}
	developed, err := f.loadPlugins(ctx, cfg, o)
	set.plugins = append(set.plugins, developed...)
	if err != nil {
		return err
	}
	return conflictsOf(set.plugins)
}

// conflictsOf says which plugin of a folder takes a name of another plugin.
func conflictsOf(ps []*plugins.Plugin) error {
	errs := plugins.Conflicts(ps)
	if len(errs) == 0 {
		return nil
	}
	hint := ""
	var ce *plugins.ConflictError
	if errors.As(errs[0], &ce) && !ce.Owner.Unsigned() {
		hint = "--no-installed leaves the installed plugins out, cloister plugin disable " + ce.Owner.ID() + " that one"
	}
	return usageError(errors.Join(errs...), hint)
}

// exempt lets plugins under development in that the lock file says nothing about:
// they change with every build, and somebody said that they are wanted as they are.
// The lock file of what is installed is not about them; a lock file of one's own is
// where it knows their tools.
func (s *pluginSet) exempt() error {
	if s.lock == nil {
		return nil
	}
	own, err := dataLockPath()
	if err != nil {
		return err
	}
	for _, p := range s.plugins {
		if !p.Unsigned() || s.lockPath != own && len(s.lock.PluginTools(p.ID())) > 0 {
			continue
		}
		s.lock = s.lock.Clone()
		maps.Copy(s.lock.Tools, toolsOf(p.Manifest()))
	}
	return nil
}

// loadInstalled adds the installed plugins. Where nothing is installed, nothing is
// needed: no policy, no store.
func (f *toolFlags) loadInstalled(ctx context.Context, cfg *settings.Settings, o plugins.LoadOptions, set *pluginSet) error {
	if f.noInstalled || cfg.Plugins.NoInstalled {
		return nil
	}
	s, err := existingStore()
	if s == nil || err != nil {
		return operatorFault(ctx, err)
	}
	now, err := s.Current()
	if err != nil {
		return operatorFault(ctx, err)
	}
	enabled := false
	for _, e := range now.Entries {
		enabled = enabled || !e.Disabled
	}
	if !enabled {
		return nil
	}
	policy, err := loadPolicy(f.trust, cfg)
	if err != nil {
		var ee *exitError
		if err = operatorFault(ctx, err); errors.As(err, &ee) && errors.Is(err, trust.ErrNoPolicy) {
			ee.hint += "; --no-installed leaves installed plugins out"
		}
		return err
	}
	loaded, err := s.Load(ctx, policy, set.lock, &o)
	if err != nil {
		return operatorFault(ctx, err)
	}
	set.plugins, set.refused = append(set.plugins, loaded.Plugins...), loaded.Refused
	return nil
}

// notes says on standard error what is not there and why, or, for those who want
// all of it, that this is an error.
func (s *session) notes(a *app, strict bool) error {
	var all []string
	for _, e := range s.set.refused {
		all = append(all, refusalLine(e))
	}
	all = append(all, mcpNotes(s.host.MCPStatus(), s.mcp.manager, s.cfg)...)
	all = append(all, driftNotes(s.host.Drift())...)
	if len(all) == 0 {
		return nil
	}
	if strict {
		return usageError(fmt.Errorf("not all plugins and MCP servers can be used as they are\n%s", strings.Join(all, "\n")), "without --strict the run goes on without them")
	}
	for _, note := range all {
		a.complain("note: "+note, "")
	}
	return nil
}

// refusalLine names a plugin that was not loaded, at which step and why.
func refusalLine(e *trust.Error) string {
	return fmt.Sprintf("plugin not loaded: %s, refused at %s, %s: %s", e.Plugin, e.Step, e.State, e.Detail)
}

// loadPolicy reads the trust policy that applies: that of the flag, of
// CLOISTER_TRUST, of the configuration, or the user's own.
func loadPolicy(flag string, cfg *settings.Settings) (*trust.Policy, error) {
	path, err := policyPath(flag, cfg)
	if err != nil {
		return nil, err
	}
	return trust.LoadPolicy(path)
}

func policyPath(flag string, cfg *settings.Settings) (string, error) {
	path, _, err := settings.Places{Trust: flag}.TrustFile(cfg)
	return path, placeFault(err)
}

// existingStore opens the store of installed plugins, if there is one: looking for
// something must not make it.
func existingStore() (*store.Store, error) {
	dir, err := storeDir()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return store.Open(dir, nil)
}
