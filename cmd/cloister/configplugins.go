package main

import (
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"path/filepath"
	"time"

	"github.com/cloister-wasm/cloister/internal/forms"
	"github.com/cloister-wasm/cloister/internal/json5"
	"github.com/cloister-wasm/cloister/plugins"
)

// pluginConfig is what a configuration file says about plugins, but for the
// folders of development plugins.
type pluginConfig struct {
	// noInstalled is plugins.installed: false.
	noInstalled bool
	// trust and lock are files, resolved against the configuration's folder.
	trust, lock string
	// values are plugins.config: by plugin id and key.
	values map[string]map[string]json.RawMessage
	// secrets are plugins.secrets: by plugin id and name.
	secrets map[string]map[string]secretSource
	// http is plugins.http; nil if the file does not have it.
	http *plugins.HTTPOptions
	// trusting are the settings that only a file which the user named may have.
	trusting []configFault
}

// secretSource is where a secret comes from: one of a variable of the environment
// and a file. Its value is never in the configuration.
type secretSource struct{ env, file string }

// readPlugins is the shape of the section `plugins`.
func (c *config) readPlugins(r *configReader) keys {
	p := &c.plugins
	return keys{
		"dirs":                r.strings(&c.dirs, forms.NotEmpty),
		"allowUnsignedUnsafe": r.boolean(&c.allowUnsigned),
		"installed": func(n *json5.Node, path string) {
			installed := true
			r.boolean(&installed)(n, path)
			p.noInstalled = !installed
		},
		"trust": p.trusted(r, r.text(&p.trust, forms.NotEmpty)),
		"lock": func(n *json5.Node, path string) {
			r.text(&p.lock, forms.NotEmpty)(n, path)
			if !filepath.IsLocal(p.lock) {
				// "cloister lock accept" writes to this file.
				p.onlyNamed(r, n, path)
			}
		},
		"config": r.byPlugin(func(id string, n *json5.Node, path string) {
			p.readValues(r, id, n, path)
		}),
		"secrets": p.trusted(r, r.byPlugin(func(id string, n *json5.Node, path string) {
			p.readSecrets(r, id, n, path)
		})),
		"http": func(n *json5.Node, path string) {
			p.http = &plugins.HTTPOptions{}
			r.object(n, path, keys{
				"allowPrivate":     p.trusted(r, r.prefixes(&p.http.AllowPrivate)),
				"timeoutMs":        r.count(1, maxHTTPTimeoutMs, func(n int) { p.http.Timeout = time.Duration(n) * time.Millisecond }),
				"maxResponseBytes": r.count(1, maxHTTPBytes, func(n int) { p.http.MaxResponseBytes = n }),
			})
		},
	}
}

// Bounds of plugins.http.
const (
	maxHTTPTimeoutMs = 10 * 60 * 1000
	maxHTTPBytes     = 64 << 20
)

// trusted notes that the setting counts in a file that the user named, only.
func (p *pluginConfig) trusted(r *configReader, read keyReader) keyReader {
	return func(n *json5.Node, path string) {
		p.onlyNamed(r, n, path)
		read(n, path)
	}
}

func (p *pluginConfig) onlyNamed(r *configReader, n *json5.Node, path string) {
	p.trusting = append(p.trusting, configFault{r.root.File(), n.Pos, path,
		"only a file that --config or CLOISTER_CONFIG names may decide this; this one was merely found in the working folder"})
}

// refuseFound says what is wrong with a file that nobody named.
func (p *pluginConfig) refuseFound() error {
	if len(p.trusting) == 0 {
		return nil
	}
	r := &configReader{faults: p.trusting}
	return r.err()
}

func (p *pluginConfig) readValues(r *configReader, id string, n *json5.Node, path string) {
	values := map[string]json.RawMessage{}
	r.members(n, path, "an object", nil, func(key string, v *json5.Node, at string) {
		text, err := v.JSON()
		if err != nil {
			r.notJSON(v, at, err)
			return
		}
		values[key] = text
	})
	if p.values == nil {
		p.values = map[string]map[string]json.RawMessage{}
	}
	p.values[id] = values
}

func (p *pluginConfig) readSecrets(r *configReader, id string, n *json5.Node, path string) {
	secrets := map[string]secretSource{}
	r.members(n, path, "an object", nil, func(name string, v *json5.Node, at string) {
		secrets[name] = r.secret(v, at)
	})
	if p.secrets == nil {
		p.secrets = map[string]map[string]secretSource{}
	}
	p.secrets[id] = secrets
}

// secret reads where a secret comes from.
func (r *configReader) secret(n *json5.Node, path string) (s secretSource) {
	if n.Kind != json5.Object {
		// NB: what stands there may be the secret itself, so it is not quoted.
		r.fault(n.Pos, path, `must be {env: "VARIABLE"} or {file: "PATH"}: a secret is not written into the configuration`)
		return s
	}
	before := len(r.faults)
	r.object(n, path, keys{"env": r.text(&s.env, forms.NotEmpty), "file": r.text(&s.file, forms.NotEmpty)})
	if len(r.faults) == before && (s.env == "") == (s.file == "") {
		r.fault(n.Pos, path, "needs one of env and file")
	}
	return s
}

// resolve makes paths those of the configuration's folder.
func (p *pluginConfig) resolve(name string) {
	p.trust, p.lock = besideFile(name, p.trust), besideFile(name, p.lock)
	for _, secrets := range p.secrets {
		for secret, s := range secrets {
			s.file = besideFile(name, s.file)
			secrets[secret] = s
		}
	}
}

// byPlugin reads an object whose keys are ids of plugins.
func (r *configReader) byPlugin(read func(id string, n *json5.Node, path string)) keyReader {
	return func(n *json5.Node, path string) {
		r.members(n, path, "an object of plugin ids", forms.PluginID, read)
	}
}

// text reads a string. check gives what is wrong with it, if anything.
func (r *configReader) text(to *string, check func(string) string) keyReader {
	return func(n *json5.Node, path string) {
		if n.Kind != json5.String {
			r.fault(n.Pos, path, "must be a string, not %s", kindOf(n))
			return
		}
		if wrong := check(n.Text); wrong != "" {
			r.fault(n.Pos, path, "%s", wrong)
		}
		*to = n.Text
	}
}

// count reads a whole number within bounds.
func (r *configReader) count(least, most int, take func(int)) keyReader {
	return func(n *json5.Node, path string) {
		switch {
		case n.Kind != json5.Number:
			r.fault(n.Pos, path, "must be a number, not %s", kindOf(n))
		case n.Number != math.Trunc(n.Number), n.Number < float64(least), n.Number > float64(most), math.IsNaN(n.Number):
			r.fault(n.Pos, path, "must be a whole number of %d to %d", least, most)
		default:
			take(int(n.Number))
		}
	}
}

// prefixes reads a list of networks, such as 127.0.0.0/8.
func (r *configReader) prefixes(to *[]netip.Prefix) keyReader {
	return func(n *json5.Node, path string) {
		var texts []string
		r.strings(&texts, func(s string) string {
			prefix, err := netip.ParsePrefix(s)
			if err != nil {
				return fmt.Sprintf("%q is no network; write an address and a length, such as 127.0.0.0/8", s)
			}
			*to = append(*to, prefix.Masked())
			return ""
		})(n, path)
	}
}
