package main

import (
	"time"

	"github.com/cloister-wasm/cloister/host/gateway"
	"github.com/cloister-wasm/cloister/internal/forms"
	"github.com/cloister-wasm/cloister/internal/json5"
)

// serveConfig is what a configuration file says about `cloister serve`.
type serveConfig struct {
	// http is the address to listen on; empty means stdio.
	http string
	// tokens and approvalTokens are by name: of clients, and of who may approve.
	tokens, approvalTokens map[string]secretSource
	origins, hosts         []string
	instructions           string
	limits                 gateway.Limits
}

// approvalsConfig is what a configuration file says about approvals.
type approvalsConfig struct {
	// ttl is how long a cell waits for an answer; 0 is the library's default.
	ttl time.Duration
	// noElicit says that clients are not asked to put a call to their user.
	noElicit bool
}

// readServe is the shape of the section `serve`. What opens a listener or lets
// somebody in counts in a file that the user named, only.
func (c *config) readServe(r *configReader) keys {
	s, p := &c.serve, &c.plugins
	whole := func(to *int, most int) keyReader { return r.count(1, most, func(n int) { *to = n }) }
	return keys{
		"http":           p.trusted(r, r.text(&s.http, forms.Address)),
		"tokens":         p.trusted(r, r.tokens(&s.tokens)),
		"approvalTokens": p.trusted(r, r.tokens(&s.approvalTokens)),
		"allowedOrigins": p.trusted(r, r.strings(&s.origins, forms.Origin)),
		"allowedHosts":   p.trusted(r, r.strings(&s.hosts, forms.NotEmpty)),
		"instructions":   p.trusted(r, r.text(&s.instructions, forms.Text)),
		"limits": r.section(keys{
			"maxSessions":        whole(&s.limits.MaxSessions, 100_000),
			"maxConcurrentExecs": whole(&s.limits.MaxConcurrentExecs, 1024),
			"maxRequestBytes":    whole(&s.limits.MaxRequestBytes, 64<<20),
			"resumeTimeoutMs": r.count(0, 3600*1000, func(n int) {
				if s.limits.ResumeTimeout = time.Duration(n) * time.Millisecond; n == 0 {
					s.limits.ResumeTimeout = -1 // for the gateway zero means the default
				}
			}),
			"approvalWaitMs": r.count(0, 3600*1000, func(n int) {
				if s.limits.ApprovalWait = time.Duration(n) * time.Millisecond; n == 0 {
					s.limits.ApprovalWait = -1 // likewise
				}
			}),
			"idleTimeoutMs": r.count(1000, 7*24*3600*1000, func(n int) { s.limits.IdleTimeout = time.Duration(n) * time.Millisecond }),
		}),
	}
}

// readApprovals is the shape of the section `approvals`.
func (c *config) readApprovals(r *configReader) keys {
	return keys{
		"ttlSeconds": r.count(1, 7*24*3600, func(n int) { c.approvals.ttl = time.Duration(n) * time.Second }),
		"elicit": func(n *json5.Node, path string) {
			elicit := true
			r.boolean(&elicit)(n, path)
			c.approvals.noElicit = !elicit
		},
	}
}

// tokens reads bearer tokens, by name.
func (r *configReader) tokens(to *map[string]secretSource) keyReader {
	return func(n *json5.Node, path string) {
		if n.Kind != json5.Object {
			// NB: what stands there may be the secret itself, so it is not quoted.
			r.fault(n.Pos, path, `must be an object of names, each with {env: "VARIABLE"} or {file: "PATH"}`)
			return
		}
		*to = map[string]secretSource{}
		r.members(n, path, "an object", forms.TokenName, func(name string, v *json5.Node, at string) {
			(*to)[name] = r.secret(v, at)
		})
	}
}

// resolve makes paths those of the configuration's folder.
func (s *serveConfig) resolve(name string) {
	for _, tokens := range []map[string]secretSource{s.tokens, s.approvalTokens} {
		for token, source := range tokens {
			source.file = besideFile(name, source.file)
			tokens[token] = source
		}
	}
}
