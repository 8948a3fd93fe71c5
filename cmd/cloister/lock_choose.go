package main

import (
	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/host/setup"
	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/plugins/lock"
)

// loadLock reads the lock file of the flag, of CLOISTER_LOCK, or that of what is
// installed, which is an empty one if there is none.
func loadLock(flag string) (*lock.File, error) {
	l, err := setup.LoadLock(&settings.Settings{Places: settings.Places{Lock: flag}})
	if err != nil {
		return nil, lockFault(err)
	}
	return l.File, nil
}

// toolID is the id of a plugin's tool in the catalog.
func toolID(plugin, tool string) string {
	id, err := catalog.ID(catalog.SourceCloister, plugin, tool)
	if err != nil {
		panic("cloister: " + err.Error()) // the manifest was checked
	}
	return id
}
