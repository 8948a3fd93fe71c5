package settings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

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
	// File holds the secret as its one line. It is read
	// only if nobody else can read it or change it; the error is a *FileError else.
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
	value, err := safefile.ReadSecretLine(s.File, MaxSecretBytes)
	return string(value), err
}

// CheckSecrets looks at the files of plugins' secrets, and reads none of them. A file
// that others can read or change is an error, which unwraps to a *FileError; of one that
// is not there the plugin hears when it asks. Without this check nobody but a plugin
// would be told.
func (s *Settings) CheckSecrets() error {
	for _, plugin := range slices.Sorted(maps.Keys(s.Plugins.Secrets)) {
		secrets := s.Plugins.Secrets[plugin]
		for _, name := range slices.Sorted(maps.Keys(secrets)) {
			if secrets[name].File == "" {
				continue
			}
			f, err := safefile.OpenSecret(secrets[name].File)
			if errors.As(err, new(*FileError)) {
				return fmt.Errorf("%s: %w", join(join("plugins.secrets", plugin), name), err)
			}
			if err == nil {
				_ = f.Close() // only looked at
			}
		}
	}
	return nil
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
