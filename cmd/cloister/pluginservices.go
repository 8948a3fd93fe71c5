package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/cloister-wasm/cloister/plugins"
)

// services are what the host functions of plugins work with, as the configuration
// has it.
func (p *pluginConfig) services() plugins.Services {
	s := plugins.Services{HTTP: p.http}
	if len(p.values) > 0 {
		s.Config = func(plugin, key string) (json.RawMessage, bool) {
			value, ok := p.values[plugin][key]
			return value, ok
		}
	}
	if len(p.secrets) > 0 {
		s.Secrets = func(_ context.Context, plugin, name string) (string, error) {
			source, ok := p.secrets[plugin][name]
			if !ok {
				return "", fmt.Errorf("the secret %s of %s is not set; add plugins.secrets.%q.%s to the configuration", name, plugin, plugin, name)
			}
			return source.read()
		}
	}
	return s
}

// read gives the secret. It is read when it is needed, so that one that was
// renewed counts, and never kept.
func (s secretSource) read() (string, error) {
	if s.env != "" {
		value, ok := os.LookupEnv(s.env)
		if !ok || value == "" {
			return "", fmt.Errorf("the variable %s is not set", s.env)
		}
		return value, nil
	}
	f, err := os.Open(s.file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	value, err := readSecret(f, s.file, maxSecret)
	return string(value), err
}
