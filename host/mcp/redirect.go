package mcp

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// redirect follows redirects within the origin of the configured URL that keep the
// method, and no others: what is sent carries credentials and the model's data, and the
// operator named one server for them.
func (w *web) redirect(req *http.Request, via []*http.Request) error {
	var err error
	switch {
	case !sameOrigin(req.URL, w.url):
		err = fmt.Errorf("%w: the server sends its clients to %s; if that is right, make it the url in the configuration",
			ErrRedirect, plaintext.Short(req.URL.Scheme+"://"+req.URL.Host, 200))
	case req.Method != via[0].Method:
		err = fmt.Errorf("%w: the server answers %s with a redirect to GET; correct the url in the configuration", ErrRedirect, via[0].Method)
	case len(via) > maxRedirects:
		err = fmt.Errorf("%w: more than %d in a row", ErrRedirect, maxRedirects)
	default:
		return nil
	}
	if c := callFrom(req.Context()); c != nil {
		c.failed(err, true)
	}
	return err
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}
