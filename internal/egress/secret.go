package egress

import (
	"encoding/base64"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"
)

// MinSecretBytes is the shortest secret that can be kept. Secrets are taken out of answers, so a plugin that has a server
// send back guesses sees which of them is one: there must be too many to guess.
const MinSecretBytes = 8

// Secret is the value of a header that plugins do not hold: Prefix and Value in one.
type Secret struct {
	// Value is the secret, one byte or more, printable ASCII.
	Value string
	// Prefix is the plugin's, such as "Bearer ".
	Prefix string
	// Hosts are where it may be sent, each as in [Rule.Host]; without one it may be sent nowhere. They allow no request: the
	// rules do.
	Hosts []string
}

// Guessable says what about a secret is too short to be kept: "secret", "password in the secret", or "" where nothing is. It
// looks at the value alone: what stands before it in a header is the plugin's choice.
func Guessable(value string) string {
	_, part := Secret{Value: value}.credentials()
	switch {
	case len(value) < MinSecretBytes:
		return "secret"
	case part != "" && len(part) < MinSecretBytes:
		return "password in the secret"
	}
	return ""
}

// credentials reads a secret as what HTTP Basic sends (RFC 7617), whether it says so or not. The first result is
// user:password, the second the password; the user, where a key is sent as one and there is no password. A secret that is
// something else gives "".
func (s Secret) credentials() (plain, secret string) {
	value := s.Value
	named := strings.EqualFold(strings.TrimSpace(s.Prefix), "basic")
	if scheme, rest, ok := strings.Cut(value, " "); ok && strings.EqualFold(scheme, "basic") {
		value, named = rest, true
	}
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(value), "="))
	if err != nil || !named && !isText(raw) { // a token may happen to be base64
		return "", ""
	}
	user, password, ok := strings.Cut(string(raw), ":")
	switch {
	case !ok:
		return "", ""
	case password == "":
		return string(raw), user
	}
	return string(raw), password
}

func isText(raw []byte) bool {
	return utf8.Valid(raw) && !slices.ContainsFunc(raw, func(b byte) bool { return b < ' ' || b == 0x7f })
}

// binding is where the secret of a header may be sent.
type binding struct {
	header string
	hosts  []rule
}

// bind reads the hosts of a secret.
func bind(header string, hosts []string) (binding, error) {
	b := binding{header: header, hosts: make([]rule, len(hosts))}
	for i, host := range hosts {
		b.hosts[i].text = host
		if problem := b.hosts[i].parseHost(host); problem != "" {
			return b, fail(ErrRule, "header %s: the secret's host %s: %s", quote(header), quote(host), problem)
		}
	}
	return b, nil
}

// allowSecrets holds a hop against the hosts of the secrets that it carries. Every hop is, also one to the origin of the
// one before.
func (h *hop) allowSecrets() error {
	for _, b := range h.bound {
		if slices.ContainsFunc(b.hosts, func(r rule) bool { return r.matchHost(h.target.host) && r.matchPort(h.target) }) {
			continue
		}
		names := make([]string, len(b.hosts))
		for i := range b.hosts {
			names[i] = b.hosts[i].text
		}
		return fail(ErrNotAllowed, "secret: that of the header %s is not for %s; its hosts are %s", quote(b.header), h.target.authority(), list(names))
	}
	return nil
}

// allowPlain refuses to send a secret over http, where anybody on the way can read it. Within this machine there is no way:
// the addresses are those that will be dialled, whatever the name says.
func (h *hop) allowPlain(addrs []netip.Addr) error {
	if h.target.https || len(h.secrets) == 0 || !slices.ContainsFunc(addrs, func(a netip.Addr) bool { return !a.IsLoopback() }) {
		return nil
	}
	return fail(ErrNotAllowed, "scheme: a secret is sent to %s over https only; http is for servers on this machine", h.target.authority())
}

// wantWhole has the server give all of its answer: a secret that comes back in parts is recognised in none of them.
func (h *hop) wantWhole() {
	for name := range h.headers {
		if partial(name) {
			delete(h.headers, name)
		}
	}
}

// partial says whether a header asks for a part of the answer: RFC 9110, 14; Request-Range is Apache's old name for it,
// x-ms-range Azure's.
func partial(name string) bool {
	switch plainName(name) {
	case "range", "if-range", "request-range", "x-range", "x-ms-range":
		return true
	}
	return false
}
