package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/lock"
	"github.com/cloister-wasm/cloister/plugins/store"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

// Plugins are the plugins that a host gets, and those that it does not get.
type Plugins struct {
	// Loaded are first the installed ones, by id, then those of folders.
	Loaded []*plugins.Plugin
	// Refused are installed and enabled plugins that were not loaded: at which step, and
	// why.
	Refused []*trust.Error
}

// Close closes the plugins. Only for who did not hand them on.
func (p *Plugins) Close() error {
	var errs []error
	for _, one := range p.Loaded {
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}

// retire has the plugins closed when their last run has ended.
func (p *Plugins) retire() {
	for _, one := range p.Loaded {
		one.Retire()
	}
}

// LoadPlugins loads the installed plugins and those of folders, as New does, for who
// wants them without a host. Installed ones are held to l, nil for no lock file. One
// that is refused is in Refused and takes no other down; one of a folder that cannot be
// loaded is an error, since a cell would miss its tools. After an error nothing stays
// open.
func LoadPlugins(ctx context.Context, o *Options, l *lock.File) (*Plugins, error) {
	c, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return c.loadPlugins(ctx, l)
}

func (o *Options) loadPlugins(ctx context.Context, l *lock.File) (p *Plugins, err error) {
	p = &Plugins{}
	defer func() {
		if err != nil {
			_ = p.Close() // nobody has used them
			p = nil
		}
	}()
	load := o.Plugins
	load.CacheDir = o.Settings.Places.PluginCache()
	load.Services = o.Settings.Plugins.Services()
	load.AllowUnsignedUnsafe = false
	if err := o.loadInstalled(ctx, load, l, p); err != nil {
		return p, at(StepInstalled, err)
	}
	if err := o.loadFolders(ctx, load, p); err != nil {
		return p, at(StepFolders, err)
	}
	return p, at(StepFolders, errors.Join(plugins.Conflicts(p.Loaded)...))
}

// OpenStore opens the store of installed plugins, or gives nil where there is none:
// looking for something must not make it.
func OpenStore(p settings.Places) (*store.Store, error) {
	dir, err := p.StoreDir()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return store.Open(dir, nil)
}

// loadInstalled adds the installed plugins. Where nothing is installed, nothing is
// needed: no policy, no store.
func (o *Options) loadInstalled(ctx context.Context, load plugins.LoadOptions, l *lock.File, p *Plugins) error {
	if o.NoInstalled || o.Settings.Plugins.NoInstalled {
		return nil
	}
	s, err := OpenStore(o.Settings.Places)
	if s == nil || err != nil {
		return err
	}
	now, err := s.Current()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(now.Entries, func(e store.Entry) bool { return !e.Disabled }) {
		return nil
	}
	path, _, err := o.Settings.Places.TrustFile(o.Settings)
	if err != nil {
		return err
	}
	policy, err := trust.LoadPolicy(path)
	if err != nil {
		return err
	}
	loaded, err := s.Load(ctx, policy, l, &load)
	if err != nil {
		return err
	}
	p.Loaded, p.Refused = append(p.Loaded, loaded.Plugins...), loaded.Refused
	return nil
}

// loadFolders adds the plugins of folders. They have no signature, so somebody must have
// said that this is wanted.
func (o *Options) loadFolders(ctx context.Context, load plugins.LoadOptions, p *Plugins) error {
	dirs := slices.Concat(o.Settings.Plugins.Dirs, o.Dirs)
	if len(dirs) == 0 {
		return nil
	}
	if !o.AllowUnsignedUnsafe && !o.Settings.Plugins.AllowUnsignedUnsafe {
		return &UnsignedError{dirs}
	}
	load.AllowUnsignedUnsafe = true
	var errs []error
	for _, dir := range dirs {
		some, faults := loadFolder(ctx, dir, &load)
		p.Loaded = append(p.Loaded, some...)
		errs = append(errs, faults...)
	}
	if len(errs) > 0 {
		return &FoldersError{errs}
	}
	return nil
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
