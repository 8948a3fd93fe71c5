package egress

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// Bounds of rules.
const (
	maxRules       = 256
	maxRuleMethods = 16
	maxRulePaths   = 64
	maxRulePath    = 1 << 10
	maxMethod      = 32
)

// Rule allows requests to one host, as a manifest's permissions say it. The zero value allows nothing. Its fields are
// those of plugins.HostPermission, so that one converts to the other.
type Rule struct {
	// Host is a name, an IPv4 address, an IPv6 address in brackets, or "*.example.com" for every name below
	// example.com at any depth, but not example.com itself. ":port" stands behind it where the port is not the
	// scheme's own.
	Host string
	// Methods are upper-case; none means GET and HEAD. CONNECT, TRACE and TRACK cannot be allowed.
	Methods []string
	// Paths are prefixes of whole segments; none means every path. "/repos" allows /repos and what is below, "/repos/"
	// only what is below. Path and prefix are compared in one form, in which no character is percent-encoded that need
	// not be, and are case-sensitive.
	Paths []string
	// Insecure allows http beside https.
	Insecure bool
}

// rule is a Rule that was checked.
type rule struct {
	host     hostname // without the *.
	wildcard bool
	port     uint16 // 0: the scheme's own
	methods  []string
	paths    [][]string
	insecure bool
	text     string // Rule.Host
}

// ruleSet is what one plugin may do.
type ruleSet []rule

var (
	defaultMethods = []string{"GET", "HEAD"}
	// CONNECT would make a tunnel, TRACE and TRACK would send a secret header back.
	refusedMethods = []string{"CONNECT", "TRACE", "TRACK"}
)

// ParseRule says what is wrong with a rule: a [*RuleError] with every mistake and how to mend it, or nil.
func ParseRule(r Rule) error {
	_, err := parseRule(&r)
	return err
}

func parseRules(rules []Rule) (ruleSet, error) {
	if len(rules) > maxRules {
		return nil, fail(ErrRule, "there are %d rules; at most %d are allowed", len(rules), maxRules)
	}
	set := make(ruleSet, len(rules))
	for i := range rules {
		r, err := parseRule(&rules[i])
		if err != nil {
			return nil, &Error{Kind: ErrRule, Detail: fmt.Sprintf("rule %d: %v", i, err), cause: err}
		}
		set[i] = r
	}
	return set, nil
}

func parseRule(in *Rule) (rule, error) {
	var problems []Problem
	add := func(path, message string) { problems = append(problems, Problem{Path: path, Message: message}) }

	out := rule{insecure: in.Insecure, text: in.Host}
	if message := out.parseHost(in.Host); message != "" {
		add("/host", message)
	}
	if len(in.Methods) > maxRuleMethods {
		add("/methods", fmt.Sprintf("at most %d methods are allowed", maxRuleMethods))
	} else {
		for i, m := range in.Methods {
			if message := checkMethod(m); message != "" {
				add(fmt.Sprintf("/methods/%d", i), message)
			}
		}
	}
	if out.methods = in.Methods; len(in.Methods) == 0 {
		out.methods = defaultMethods
	}
	if len(in.Paths) > maxRulePaths {
		add("/paths", fmt.Sprintf("at most %d paths are allowed", maxRulePaths))
	} else {
		out.paths = make([][]string, len(in.Paths))
		for i, p := range in.Paths {
			segments, message := parsePrefix(p)
			if message != "" {
				add(fmt.Sprintf("/paths/%d", i), message)
			}
			out.paths[i] = segments
		}
	}
	if problems != nil {
		return rule{}, &RuleError{Problems: problems}
	}
	return out, nil
}

// parseHost reads the host of a rule.
func (r *rule) parseHost(s string) (problem string) {
	switch {
	case s == "*" || strings.HasPrefix(s, "*:"):
		return "a rule for every host is not possible; name each host, or write *.example.com"
	case strings.Contains(s, "://"):
		return "write the host alone, without https://; for http set insecure to true"
	case strings.ContainsAny(s, "/?#"):
		return "write the host alone; path prefixes belong into paths"
	case strings.Count(s, ":") > 1 && !strings.Contains(s, "["):
		return "write an IPv6 address in brackets, such as [2001:db8::1] or [2001:db8::1]:8443"
	}
	s, r.wildcard = strings.CutPrefix(s, "*.")
	if r.host, r.port, problem = parseAuthority(s); problem != "" || !r.wildcard {
		return problem
	}
	if r.host.name == "" {
		return "a wildcard goes before a name, not before an IP address"
	}
	if !strings.Contains(r.host.name, ".") {
		return "a wildcard needs at least two labels behind it, such as *.example.com"
	}
	return ""
}

// checkMethod holds a method to upper-case letters and hyphens.
func checkMethod(m string) string {
	switch {
	case m == "" || len(m) > maxMethod:
		return "a method has 1 to 32 letters, such as GET"
	case slices.Contains(refusedMethods, strings.ToUpper(m)):
		return "the methods CONNECT, TRACE and TRACK are never allowed"
	}
	for i := range len(m) {
		if b := m[i]; b == '-' && i > 0 || 'A' <= b && b <= 'Z' {
			continue
		}
		if up := strings.ToUpper(m); up != m && checkMethod(up) == "" {
			return "write the method in capitals: " + up
		}
		return "a method has nothing but capital letters, such as GET"
	}
	return ""
}

// parsePrefix reads a path prefix of a rule.
func parsePrefix(p string) (segments []string, problem string) {
	switch {
	case !strings.HasPrefix(p, "/"):
		return nil, "a path starts with a slash, such as /repos/"
	case len(p) > maxRulePath:
		return nil, fmt.Sprintf("a path has at most %d bytes", maxRulePath)
	case strings.Contains(p, "*"):
		return nil, "paths are prefixes and take no *; /repos/ allows all that is below it"
	case strings.ContainsAny(p, "?#"):
		return nil, "a path prefix has no query and no fragment"
	}
	if _, segments, problem = splitPath(p); problem != "" {
		return nil, problem
	}
	if slices.Contains(segments[:len(segments)-1], "") {
		return nil, "the path has two slashes in a row; write one"
	}
	return segments, ""
}

// allow is the one place where a request is held against the rules, first hop and redirects alike. The error names the
// part that fits least.
func (s ruleSet) allow(method string, t *target) error {
	var hosts, methods []string
	depth := 0 // how far the best rule came: host, port and scheme, method, path
	for i := range s {
		r := &s[i]
		hosts = append(hosts, r.text)
		if !r.matchHost(t.host) {
			continue
		}
		if !r.matchPort(t) {
			depth = max(depth, 1)
			continue
		}
		if !t.https && !r.insecure {
			depth = max(depth, 2)
			continue
		}
		if !slices.Contains(r.methods, method) {
			methods = append(methods, r.methods...)
			depth = max(depth, 3)
			continue
		}
		if !r.matchPath(t.segments) {
			depth = max(depth, 4)
			continue
		}
		return nil
	}
	return refusal(depth, method, t, hosts, methods)
}

func refusal(depth int, method string, t *target, hosts, methods []string) error {
	switch depth {
	case 0:
		if len(hosts) == 0 {
			return fail(ErrNotAllowed, "host: the plugin has no permission for any host; name %s in permissions.hosts of its manifest", t.authority())
		}
		return fail(ErrNotAllowed, "host: no entry of permissions.hosts names %s; there are %s", t.authority(), list(hosts))
	case 1:
		return fail(ErrNotAllowed, "host: no entry of permissions.hosts names port %d of %s; there are %s", t.port, t.host, list(hosts))
	case 2:
		return fail(ErrNotAllowed, "scheme: %s may only be asked over https; use https, or set insecure to true in permissions.hosts", t.authority())
	case 3:
		slices.Sort(methods)
		return fail(ErrNotAllowed, "method: %s is not allowed for %s; allowed are %s", method, t.authority(), list(slices.Compact(methods)))
	}
	return fail(ErrNotAllowed, "path: no path prefix of %s covers %s for %s; add one to paths in permissions.hosts", t.authority(), quote(t.path), method)
}

func list(items []string) string {
	const most = 8
	more := ""
	if len(items) > most {
		more = fmt.Sprintf(" and %d more", len(items)-most)
		items = items[:most]
	}
	return plaintext.Clip(strings.Join(items, ", "), 512) + more
}

func (r *rule) matchHost(h hostname) bool {
	if !r.wildcard {
		return r.host == h
	}
	prefix, ok := strings.CutSuffix(h.name, r.host.name)
	return ok && len(prefix) > 1 && prefix[len(prefix)-1] == '.'
}

func (r *rule) matchPort(t *target) bool {
	if r.port == 0 {
		// An http address on port 443, or https on 80, is not the scheme's own either.
		return t.port == defaultPort(t.https)
	}
	return r.port == t.port
}

func (r *rule) matchPath(segments []string) bool {
	return len(r.paths) == 0 || slices.ContainsFunc(r.paths, func(prefix []string) bool { return within(segments, prefix) })
}
