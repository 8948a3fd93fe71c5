package egress

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxURLBytes bounds an address, given or redirected to.
const maxURLBytes = 8 << 10

// target is a checked address. It is read once; the rules, the resolver, TLS, the Host header and the request line all
// use these fields and never the text again.
type target struct {
	https    bool
	host     hostname
	port     uint16
	path     string   // as it is sent and compared, starts with "/"; see normalize
	segments []string // of path
	query    string   // with its "?", or ""
}

// scheme is "https" or "http".
func (t *target) scheme() string {
	if t.https {
		return "https"
	}
	return "http"
}

// defaultPort is the scheme's own.
func defaultPort(https bool) uint16 {
	if https {
		return 443
	}
	return 80
}

// authority is the host, with the port where it is not the scheme's own: the Host header.
func (t *target) authority() string {
	if t.port == defaultPort(t.https) {
		return t.host.String()
	}
	return t.host.String() + ":" + strconv.Itoa(int(t.port))
}

// origin is what secrets are bound to.
func (t *target) origin() string { return t.scheme() + "://" + t.authority() }

// String is the address.
func (t *target) String() string { return t.origin() + t.path + t.query }

// url is the address for net/http, which must put exactly path and query on the wire. The second result is false if it
// would not.
func (t *target) url() (*url.URL, bool) {
	u := &url.URL{Scheme: t.scheme(), Host: t.authority(), Path: decode(t.path), RawPath: t.path}
	if q, ok := strings.CutPrefix(t.query, "?"); ok {
		u.RawQuery, u.ForceQuery = q, q == ""
	}
	return u, u.RequestURI() == t.path+t.query
}

// parseTarget reads an absolute address. The grammar is narrower than RFC 3986 and has one reading.
func parseTarget(s string) (*target, string) {
	if len(s) > maxURLBytes {
		return nil, "the address is longer than 8 KiB"
	}
	if problem := checkURLBytes(s); problem != "" {
		return nil, problem
	}
	scheme, rest, ok := strings.Cut(s, "://")
	t := &target{https: strings.EqualFold(scheme, "https")}
	if !ok || !t.https && !strings.EqualFold(scheme, "http") {
		return nil, "the address has to start with https://"
	}
	authority := rest
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority, rest = rest[:i], rest[i:]
	} else {
		rest = ""
	}
	var problem string
	if t.host, t.port, problem = parseAuthority(authority); problem != "" {
		return nil, problem
	}
	if t.port == 0 {
		t.port = defaultPort(t.https)
	}
	t.path = rest
	if i := strings.IndexByte(rest, '?'); i >= 0 {
		t.path, t.query = rest[:i], rest[i:]
	}
	if t.path == "" {
		t.path = "/"
	}
	if t.path, t.segments, problem = splitPath(t.path); problem != "" {
		return nil, problem
	}
	return t, ""
}

// checkURLBytes refuses what would end the request line early, and fragments, which servers never see.
func checkURLBytes(s string) string {
	for i := range len(s) {
		switch b := s[i]; {
		case b == '#':
			return "the address has a fragment (#…); leave it out, or write %23 for the character itself"
		case b <= 0x20 || b == 0x7f:
			return "the address has a blank or a control character; percent-encode it"
		case b >= 0x80:
			return "the address is not ASCII; percent-encode the path and query, and write the host in punycode (xn--…)"
		}
	}
	return ""
}

// within says whether the segments lie below the prefix: all of the prefix's segments, whole. A prefix that ends with a
// slash has an empty last segment and wants something, if only a slash, behind it.
func within(segments, prefix []string) bool {
	last := len(prefix) - 1
	if prefix[last] == "" {
		return len(segments) > last && slices.Equal(segments[:last], prefix[:last])
	}
	return len(segments) > last && slices.Equal(segments[:last+1], prefix)
}
