package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"

	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/lock"
)

// lockFileOf finds the lock file that applies.
func lockFileOf(flag string, cfg *settings.Settings) (settings.LockFile, error) {
	f, err := settings.Places{Lock: flag}.LockFile(cfg)
	return f, placeFault(err)
}

// loadLock reads the lock file that applies; nil if there is none.
func loadLock(flag string, cfg *settings.Settings) (*lock.File, string, error) {
	choice, err := lockFileOf(flag, cfg)
	if err != nil {
		return nil, "", err
	}
	l, err := lock.Load(choice.Path)
	if errors.Is(err, fs.ErrNotExist) {
		if choice.Named {
			return nil, "", usageError(fmt.Errorf("the lock file is not there: %w", err), "cloister lock accept --file "+choice.Path+" makes it")
		}
		return nil, "", nil
	}
	if err != nil {
		return nil, "", usageError(err, "")
	}
	if choice.Found {
		l, err = narrowLock(l)
	}
	return l, choice.Path, err
}

// narrowLock takes out of a lock file which lay in the working folder what the
// user's own does not agree to: a folder that the user happens to stand in can ask
// for less than the user agreed to, never for more.
func narrowLock(found *lock.File) (*lock.File, error) {
	path, err := dataLockPath()
	if err != nil {
		return nil, err
	}
	own, err := lock.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	if err != nil {
		return nil, usageError(err, "")
	}
	signed := map[string]bool{}
	for _, l := range []*lock.File{found, own} {
		for id := range l.Plugins {
			signed[id] = true
		}
	}
	maps.DeleteFunc(found.Plugins, func(id string, p lock.Plugin) bool { return own.CheckPlugin(id, p.Digest, p.Signer) != nil })
	maps.DeleteFunc(found.Tools, func(id string, t lock.Tool) bool {
		// Tools of plugins under development stay: the user's file is not about them. A
		// signed plugin that is in neither file is refused as a whole.
		return (signed[lock.PluginOf(id)] || lock.PluginOf(id) == "") && own.CheckTool(id, t) != nil
	})
	return found, nil
}

// toolID is the id of a plugin's tool in the catalog.
func toolID(plugin, tool string) string {
	id, err := catalog.ID(catalog.SourceCloister, plugin, tool)
	if err != nil {
		panic("cloister: " + err.Error()) // the manifest was checked
	}
	return id
}

// toolsOf are the lock entries of a plugin's tools.
func toolsOf(m *plugins.Manifest) map[string]lock.Tool {
	tools := map[string]lock.Tool{}
	for _, t := range m.Tools {
		tools[toolID(m.ID, t.Name)] = lock.HashTool(t.Name, t.Description, t.Parameters, t.Returns)
	}
	return tools
}
