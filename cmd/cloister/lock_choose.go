package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"

	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/lock"
)

// lockChoice is the lock file that applies.
type lockChoice struct {
	path string
	// named: somebody asked for this very file, so that it has to be there.
	named bool
	// found: the choice is that of a configuration file that nobody named.
	found bool
}

// chooseLock finds the lock file: that of the flag, of CLOISTER_LOCK, of the
// configuration, the one beside the configuration, or that of the data folder. The
// last one need not be there.
func chooseLock(flag string, cfg *config) (lockChoice, error) {
	if flag != "" {
		return lockChoice{path: flag, named: true}, nil
	}
	if env := os.Getenv("CLOISTER_LOCK"); env != "" {
		return lockChoice{path: env, named: true}, nil
	}
	if cfg != nil && cfg.plugins.lock != "" {
		return lockChoice{cfg.plugins.lock, true, cfg.found}, nil
	}
	if cfg != nil && cfg.file != "" {
		beside := besideFile(cfg.file, lock.FileName)
		if _, err := os.Lstat(beside); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return lockChoice{beside, true, cfg.found}, nil
		}
	}
	path, err := dataLockPath()
	return lockChoice{path: path}, err
}

// loadLock reads the lock file that applies; nil if there is none.
func loadLock(flag string, cfg *config) (*lock.File, string, error) {
	choice, err := chooseLock(flag, cfg)
	if err != nil {
		return nil, "", err
	}
	l, err := lock.Load(choice.path)
	if errors.Is(err, fs.ErrNotExist) {
		if choice.named {
			return nil, "", usageError(fmt.Errorf("the lock file is not there: %w", err), "cloister lock accept --file "+choice.path+" makes it")
		}
		return nil, "", nil
	}
	if err != nil {
		return nil, "", usageError(err, "")
	}
	if choice.found {
		l, err = narrowLock(l)
	}
	return l, choice.path, err
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
