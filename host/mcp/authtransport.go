package mcp

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"

	"github.com/cloister-wasm/cloister/internal/egress"
)

// authTransport sends what OAuth sends. The server chooses these addresses: those that
// are not its own go through the client that plugins have, which reaches public addresses
// only.
type authTransport struct {
	w   *web
	out *egress.Client
}

func authEgress(w *web) *egress.Client {
	o := &egress.Options{MaxResponseBytes: maxErrorBody * 4}
	switch {
	case w.s.u.cfg.AllowPrivate:
		o.AllowPrivate = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	case loopbackHost(w.url.Hostname()):
		o.AllowPrivate = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	}
	return egress.New(o)
}

// authRedirect follows redirects within one origin only.
func (w *web) authRedirect(req *http.Request, via []*http.Request) error {
	if !sameOrigin(req.URL, via[0].URL) || req.Method != via[0].Method || len(via) > maxRedirects {
		return fmt.Errorf("%w: the authorization server leads to another place", ErrRedirect)
	}
	return nil
}

// RoundTrip implements http.RoundTripper.
func (t *authTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if sameOrigin(req.URL, t.w.url) {
		resp, err := t.w.inner.RoundTrip(req)
		if err == nil {
			resp.Body = &limitedBody{Reader: io.LimitReader(resp.Body, maxErrorBody*4), Closer: resp.Body}
		}
		return resp, err
	}
	return t.elsewhere(req)
}

type limitedBody struct {
	io.Reader
	io.Closer
}

func (t *authTransport) elsewhere(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil { // the SDK's own text
			return nil, err
		}
		if err := req.Body.Close(); err != nil {
			return nil, err
		}
	}
	headers := map[string]string{}
	for name, values := range req.Header {
		headers[name] = strings.Join(values, ", ")
	}
	rule := egress.Rule{
		Host: req.URL.Host, Methods: []string{req.Method}, Paths: []string{"/"},
		Insecure: req.URL.Scheme == "http" && (t.w.s.u.cfg.AllowPrivate || loopbackHost(req.URL.Hostname())),
	}
	r, err := t.out.Do(req.Context(), []egress.Rule{rule}, &egress.Request{
		Method: req.Method, URL: req.URL.String(), Headers: headers, Body: body,
	})
	if err != nil {
		return nil, err
	}
	h := http.Header{}
	for name, value := range r.Headers {
		h.Set(name, value)
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", r.Status, http.StatusText(r.Status)), StatusCode: r.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h,
		Body: io.NopCloser(bytes.NewReader(r.Body)), ContentLength: int64(len(r.Body)), Request: req,
	}, nil
}
