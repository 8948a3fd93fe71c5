package host

import (
	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// ParseCodeMode reads the value of `tools.codeMode`: true, false, or an object.
// A wrong type and an unknown key are faults of a *ConfigError that lists all of
// them; numbers out of range are clamped.
func ParseCodeMode(text []byte) (api.CodeModeConfig, error) {
	const prefix = "tools.codeMode"
	var c api.CodeModeConfig
	v, err := schema.Decode(text)
	if err != nil {
		return c, &api.ConfigError{Faults: []api.Fault{{Key: prefix, Message: err.Error()}}}
	}
	switch v := v.(type) {
	case nil:
		return c.Clamped(), nil
	case bool:
		c.Enabled = v
		return c.Clamped(), nil
	case map[string]any:
		faults := c.Fill(prefix, v)
		if faults = append(faults, c.Faults(prefix)...); len(faults) > 0 {
			return api.CodeModeConfig{}, &api.ConfigError{Faults: faults}
		}
		return c.Clamped(), nil
	}
	return c, &api.ConfigError{Faults: []api.Fault{{Key: prefix, Message: "must be true, false or an object"}}}
}
