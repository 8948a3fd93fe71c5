package otel

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Options configures New. Only Endpoint has no default.
type Options struct {
	// Endpoint is the collector: https, or http at a loopback address. Without a path
	// it gets OTLP's own, /v1/traces.
	Endpoint string
	// Headers are sent with each request. Their values are secrets.
	Headers Headers
	// Service and Version are service.name and service.version of the resource.
	// Service is "cloister" by default.
	Service, Version string
	// Attributes are further attributes of the resource, such as
	// "deployment.environment.name".
	Attributes map[string]string
	// Secrets are taken out of all texts, besides what looks like a secret.
	Secrets []string
	// Interval is how long a span waits at most until it is sent. Default 5 s.
	Interval time.Duration
	// QueueSize bounds the events that wait to be looked at, and the spans that wait
	// to be sent. Default 8192.
	QueueSize int
	// MaxOpen bounds the spans and runs that are kept open. Default 10,000.
	MaxOpen int
	// OpenTTL is after how long without an event a run is closed. Default 25 hours: a
	// run waits 24 hours for an approval.
	OpenTTL time.Duration
	// Logger is told of failures, at most once a minute. Nil for none.
	Logger *slog.Logger
}

// Headers are headers of requests. They do not print their values, in whatever way
// they are printed.
type Headers map[string]string

// Format implements fmt.Formatter: names alone, in order.
func (h Headers) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "[%s]", strings.Join(h.names(), " ")) // a failing writer is the printer's own matter
}

// LogValue implements slog.LogValuer: names alone.
func (h Headers) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(h)) }

// MarshalText makes JSON of the names alone.
func (h Headers) MarshalText() ([]byte, error) { return []byte(fmt.Sprint(h)), nil }

func (h Headers) names() []string {
	names := make([]string, 0, len(h))
	for n := range h {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// reserved are headers that the exporter sets itself.
var reserved = []string{"content-type", "content-length", "content-encoding", "transfer-encoding", "host", "connection"}

// check says which header cannot be sent, never with which value.
func (h Headers) check() error {
	seen := map[string]bool{}
	for n, v := range h {
		lower := strings.ToLower(n)
		switch {
		case n == "" || strings.ContainsFunc(n, func(r rune) bool { return !tokenRune(r) }):
			return fmt.Errorf("%w: Headers: %.60q is no name of a header", ErrOptions, n)
		case slices.Contains(reserved, lower):
			return fmt.Errorf("%w: Headers: %s is set by the exporter", ErrOptions, n)
		case seen[lower]:
			return fmt.Errorf("%w: Headers: %s is given twice", ErrOptions, n)
		case len(v) > maxHeader || strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			return fmt.Errorf("%w: Headers: the value of %s is too long or has control characters", ErrOptions, n)
		}
		seen[lower] = true
	}
	return nil
}

const maxHeader = 16 << 10

func tokenRune(r rune) bool {
	return r > ' ' && r < 0x7f && !strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
}

// endpoint checks the address of the collector. local says that only loopback
// addresses may be connected to.
func endpoint(raw string) (u *url.URL, local bool, err error) {
	u, err = url.Parse(raw)
	switch {
	case raw == "":
		return nil, false, fmt.Errorf("%w: Endpoint is empty: give the address of a collector, such as http://localhost:4318", ErrOptions)
	case err != nil:
		// The text of url.Error has the address in it, which may hold a password.
		return nil, false, fmt.Errorf("%w: Endpoint is no URL", ErrOptions)
	case u.User != nil:
		return nil, false, fmt.Errorf("%w: Endpoint holds a user name or password: use Headers", ErrOptions)
	case u.Host == "" || u.Hostname() == "" || u.Opaque != "":
		return nil, false, fmt.Errorf("%w: Endpoint has no host", ErrOptions)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, false, fmt.Errorf("%w: Endpoint has a query or a fragment, which OTLP does not send", ErrOptions)
	case u.Scheme == "http" && !loopbackName(u.Hostname()):
		return nil, false, fmt.Errorf("%w: Endpoint is http at another machine: use https", ErrOptions)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, false, fmt.Errorf("%w: Endpoint must begin with https:// or http://", ErrOptions)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path, u.RawPath = "/v1/traces", ""
	}
	return u, u.Scheme == "http", nil
}

// loopbackName says whether a host may be one of this machine; where it leads is
// checked when it is connected to.
func loopbackName(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().IsLoopback()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// loopbackAddress says whether a connection stays on this machine.
func loopbackAddress(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// complete checks the options and fills in the defaults.
func (o *Options) complete() error {
	if err := o.Headers.check(); err != nil {
		return err
	}
	if o.Interval < 0 || o.QueueSize < 0 || o.MaxOpen < 0 || o.OpenTTL < 0 {
		return fmt.Errorf("%w: Interval, QueueSize, MaxOpen and OpenTTL cannot be negative", ErrOptions)
	}
	if o.Service == "" {
		o.Service = "cloister"
	}
	if o.Interval == 0 {
		o.Interval = 5 * time.Second
	}
	if o.QueueSize == 0 {
		o.QueueSize = 8192
	}
	if o.MaxOpen == 0 {
		o.MaxOpen = 10_000
	}
	if o.OpenTTL == 0 {
		o.OpenTTL = 25 * time.Hour
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}
