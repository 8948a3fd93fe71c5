package main

import (
	"errors"
	"io/fs"

	"github.com/cloister-wasm/cloister/host/setup"
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/lock"
	"github.com/cloister-wasm/cloister/plugins/store"
)

// openDataLock reads the lock file of what is installed. Where there is none nobody
// agreed to anything: what was installed before stays refused until somebody does.
func openDataLock() (*lock.File, error) {
	path, err := dataLockPath()
	if err != nil {
		return nil, err
	}
	l, err := lock.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return lock.New(), nil
	}
	return l, err
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
