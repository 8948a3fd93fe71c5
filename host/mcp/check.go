package mcp

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"golang.org/x/net/http/httpguts"
)

var (
	namePattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)
	envPattern  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// maxServers bounds one configuration.
const maxServers = 1000

// checker collects faults under the keys that the configuration file has.
type checker struct {
	faults []host.Fault
	prefix string
}

func (c *checker) add(key, format string, args ...any) {
	c.faults = append(c.faults, host.Fault{Key: c.prefix + key, Message: fmt.Sprintf(format, args...)})
}

// check gives a *ConfigError with every fault, or nil.
func check(servers []Server) error {
	c := &checker{prefix: "mcp."}
	if len(servers) > maxServers {
		c.add("servers", "%d servers are more than %d", len(servers), maxServers)
	}
	seen := map[string]string{}
	for i := range servers {
		s := &servers[i]
		c.prefix = "mcp.servers." + plaintext.Short(s.Name, 64) + "."
		if before, twice := seen[strings.ToLower(s.Name)]; twice {
			c.add("name", "differs from %q in letter case at most; choose another name", before)
		}
		seen[strings.ToLower(s.Name)] = s.Name
		c.server(s)
	}
	if len(c.faults) > 0 {
		return &ConfigError{Faults: c.faults}
	}
	return nil
}

func (c *checker) server(s *Server) {
	if !namePattern.MatchString(s.Name) {
		c.add("name", "%q: use a letter, a digit or _, then at most 63 of these and . and -", plaintext.Short(s.Name, 80))
	} else if strings.EqualFold(s.Name, "core") {
		c.add("name", "core is the host's own; choose another name")
	}
	switch {
	case s.Command != "" && s.URL != "":
		c.add("command", "is set beside url; a server has one of them")
	case s.Command == "" && s.URL == "":
		c.add("command", "is missing; give command for a program or url for a server on the network")
	case s.Command != "":
		c.stdio(s)
	default:
		c.http(s)
	}
	switch s.Approval {
	case "", host.ApprovalNever, host.ApprovalAsk, host.ApprovalAlways:
	default:
		c.add("approval", `%q: use "never", "ask" or "always"`, plaintext.Short(string(s.Approval), 40))
	}
	c.patterns("allow", s.Allow)
	c.patterns("deny", s.Deny)
	c.patterns("idempotent", s.Idempotent)
	c.limits(&s.Limits)
}

func (c *checker) stdio(s *Server) {
	if strings.ContainsRune(s.Command, 0) || slices.ContainsFunc(s.Args, func(a string) bool { return strings.ContainsRune(a, 0) }) {
		c.add("command", "holds a NUL character")
	}
	if len(s.Headers) > 0 {
		c.add("headers", "are for servers with url")
	}
	if s.OAuth != nil {
		c.add("oauth", "is for servers with url")
	}
	if s.AllowPrivate {
		c.add("allowPrivate", "is for servers with url")
	}
	if s.Dir != "" && !filepath.IsAbs(s.Dir) {
		c.add("dir", "%q is relative; give an absolute path", plaintext.Short(s.Dir, 200))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		key := "env." + plaintext.Short(name, 64)
		if !envPattern.MatchString(name) {
			c.add(key, "is no name of an environment variable")
		}
		v := s.Env[name]
		c.value(key, &v, false)
	}
	for _, name := range s.InheritEnv {
		if !envPattern.MatchString(name) {
			c.add("inheritEnv", "%q is no name of an environment variable", plaintext.Short(name, 64))
		}
	}
}

func (c *checker) http(s *Server) {
	if len(s.Args) > 0 || s.Dir != "" || len(s.Env) > 0 || len(s.InheritEnv) > 0 {
		c.add("args", "args, dir, env and inheritEnv are for servers with command")
	}
	u, err := url.Parse(s.URL)
	switch {
	case err != nil || u.Opaque != "" || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		c.add("url", "is no address; write https://host/path")
	case u.User != nil:
		c.add("url", "holds a password, which would be in logs; send it with headers.Authorization")
	case u.Fragment != "":
		c.add("url", "holds a #fragment, which is never sent; remove it")
	case u.Scheme == "http" && !s.AllowPrivate && !loopbackHost(u.Hostname()):
		c.add("url", "is not encrypted and not on this machine; use https://, or set allowPrivate for a private network")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		key := "headers." + plaintext.Short(name, 64)
		if !httpguts.ValidHeaderFieldName(name) {
			c.add(key, "is no name of a header")
		} else if reservedHeader(name) {
			c.add(key, "is set by the protocol; remove it")
		}
		if s.OAuth != nil && strings.EqualFold(name, "Authorization") {
			c.add(key, "is set beside oauth; a server has one of them")
		}
		v := s.Headers[name]
		c.value(key, &v, true)
	}
	if s.OAuth != nil {
		c.oauth(s.OAuth)
	}
}

func (c *checker) oauth(o *OAuth) {
	switch o.Grant {
	case "", grantCode:
	case grantClient:
		if o.ClientID == "" || o.ClientSecret.empty() {
			c.add("oauth.clientId", "clientId and clientSecret are needed for client_credentials")
		}
	default:
		c.add("oauth.grant", "%q: use %q or %q", plaintext.Short(o.Grant, 40), grantCode, grantClient)
	}
	if o.ClientID != "" && o.ClientMetadataURL != "" {
		c.add("oauth.clientMetadataUrl", "is set beside clientId; give one of them")
	}
	if !o.ClientSecret.empty() {
		c.value("oauth.clientSecret", &o.ClientSecret, true)
		if o.ClientID == "" {
			c.add("oauth.clientSecret", "is set without clientId")
		}
	}
	if o.Redirect != "" {
		if u, err := url.Parse(o.Redirect); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
			u.Scheme == "http" && !loopbackHost(u.Hostname()) {
			c.add("oauth.redirect", "has to be an http:// address of this machine, or https://")
		}
	}
}

func (c *checker) value(key string, v *Value, header bool) {
	n := 0
	for _, set := range []bool{v.Text != "", v.Env != "", v.File != "", len(v.Command) > 0} {
		if set {
			n++
		}
	}
	switch {
	case n > 1:
		c.add(key, "has more than one source; give one of text, env, file and command")
	case n == 0 && header:
		c.add(key, "is empty; give one of text, env, file and command")
	case v.Env != "" && !envPattern.MatchString(v.Env):
		c.add(key, "env is no name of an environment variable")
	case v.File != "" && !filepath.IsAbs(v.File):
		c.add(key, "file is relative; give an absolute path")
	case len(v.Command) > 0 && v.Command[0] == "":
		c.add(key, "command names no program")
	case header && (!httpguts.ValidHeaderFieldValue(v.Prefix) || !httpguts.ValidHeaderFieldValue(v.Text)),
		strings.ContainsRune(v.Prefix+v.Text, 0):
		c.add(key, "holds characters that cannot be sent")
	}
}

func (c *checker) patterns(key string, patterns []string) {
	for _, p := range patterns {
		if p == "" || len(p) > maxToolName {
			c.add(key, "a pattern is empty or longer than %d bytes", maxToolName)
		}
	}
}

func (c *checker) limits(l *Limits) {
	for _, d := range []struct {
		key  string
		v    time.Duration
		most time.Duration
	}{{"connectTimeout", l.ConnectTimeout, time.Hour}, {"callTimeout", l.CallTimeout, 24 * time.Hour}} {
		if d.v < 0 || d.v > d.most {
			c.add("limits."+d.key, "%s is not between 0 and %s", d.v, d.most)
		}
	}
	for _, n := range []struct {
		key     string
		v, most int
	}{
		{"maxTools", l.MaxTools, 20_000}, {"maxConcurrent", l.MaxConcurrent, 1000},
		{"maxMessageBytes", l.MaxMessageBytes, 64 << 20}, {"maxPages", l.MaxPages, 10_000},
		{"maxUnaskedPerSecond", l.MaxUnaskedPerSecond, 1_000_000},
	} {
		if n.v < 0 || n.v > n.most {
			c.add("limits."+n.key, "%d is not between 0 and %d", n.v, n.most)
		}
	}
}

// reservedHeader says whether the client or net/http sets a header itself.
func reservedHeader(name string) bool {
	switch lower := strings.ToLower(name); lower {
	case "host", "content-type", "content-length", "content-encoding", "transfer-encoding", "connection", "accept",
		"accept-encoding", "trailer", "te", "upgrade", "expect", "last-event-id":
		return true
	default:
		return strings.HasPrefix(lower, "mcp-")
	}
}

// loopbackHost says whether a host of an URL is this machine by its writing alone.
func loopbackHost(name string) bool {
	if strings.EqualFold(name, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(name)
	return err == nil && a.Unmap().IsLoopback()
}
