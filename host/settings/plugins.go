package settings

import (
	"encoding/json"
	"path/filepath"
	"time"

	"github.com/cloister-wasm/cloister/internal/forms"
	"github.com/cloister-wasm/cloister/internal/json5"
	"github.com/cloister-wasm/cloister/plugins"
)

// Plugins is the section plugins.
type Plugins struct {
	// Dirs are folders of development plugins, or of several of them.
	Dirs []string
	// AllowUnsignedUnsafe lets plugins of folders in, which nobody has signed.
	AllowUnsignedUnsafe bool
	// NoInstalled leaves installed plugins out.
	NoInstalled bool
	// Trust and Lock are files: the trust policy, and what was agreed to. Empty where the
	// file does not say.
	Trust, Lock string
	// Config is what plugins may read: by plugin id and key.
	Config map[string]map[string]json.RawMessage
	// Secrets are by plugin id and name.
	Secrets map[string]map[string]Secret
	// HTTP is nil if the file does not have it.
	HTTP *plugins.HTTPOptions
}

// readPlugins is the shape of the section `plugins`.
func (s *Settings) readPlugins(r *reader) keys {
	p := &s.Plugins
	return keys{
		"dirs": r.trusted(r.strings(&p.Dirs, forms.NotEmpty)),
		"allowUnsignedUnsafe": func(n *json5.Node, path string) {
			if r.boolean(&p.AllowUnsignedUnsafe)(n, path); p.AllowUnsignedUnsafe {
				r.onlyNamed(n, path)
			}
		},
		"installed": func(n *json5.Node, path string) {
			installed := true
			r.boolean(&installed)(n, path)
			p.NoInstalled = !installed
		},
		"trust": r.trusted(r.text(&p.Trust, forms.NotEmpty)),
		"lock": func(n *json5.Node, path string) {
			r.text(&p.Lock, forms.NotEmpty)(n, path)
			if !filepath.IsLocal(p.Lock) {
				// "cloister lock accept" writes to this file.
				r.onlyNamed(n, path)
			}
		},
		"config": r.trusted(r.byPlugin(func(id string, n *json5.Node, path string) {
			p.readValues(r, id, n, path)
		})),
		"secrets": r.trusted(r.byPlugin(func(id string, n *json5.Node, path string) {
			p.readSecrets(r, id, n, path)
		})),
		"http": func(n *json5.Node, path string) {
			p.HTTP = &plugins.HTTPOptions{}
			r.object(n, path, keys{
				"allowPrivate":     r.trusted(r.prefixes(&p.HTTP.AllowPrivate)),
				"timeoutMs":        r.upTo(int(defaultHTTPTimeout/time.Millisecond), r.count(1, maxHTTPTimeoutMs, func(n int) { p.HTTP.Timeout = time.Duration(n) * time.Millisecond })),
				"maxResponseBytes": r.upTo(defaultHTTPMaxBytes, r.count(1, maxHTTPBytes, func(n int) { p.HTTP.MaxResponseBytes = n })),
			})
		},
	}
}

// Bounds of plugins.http.
const (
	maxHTTPTimeoutMs = 10 * 60 * 1000
	maxHTTPBytes     = 64 << 20
)

func (p *Plugins) readValues(r *reader, id string, n *json5.Node, path string) {
	values := map[string]json.RawMessage{}
	r.members(n, path, "an object", nil, func(key string, v *json5.Node, at string) {
		text, err := v.JSON()
		if err != nil {
			r.notJSON(v, at, err)
			return
		}
		values[key] = text
	})
	if p.Config == nil {
		p.Config = map[string]map[string]json.RawMessage{}
	}
	p.Config[id] = values
}

func (p *Plugins) readSecrets(r *reader, id string, n *json5.Node, path string) {
	secrets := map[string]Secret{}
	r.members(n, path, "an object", nil, func(name string, v *json5.Node, at string) {
		secrets[name] = r.secret(v, at)
	})
	if p.Secrets == nil {
		p.Secrets = map[string]map[string]Secret{}
	}
	p.Secrets[id] = secrets
}

// secret reads where a secret is.
func (r *reader) secret(n *json5.Node, path string) (s Secret) {
	if n.Kind != json5.Object {
		// NB: what stands there may be the secret itself, so it is not quoted.
		r.fault(n.Pos, path, `must be {env: "VARIABLE"} or {file: "PATH"}: a secret is not written into the configuration`)
		return s
	}
	before := len(r.faults)
	r.object(n, path, keys{"env": r.text(&s.Env, forms.NotEmpty), "file": r.text(&s.File, forms.NotEmpty)})
	if len(r.faults) == before && (s.Env == "") == (s.File == "") {
		r.fault(n.Pos, path, "needs one of env and file")
	}
	return s
}

// resolve makes paths those of the configuration's folder.
func (p *Plugins) resolve(name string) {
	for i, dir := range p.Dirs {
		p.Dirs[i] = besideFile(name, dir)
	}
	p.Trust, p.Lock = besideFile(name, p.Trust), besideFile(name, p.Lock)
	for _, secrets := range p.Secrets {
		for secret, s := range secrets {
			s.File = besideFile(name, s.File)
			secrets[secret] = s
		}
	}
}

// byPlugin reads an object whose keys are ids of plugins.
func (r *reader) byPlugin(read func(id string, n *json5.Node, path string)) keyReader {
	return func(n *json5.Node, path string) {
		r.members(n, path, "an object of plugin ids", forms.PluginID, read)
	}
}
