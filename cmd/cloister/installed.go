package main

import (
	"errors"

	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/host/setup"
	"github.com/cloister-wasm/cloister/plugins/store"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

// existingStore opens the store of installed plugins, if there is one.
func existingStore() (*store.Store, error) {
	s, err := setup.OpenStore(settings.Places{})
	if errors.Is(err, settings.ErrNoDataFolder) {
		return nil, placeFault(err)
	}
	return s, err
}

// loadPolicy reads the trust policy of the flag, of CLOISTER_TRUST, or the user's own.
func loadPolicy(flag string) (*trust.Policy, error) {
	path, _, err := trustPath(flag)
	if err != nil {
		return nil, err
	}
	return trust.LoadPolicy(path)
}
