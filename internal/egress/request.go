package egress

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// Bounds of a request beside Options.
const (
	maxHeaders     = 64
	maxHeaderName  = 128
	maxHeaderBytes = 32 << 10 // all names and values, secrets included
)

// Request is what a plugin asks for. All of it is checked before anything is sent.
type Request struct {
	// Method is "GET" if it is empty.
	Method string
	// URL is absolute, https:// or, where a rule says so, http://.
	URL string
	// Headers are single values; names that differ in case only are an error. With Secrets, those that ask for a part of
	// the answer are left out.
	Headers map[string]string
	// Secrets are headers that the host fills in; names that are in Headers are an error. They are sent to the origin of
	// URL only, and only if it is one of their hosts.
	Secrets map[string]Secret
	// Body is not allowed with GET and HEAD.
	Body []byte
	// Timeout bounds the whole exchange, redirects included; 0 or more than Options.Timeout means Options.Timeout.
	Timeout time.Duration
}

// hop is one request on the wire.
type hop struct {
	method  string
	target  *target
	headers http.Header // of the plugin
	secrets http.Header
	bound   []binding // of secrets
	body    []byte
}

// firstHop checks everything about a request but the rules.
func (c *Client) firstHop(r *Request) (*hop, error) {
	h := &hop{method: r.Method, body: r.Body}
	if h.method == "" {
		h.method = http.MethodGet
	}
	if problem := checkMethod(h.method); problem != "" {
		return nil, fail(ErrRequest, "method %s: %s", quote(h.method), problem)
	}
	if len(r.Body) > c.maxRequest {
		return nil, fail(ErrTooLarge, "the body has %d bytes; at most %d are allowed", len(r.Body), c.maxRequest)
	}
	// Some servers ignore the body of a GET and read it as the next request: a way around methods and paths.
	if len(r.Body) > 0 && (h.method == http.MethodGet || h.method == http.MethodHead) {
		return nil, fail(ErrRequest, "%s takes no body; use POST, or the query", h.method)
	}
	if r.Timeout < 0 {
		return nil, fail(ErrRequest, "the timeout is negative; 0 means the host's bound")
	}
	t, problem := parseTarget(r.URL)
	if problem != "" {
		return nil, fail(ErrRequest, "url: %s", problem)
	}
	h.target = t
	return h, h.fillHeaders(r)
}

// fillHeaders checks headers and secrets and takes copies.
func (h *hop) fillHeaders(r *Request) error {
	if n := len(r.Headers) + len(r.Secrets); n > maxHeaders {
		return fail(ErrRequest, "there are %d headers; at most %d are allowed", n, maxHeaders)
	}
	h.headers = make(http.Header, len(r.Headers)+2) // room for those of send
	h.secrets = make(http.Header, len(r.Secrets))
	total := 0
	put := func(to http.Header, name, value string) error {
		if problem := checkHeaderName(name); problem != "" {
			return fail(ErrRequest, "header %s: %s", quote(name), problem)
		}
		// The value is not quoted in the message: it may be a secret.
		if problem := checkHeaderValue(value); problem != "" {
			return fail(ErrRequest, "header %s: %s", quote(name), problem)
		}
		key := http.CanonicalHeaderKey(name)
		if h.headers[key] != nil || h.secrets[key] != nil {
			return fail(ErrRequest, "header %s is there twice", quote(name))
		}
		if total += len(name) + len(value); total > maxHeaderBytes {
			return fail(ErrTooLarge, "the headers have more than %d bytes", maxHeaderBytes)
		}
		to[key] = []string{value}
		return nil
	}
	for name, value := range r.Headers {
		if err := put(h.headers, name, value); err != nil {
			return err
		}
	}
	for name, s := range r.Secrets {
		switch {
		case s.Value == "":
			return fail(ErrRequest, "header %s: the secret is empty; set it on the host", quote(name))
		case partial(name):
			return fail(ErrRequest, "header %s: it asks for a part of the answer and takes no secret", quote(name))
		}
		if err := put(h.secrets, name, s.Prefix+s.Value); err != nil {
			return err
		}
		b, err := bind(name, s.Hosts)
		if err != nil {
			return err
		}
		h.bound = append(h.bound, b)
	}
	if len(h.secrets) > 0 {
		h.wantWhole()
	}
	return nil
}

// checkHeaderValue holds a value to printable ASCII and tabs.
func checkHeaderValue(value string) string {
	for i := range len(value) {
		switch b := value[i]; {
		case b >= 0x80:
			return "the value is not ASCII; encode it"
		case b < 0x20 && b != '\t' || b == 0x7f:
			return "the value has a line break or another control character"
		}
	}
	if value != strings.Trim(value, " \t") {
		return "the value starts or ends with a blank"
	}
	return ""
}

// leaveOrigin drops what belongs to the origin that was left, for good: later hops back to it do not get it again.
func (h *hop) leaveOrigin() {
	h.secrets, h.bound = nil, nil
	for _, name := range []string{"Authorization", "Cookie", "Cookie2", "X-Api-Key", "X-Auth-Token", "X-Csrf-Token"} {
		h.headers.Del(name)
	}
}

// dropBody makes the hop a GET. Headers about the body go with it.
func (h *hop) dropBody() {
	h.method, h.body = http.MethodGet, nil
	for name := range h.headers {
		if strings.HasPrefix(name, "Content-") || slices.Contains([]string{"Digest", "Repr-Digest", "Last-Modified"}, name) {
			delete(h.headers, name)
		}
	}
	// A secret may be in a header about the body, such as a signature of it; then it is of no use to a GET.
	for name := range h.secrets {
		if strings.HasPrefix(name, "Content-") {
			delete(h.secrets, name) // its binding stays, and asks for no more than before
		}
	}
}
