package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"slices"
	"time"
)

// Defaults and fixed bounds.
const (
	// DefaultMaxRequestBytes bounds the body of a request.
	DefaultMaxRequestBytes = 1 << 20
	// DefaultMaxResponseBytes bounds the body of a response.
	DefaultMaxResponseBytes = 4 << 20
	// DefaultMaxRedirects is the number of redirects that are followed.
	DefaultMaxRedirects = 5
	// DefaultTimeout bounds an exchange.
	DefaultTimeout = 30 * time.Second
	// MaxHeaderBytes bounds the headers of a response, those of informational (1xx) ones before it included.
	MaxHeaderBytes = 64 << 10
)

// Resolver looks names up; [net.Resolver] is one. It must end when ctx does. All addresses that it gives are checked,
// and one of them is connected to: it is asked once per hop.
type Resolver interface {
	// LookupNetIP gives the addresses of host; network is "ip".
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options are the bounds of a [Client]. The zero value, or nil, allows public addresses only and has the defaults.
type Options struct {
	// AllowPrivate are addresses that are reachable although they are private, loopback or otherwise not public. None
	// by default. A cloud's metadata service is reachable only if a prefix holds that one address (/32, /128).
	AllowPrivate []netip.Prefix
	// MaxRequestBytes and MaxResponseBytes bound bodies; 0 or less means 1 MiB and 4 MiB.
	MaxRequestBytes, MaxResponseBytes int
	// MaxRedirects is the number of redirects that are followed; 0 means 5, less means none.
	MaxRedirects int
	// Timeout bounds an exchange, from the name's look-up to the body's last byte; 0 or less means 30 seconds.
	Timeout time.Duration
	// Resolver looks names up; nil means net.DefaultResolver, asked for absolute names, so that no search domain of
	// this machine is tried.
	Resolver Resolver
	// TLS gives the roots (RootCAs) that certificates are checked against; nil, or none in it, means the system's.
	// Nothing else of it is used.
	TLS *tls.Config
}

// Client sends requests for plugins. It keeps nothing between requests: no connection, no cookie, no TLS session. It is
// safe for concurrent use, and one may serve many plugins.
type Client struct {
	guard        *addressGuard
	resolver     Resolver
	absolute     bool // ask for "name."
	roots        *x509.CertPool
	maxRequest   int
	maxResponse  int
	maxRedirects int
	timeout      time.Duration

	// dial connects to an address that was checked.
	dial func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
}

// New makes a client. The options are copied; nil is allowed.
func New(o *Options) *Client {
	if o == nil {
		o = &Options{}
	}
	c := &Client{
		guard:        newAddressGuard(o.AllowPrivate),
		resolver:     o.Resolver,
		maxRequest:   orDefault(o.MaxRequestBytes, DefaultMaxRequestBytes),
		maxResponse:  orDefault(o.MaxResponseBytes, DefaultMaxResponseBytes),
		maxRedirects: o.MaxRedirects,
		timeout:      orDefault(o.Timeout, DefaultTimeout),
	}
	if c.maxRedirects == 0 {
		c.maxRedirects = DefaultMaxRedirects
	}
	if c.resolver == nil {
		c.resolver, c.absolute = net.DefaultResolver, true
	}
	if o.TLS != nil {
		c.roots = o.TLS.RootCAs
	}
	c.dial = c.dialChecked
	return c
}

func orDefault[T int | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}

// Response is the answer to the last hop.
type Response struct {
	// Status is 200 to 999.
	Status int
	// URL is the address of the last hop.
	URL string
	// Headers have lower-case names; several values of one name are joined by ", ". All of it is valid UTF-8.
	Headers map[string]string
	// Body is as the server sent it: a Content-Encoding is not undone.
	Body []byte
}

// Do sends a request if a rule allows it, follows redirects that a rule allows, and gives the last answer, whatever its
// status. Secrets that the server sent back are removed from it; see [Redact]. Errors are [*Error].
func (c *Client) Do(ctx context.Context, rules []Rule, r *Request) (*Response, error) {
	set, err := parseRules(rules)
	if err != nil {
		return nil, err
	}
	h, err := c.firstHop(r)
	if err != nil {
		return nil, err
	}
	// The transport may read the body after Do has returned, when the server answers early.
	h.body = slices.Clone(h.body)

	timeout := c.timeout
	if r.Timeout > 0 {
		timeout = min(timeout, r.Timeout)
	}
	ctx, cancel := bound(ctx, timeout)
	defer cancel()
	resp, err := c.exchange(ctx, set, h)
	switch {
	case err != nil && len(r.Secrets) > 0:
		return nil, redactError(err, r.Secrets)
	case err != nil:
		return nil, err
	}
	resp.redact(r.Secrets)
	return resp, nil
}

// bound gives a context that ends with the caller's or after the timeout. It carries none of the caller's values: an
// HTTP trace among them would lift the bound on informational responses.
func bound(caller context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	timed, cancelTimer := context.WithTimeout(context.Background(), timeout)
	ctx, cancel := context.WithCancelCause(timed)
	if err := caller.Err(); err != nil {
		cancel(err) // AfterFunc would say it too late for the first look-up
	}
	stop := context.AfterFunc(caller, func() { cancel(caller.Err()) })
	return ctx, func() {
		stop()
		cancel(nil)
		cancelTimer()
	}
}

// exchange walks the hops.
func (c *Client) exchange(ctx context.Context, set ruleSet, h *hop) (*Response, error) {
	for n := 0; ; n++ {
		resp, location, err := c.one(ctx, set, h)
		switch {
		case err != nil && n > 0:
			return nil, refusedHop(err, n)
		case err != nil:
			return nil, err
		case location == "":
			return resp, nil
		case n >= c.maxRedirects:
			return nil, fail(ErrRedirect, "the server redirects more than %d times", max(c.maxRedirects, 0))
		}
		if err := h.follow(resp.Status, location); err != nil {
			return nil, err
		}
	}
}

// one checks and sends one hop. Every hop comes this way, the first like the last.
func (c *Client) one(ctx context.Context, set ruleSet, h *hop) (resp *Response, location string, err error) {
	if err := set.allow(h.method, h.target); err != nil {
		return nil, "", err
	}
	if err := h.allowSecrets(); err != nil {
		return nil, "", err
	}
	if err := ctx.Err(); err != nil {
		return nil, "", c.explain(ctx, h.target, err)
	}
	addrs, err := c.resolve(ctx, h.target)
	if err != nil {
		return nil, "", c.explain(ctx, h.target, err)
	}
	if err := h.allowPlain(addrs); err != nil {
		return nil, "", err
	}
	conn, err := c.connect(ctx, h.target, addrs)
	if err != nil {
		return nil, "", c.explain(ctx, h.target, err)
	}
	// Nothing of this package reads or writes after the exchange; an error here would change nothing.
	defer func() { _ = conn.Close() }()
	// Whatever blocks on the connection ends with ctx.
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	resp, location, err = c.send(ctx, h, conn)
	if err != nil {
		return nil, "", c.explain(ctx, h.target, err)
	}
	return resp, location, nil
}

// timedOut says whether the network noticed a deadline, which it may do before the context does.
func timedOut(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout() || errors.Is(err, context.DeadlineExceeded)
}

// explain makes an *Error of what the network said. The texts of net, tls and http name addresses, so that none of them
// goes into Detail.
func (c *Client) explain(ctx context.Context, t *target, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	switch cause := context.Cause(ctx); {
	case cause != nil && !errors.Is(cause, context.DeadlineExceeded):
		return &Error{Kind: ErrCanceled, Detail: "the call that it belonged to has ended", cause: cause}
	case cause != nil, timedOut(err):
		return &Error{Kind: ErrTimeout, Detail: "there was no whole answer from " + t.authority() + " in time; allow more time, or ask for less", cause: context.DeadlineExceeded}
	}
	return &Error{Kind: ErrNetwork, Detail: t.authority() + ": " + describe(err), cause: err}
}
