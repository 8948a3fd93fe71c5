package main

import (
	"errors"
	"io/fs"

	"github.com/cloister-wasm/cloister/host/setup"
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/lock"
	"github.com/cloister-wasm/cloister/plugins/store"
)

// openDataLock reads the lock file of what is installed. Where there is none, what is
// installed was never locked, and that is what it would have: otherwise the first
// plugin that is written down would shut out all others.
func openDataLock() (*lock.File, error) {
	path, err := dataLockPath()
	if err != nil {
		return nil, err
	}
	l, err := lock.Load(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return l, err
	}
	l = lock.New()
	s, err := existingStore()
	if s == nil || err != nil {
		return l, err
	}
	now, err := s.Current()
	if errors.Is(err, store.ErrDamaged) {
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	for i := range now.Entries {
		// One whose files are damaged is refused when it is loaded, and has to be
		// installed again anyway.
		if m, err := manifestOf(s, &now.Entries[i]); err == nil {
			takePlugin(l, &now.Entries[i], m)
		}
	}
	return l, nil
}

// drifted says whether the lock file does not have the plugin as it is.
func drifted(l *lock.File, e *store.Entry, m *plugins.Manifest) bool {
	if l.CheckPlugin(e.ID, e.Digest, e.Signer) != nil {
		return true
	}
	for id, t := range setup.LockTools(m) {
		if l.CheckTool(id, t) != nil {
			return true
		}
	}
	return false
}

// changeDataLock changes the lock file of what is installed, while no other process
// does.
func changeDataLock(change func(*lock.File)) (err error) {
	path, err := dataLockPath()
	if err != nil {
		return err
	}
	unlock, err := lockFile(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	l, err := openDataLock()
	if err != nil {
		return err
	}
	change(l)
	return l.Save(path)
}

// takePlugin writes a plugin and its tools down.
func takePlugin(l *lock.File, e *store.Entry, m *plugins.Manifest) {
	dropPlugin(l, e.ID)
	l.Plugins[e.ID] = lock.Plugin{Version: e.Version, Digest: e.Digest, Publisher: e.Publisher, Signer: e.Signer}
	for id, t := range setup.LockTools(m) {
		l.Tools[id] = t
	}
}

// dropPlugin forgets a plugin and its tools.
func dropPlugin(l *lock.File, id string) {
	delete(l.Plugins, id)
	for _, tool := range l.PluginTools(id) {
		delete(l.Tools, tool)
	}
}
