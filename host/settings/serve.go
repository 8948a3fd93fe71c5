package settings

import (
	"math"
	"time"

	"github.com/cloister-wasm/cloister/host/gateway"
	"github.com/cloister-wasm/cloister/internal/forms"
	"github.com/cloister-wasm/cloister/internal/json5"
)

// Serve is the section serve.
type Serve struct {
	// HTTP is the address to listen on; empty means standard input and output.
	HTTP string
	// Tokens and ApprovalTokens are bearer tokens by name: of clients, and of who may
	// approve.
	Tokens, ApprovalTokens map[string]Secret
	// AllowedOrigins are web pages that may connect, AllowedHosts names that are served
	// beside those of this machine; see gateway.HTTPOptions.
	AllowedOrigins, AllowedHosts []string
	// Instructions are for the client's model.
	Instructions string
	// Limits bound what clients can take; zero values are the gateway's defaults.
	Limits gateway.Limits
}

// Approvals is the section approvals.
type Approvals struct {
	// TTL is how long a cell waits for an answer; 0 is the library's default.
	TTL time.Duration
	// NoElicit says that clients are not asked to put a call to their user.
	NoElicit bool
}

// readServe is the shape of the section `serve`. What opens a listener or lets
// somebody in counts in a file that the user named, only.
func (s *Settings) readServe(r *reader) keys {
	c := &s.Serve
	def := serveLimits()
	whole := func(to *int, def, most int) keyReader {
		return r.upTo(def, r.count(1, most, func(n int) { *to = n }))
	}
	millis := func(to *time.Duration, def time.Duration, least, most int) keyReader {
		return r.upTo(int(def/time.Millisecond), r.count(least, most, func(n int) { *to = time.Duration(n) * time.Millisecond }))
	}
	return keys{
		"http":           r.trusted(r.text(&c.HTTP, forms.Address)),
		"tokens":         r.trusted(r.tokens(&c.Tokens)),
		"approvalTokens": r.trusted(r.tokens(&c.ApprovalTokens)),
		"allowedOrigins": r.trusted(r.strings(&c.AllowedOrigins, forms.Origin)),
		"allowedHosts":   r.trusted(r.strings(&c.AllowedHosts, forms.NotEmpty)),
		"instructions":   r.trusted(r.text(&c.Instructions, forms.Text)),
		"limits": r.section(keys{
			"maxSessions":            whole(&c.Limits.MaxSessions, def.MaxSessions, 100_000),
			"maxConcurrentExecs":     whole(&c.Limits.MaxConcurrentExecs, def.MaxConcurrentExecs, 1024),
			"maxRunning":             whole(&c.Limits.MaxRunning, def.MaxRunning, 10_000),
			"maxRunningPerPrincipal": whole(&c.Limits.MaxRunningPerPrincipal, def.MaxRunning/2, 10_000),
			"maxRunningBytes": r.upTo(int(def.MaxRunningBytes), r.count(1<<20, min(1<<40, math.MaxInt), func(n int) {
				c.Limits.MaxRunningBytes = int64(n)
			})),
			"maxRequestBytes": whole(&c.Limits.MaxRequestBytes, def.MaxRequestBytes, 64<<20),
			"resumeTimeoutMs": func(n *json5.Node, path string) {
				millis(&c.Limits.ResumeTimeout, def.ResumeTimeout, 0, 3600*1000)(n, path)
				if c.Limits.ResumeTimeout == 0 {
					c.Limits.ResumeTimeout = -1 // for the gateway zero means the default
				}
			},
			"approvalWaitMs": func(n *json5.Node, path string) {
				millis(&c.Limits.ApprovalWait, def.ApprovalWait, 0, 3600*1000)(n, path)
				if c.Limits.ApprovalWait == 0 {
					c.Limits.ApprovalWait = -1 // likewise
					r.onlyNamed(n, path)       // as long as the client waits is longer than the default
				}
			},
			"commentIntervalMs": millis(&c.Limits.CommentInterval, def.CommentInterval, 100, 3600*1000),
			"idleTimeoutMs":     millis(&c.Limits.IdleTimeout, def.IdleTimeout, 1000, 7*24*3600*1000),
		}),
	}
}

// readApprovals is the shape of the section `approvals`. A file that was merely found
// can make approvals stricter: a shorter wait, and no questions by way of the client,
// so that only the approvals endpoint is left. Neither lets a call pass.
func (s *Settings) readApprovals(r *reader) keys {
	return keys{
		"ttlSeconds": r.upTo(int(defaultApprovalTTL/time.Second), r.count(1, 7*24*3600, func(n int) { s.Approvals.TTL = time.Duration(n) * time.Second })),
		"elicit": func(n *json5.Node, path string) {
			elicit := true
			r.boolean(&elicit)(n, path)
			s.Approvals.NoElicit = !elicit
		},
	}
}

// tokens reads bearer tokens, by name.
func (r *reader) tokens(to *map[string]Secret) keyReader {
	return func(n *json5.Node, path string) {
		if n.Kind != json5.Object {
			// NB: what stands there may be the secret itself, so it is not quoted.
			r.fault(n.Pos, path, `must be an object of names, each with {env: "VARIABLE"} or {file: "PATH"}`)
			return
		}
		*to = map[string]Secret{}
		r.members(n, path, "an object", forms.TokenName, func(name string, v *json5.Node, at string) {
			(*to)[name] = r.secret(v, at)
		})
	}
}

// resolve makes paths those of the configuration's folder.
func (s *Serve) resolve(name string) {
	for _, tokens := range []map[string]Secret{s.Tokens, s.ApprovalTokens} {
		for token, source := range tokens {
			source.File = besideFile(name, source.File)
			tokens[token] = source
		}
	}
}
