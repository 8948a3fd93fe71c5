package settings

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/cloister-wasm/cloister/internal/safefile"
	"github.com/cloister-wasm/cloister/plugins"
)

// MaxSecretBytes bounds a secret.
const MaxSecretBytes = 16 << 10

// Secret is where a secret is: exactly one of a variable of the environment and a file.
// Its value is never in the configuration.
type Secret struct {
	// Env is the name of the variable.
	Env string
	// File holds the secret as its one line.
	File string
}

// Read gives the secret as it is now, so that one that was renewed counts. Nothing keeps
// it. An error names the place and never the value.
func (s Secret) Read() (string, error) {
	if s.Env != "" {
		value, ok := os.LookupEnv(s.Env)
		if !ok || value == "" {
			return "", fmt.Errorf("the variable %s is not set", s.Env)
		}
		return value, nil
	}
	f, err := os.Open(s.File)
	if err != nil {
		return "", err
	}
	defer f.Close() // only read from: nothing is lost
	value, err := safefile.ReadLine(f, MaxSecretBytes)
	if err != nil {
		return "", fmt.Errorf("%s: %w", s.File, err)
	}
	return string(value), nil
}

// Services are what the host functions of plugins work with, as the section says:
// Config, Secrets and HTTP. A plugin sees what is under its own id. Secrets are read
// when a plugin asks for one.
func (p *Plugins) Services() plugins.Services {
	s := plugins.Services{HTTP: p.HTTP}
	if len(p.Config) > 0 {
		s.Config = func(plugin, key string) (json.RawMessage, bool) {
			value, ok := p.Config[plugin][key]
			return value, ok
		}
	}
	if len(p.Secrets) > 0 {
		s.Secrets = func(_ context.Context, plugin, name string) (string, error) {
			source, ok := p.Secrets[plugin][name]
			if !ok {
				return "", fmt.Errorf("the secret %s of %s is not set; add plugins.secrets.%q.%s to the configuration", name, plugin, plugin, name)
			}
			return source.Read()
		}
	}
	return s
}
