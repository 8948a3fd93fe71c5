package otel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"sync"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/cloister-wasm/cloister/internal/redact"
)

const (
	batchSize = 512
	// requestTimeout bounds one request, batchTimeout all attempts to send a batch: a
	// collector may ask for any delay between them.
	requestTimeout = 10 * time.Second
	batchTimeout   = 45 * time.Second
	maxResponse    = 64 << 10
)

// uploader sends spans to a collector, one batch at a time.
type uploader struct {
	client   otlptrace.Client
	http     *http.Transport
	resource *resourcepb.Resource
	redactor *redact.Redactor
	turn     chan struct{} // holds one token: who has it sends

	mu      sync.Mutex
	waiting []*tracepb.Span
	max     int
	full    chan struct{} // capacity 1: there is a batch
	stats   Stats
}

func newUploader(o *Options, u *url.URL, local bool, r *redact.Redactor) *uploader {
	t := transport(local)
	headers := map[string]string(maps.Clone(o.Headers))
	if headers == nil {
		headers = map[string]string{} // not those of the environment
	}
	up := &uploader{
		http: t, redactor: r, max: o.QueueSize, resource: resource(o, r),
		turn: make(chan struct{}, 1), full: make(chan struct{}, 1),
	}
	up.client = otlptracehttp.NewClient(
		otlptracehttp.WithEndpointURL(u.String()),
		otlptracehttp.WithHeaders(headers),
		otlptracehttp.WithTLSClientConfig(nil),
		otlptracehttp.WithEncoding(otlptracehttp.EncodingProtobuf),
		otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		otlptracehttp.WithMaxResponseSize(maxResponse),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: true, InitialInterval: time.Second, MaxInterval: 10 * time.Second, MaxElapsedTime: 30 * time.Second}),
		otlptracehttp.WithHTTPClient(&http.Client{
			Transport: t, Timeout: requestTimeout,
			// A redirect would carry headers and spans to where nobody allowed them to go.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}),
	)
	return up
}

// transport makes a transport that reaches loopback addresses alone if local is
// set, and then by no proxy.
func transport(local bool) *http.Transport {
	d := &net.Dialer{Timeout: requestTimeout}
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: d.DialContext, ForceAttemptHTTP2: true, MaxIdleConns: 2,
		IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: requestTimeout, MaxResponseHeaderBytes: maxResponse,
	}
	if local {
		t.Proxy = nil
		d.Control = func(_, address string, _ syscall.RawConn) error {
			if !loopbackAddress(address) {
				return errors.New("the name leads to another machine: http is for loopback addresses")
			}
			return nil
		}
	}
	return t
}

// resource says what all spans come from.
func resource(o *Options, r *redact.Redactor) *resourcepb.Resource {
	all := maps.Clone(o.Attributes)
	if all == nil {
		all = map[string]string{}
	}
	all["service.name"] = o.Service
	if o.Version != "" {
		all["service.version"] = o.Version
	}
	all["telemetry.sdk.name"], all["telemetry.sdk.language"] = "cloister", "go"
	a := attributes{redactor: r}
	for k, v := range all {
		a.free(k, v)
	}
	return &resourcepb.Resource{Attributes: a.list}
}

// add puts a span into the queue, or drops it if that is full.
func (u *uploader) add(s *tracepb.Span) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.waiting) >= u.max {
		u.stats.DroppedSpans++
		return
	}
	u.waiting = append(u.waiting, s)
	if len(u.waiting) >= batchSize {
		select {
		case u.full <- struct{}{}:
		default:
		}
	}
}

func (u *uploader) take() []*tracepb.Span {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := min(len(u.waiting), batchSize)
	batch := u.waiting[:n:n]
	u.waiting = u.waiting[n:]
	if len(u.waiting) == 0 {
		u.waiting = nil
	}
	return batch
}

// send sends all that waits, as far as ctx allows. A batch that fails is lost.
func (u *uploader) send(ctx context.Context) error {
	select {
	case u.turn <- struct{}{}:
		defer func() { <-u.turn }()
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrExport, context.Cause(ctx))
	}
	var failed error
	for {
		if ctx.Err() != nil {
			return errors.Join(failed, fmt.Errorf("%w: %w", ErrExport, context.Cause(ctx)))
		}
		batch := u.take()
		if len(batch) == 0 {
			return failed
		}
		err := u.upload(ctx, batch)
		u.mu.Lock()
		if err != nil {
			u.stats.FailedSpans += len(batch)
			failed = err
		} else {
			u.stats.SentSpans += len(batch)
		}
		u.mu.Unlock()
	}
}

func (u *uploader) upload(ctx context.Context, batch []*tracepb.Span) error {
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	err := u.client.UploadTraces(ctx, []*tracepb.ResourceSpans{{
		Resource:   u.resource,
		ScopeSpans: []*tracepb.ScopeSpans{{Scope: &commonpb.InstrumentationScope{Name: "github.com/cloister-wasm/cloister/host"}, Spans: batch}},
	}})
	if err == nil {
		return nil
	}
	return &exportError{text: u.redactor.Text(err.Error(), 500), cause: err}
}

// exportError is a failure whose text has no secrets: a collector may send back
// what it got. Only what says why a context ended can be had from its cause.
type exportError struct {
	text  string
	cause error
}

func (e *exportError) Error() string { return ErrExport.Error() + ": " + e.text }

func (e *exportError) Is(target error) bool {
	return target == ErrExport || (target == context.Canceled || target == context.DeadlineExceeded) && errors.Is(e.cause, target)
}
