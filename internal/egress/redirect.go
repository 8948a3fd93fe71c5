package egress

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// follow makes the hop that a redirect asks for. It mends the hop in place; rules and addresses are checked afterwards,
// where those of the first hop are.
func (h *hop) follow(status int, location string) error {
	next, problem := h.target.resolve(location)
	if problem != "" {
		return fail(ErrRedirect, "the server redirects to an address that is not usable: %s", problem)
	}
	if h.target.https && !next.https {
		return fail(ErrRedirect, "the server redirects from https to http")
	}
	if next.origin() != h.target.origin() {
		h.leaveOrigin()
	}
	h.target = next
	// RFC 9110, 15.4: 303 makes everything but HEAD a GET; 301 and 302 make a POST one, as all clients have done; 307
	// and 308 change nothing.
	switch {
	case status == http.StatusSeeOther && h.method != http.MethodHead,
		status <= http.StatusFound && h.method == http.MethodPost:
		h.dropBody()
	}
	return nil
}

// redirects says whether a status sends the client elsewhere.
func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// resolve reads a Location header against the address it came from. Whatever net/url makes of it, the result goes
// through parseTarget: what is checked is what is asked.
func (t *target) resolve(location string) (*target, string) {
	if len(location) > maxURLBytes {
		return nil, "it is longer than 8 KiB"
	}
	location, _, _ = strings.Cut(location, "#") // allowed by RFC 9110, and of no use to a plugin
	var tidy strings.Builder
	for i := range len(location) {
		switch b := location[i]; {
		case b < 0x20 || b == 0x7f:
			return nil, "it has a control character"
		case b == '\\':
			return nil, "it has a backslash, which some clients read as a slash"
		case b == ' ' || b >= 0x80: // servers forget to encode these; every client does it for them
			fmt.Fprintf(&tidy, "%%%02X", b)
		default:
			tidy.WriteByte(b)
		}
	}
	base, ok := t.url()
	ref, err := url.Parse(tidy.String())
	if !ok || err != nil || ref.Opaque != "" {
		return nil, "it is malformed"
	}
	return parseTarget(base.ResolveReference(ref).String())
}

// refusedHop turns the refusal of a later hop into one of the redirect. Other failures stay what they are.
func refusedHop(err error, n int) error {
	if e, ok := errors.AsType[*Error](err); ok && (e.Kind == ErrNotAllowed || e.Kind == ErrAddress || e.Kind == ErrRequest) {
		return &Error{Kind: ErrRedirect, Detail: fmt.Sprintf("redirect %d: %s", n, e.Detail), cause: e}
	}
	return err
}
