package bundle

import (
	"crypto/tls"
	"net/http"
	"net/url"
	"strings"
	"time"

	"oras.land/oras-go/v2/registry/remote/retry"
)

const (
	maxRedirects   = 5
	maxHeaderBytes = 64 << 10
)

// guard stands between the library and the network. What a registry sends decides where the next request goes: redirects,
// upload locations, pages, token services. So each request is looked at where it leaves.
type guard struct {
	base     *http.Transport
	registry string
	plain    bool
	idle     time.Duration // for each wait, see watch
}

func newGuard(registry string, plain bool, config *tls.Config) *guard {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	if usual, ok := http.DefaultTransport.(*http.Transport); ok { // a program may have put another there
		t = usual.Clone()
	}
	t.MaxResponseHeaderBytes = maxHeaderBytes
	t.ResponseHeaderTimeout = DefaultIdleTimeout
	// Digests are over the bytes as they are; a compressed answer would only be a way to send more than it seems.
	t.DisableCompression = true
	if config != nil {
		t.TLSClientConfig = config.Clone()
	}
	return &guard{base: t, registry: registry, plain: plain, idle: DefaultIdleTimeout}
}

// RoundTrip sends a request unless it must not be sent, and counts the bytes of an upload.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := g.check(req.URL); err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // the contract of RoundTripper; nothing was read from it
		}
		return nil, err
	}
	if t, ok := req.Context().Value(trackerKey{}).(*tracker); ok && req.Method == http.MethodPut && req.Body != nil && req.Body != http.NoBody {
		counted := *req
		counted.Body = t.count(req.Body)
		req = &counted
	}
	return g.watch(req)
}

// check refuses HTTP without TLS but to a registry that is spoken to so, and this machine's own services to a registry
// elsewhere.
func (g *guard) check(u *url.URL) error {
	switch {
	case isLoopback(u.Host) && !isLoopback(g.registry):
		return fail(ErrRegistry, "the registry %s sent us to %s, which is this machine", g.registry, u.Host)
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && g.plain && (sameName(u, g.registry) || isLoopback(u.Host)):
		return nil
	default:
		return fail(ErrRegistry, "the registry %s sent us to %s://%s, where nobody can tell who answers", g.registry, u.Scheme, u.Host)
	}
}

// sameName compares host names without ports.
func sameName(u *url.URL, hostport string) bool {
	other := url.URL{Host: hostport}
	return strings.EqualFold(u.Hostname(), other.Hostname())
}

// redirect bounds redirects. The library has taken credentials off a request that leaves its origin before this is
// called; that is done again here, since it is the one thing that must not depend on a version of it. Uploads follow no
// redirect, as their bytes would go to a host that nobody named.
func (g *guard) redirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fail(ErrRegistry, "%s redirects more than %d times", g.registry, maxRedirects)
	}
	first := via[0].URL
	if req.URL.Scheme != first.Scheme || !strings.EqualFold(req.URL.Host, first.Host) {
		if req.Method != http.MethodGet && req.Method != http.MethodHead {
			return fail(ErrRegistry, "%s redirects an upload to %s", g.registry, req.URL.Host)
		}
		req.Header.Del("Authorization")
		req.Header.Del("Cookie")
	}
	return g.check(req.URL)
}

// closingTransport gives http.Client.CloseIdleConnections a way past the retries.
type closingTransport struct {
	*retry.Transport
	g *guard
}

// CloseIdleConnections ends connections that nobody uses.
func (c *closingTransport) CloseIdleConnections() { c.g.base.CloseIdleConnections() }
