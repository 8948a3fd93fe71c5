package debug

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Transport wraps a round tripper, http.DefaultTransport if it is nil, and logs the
// requests that go through it and their responses. Requests are sent as they are,
// and bodies are read as they would be.
func (d *Debug) Transport(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	if d == nil || !d.on.Transport && d.on.Payload == "" && d.on.SSE == "" {
		return base
	}
	return &roundTripper{d: d, base: base}
}

type roundTripper struct {
	d    *Debug
	base http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	d, start := t.d, time.Now()
	about := []any{"method", req.Method, "url", d.address(req.URL)}
	sent := &tee{ReadCloser: req.Body}
	if req.Body != nil && req.Body != http.NoBody {
		if d.on.Payload != "" && !t.logCopy(req, about) {
			sent.capture = &capture{}
		}
		// A round tripper does not change the request that it is given.
		req = req.Clone(req.Context())
		req.Body = sent
	}
	resp, err := t.base.RoundTrip(req)
	if c, _ := sent.read(); sent.capture != nil {
		t.logPayload(&c, about)
	}
	if err != nil {
		if d.on.Transport {
			d.log.Debug("model request failed", append(about, "durationMs", since(start), "error", d.text(err.Error()))...)
		}
		return resp, err
	}
	kind := resp.Header.Get("Content-Type")
	if d.on.Transport {
		_, n := sent.read()
		d.log.Debug("model response", append(about, "status", resp.StatusCode, "durationMs", since(start), "sentBytes", n,
			"contentType", d.text(kind), "requestId", d.text(firstHeader(resp.Header, "X-Request-Id", "Request-Id")))...)
	}
	body := &responseBody{d: d, about: about, start: start, status: resp.StatusCode, ReadCloser: resp.Body}
	if d.on.SSE != "" && strings.HasPrefix(strings.ToLower(kind), "text/event-stream") {
		body.events = &eventLog{d: d, start: start}
	}
	if w, ok := resp.Body.(io.Writer); ok { // of a connection that was upgraded
		resp.Body = struct {
			*responseBody
			io.Writer
		}{body, w}
	} else if resp.Body != nil {
		resp.Body = body
	}
	return resp, nil
}

// logCopy logs the payload before it is sent, where there is a copy of it, so that
// it is there to see while the model keeps silent.
func (t *roundTripper) logCopy(req *http.Request, about []any) bool {
	if req.GetBody == nil {
		return false
	}
	body, err := req.GetBody()
	if err != nil {
		return false
	}
	defer body.Close()
	var c capture
	if c.data, err = io.ReadAll(io.LimitReader(body, maxCapture)); err != nil {
		return false
	}
	c.total = max(int64(len(c.data)), req.ContentLength)
	t.logPayload(&c, about)
	return true
}

func (t *roundTripper) logPayload(c *capture, about []any) {
	t.d.log.Debug("model payload", append(append(about, "bytes", c.total), t.d.payload(c)...)...)
}

// address gives a URL without what may be secret in it.
func (d *Debug) address(u *url.URL) string {
	if u == nil {
		return ""
	}
	bare := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	text := bare.String()
	if u.RawQuery != "" {
		text += "?…"
	}
	return d.text(text)
}

func firstHeader(h http.Header, names ...string) string {
	for _, n := range names {
		if v := h.Get(n); v != "" {
			return v
		}
	}
	return ""
}

func since(start time.Time) float64 { return float64(time.Since(start).Microseconds()) / 1000 }

// tee keeps the beginning of what is read. The transport may go on reading after
// the response has come.
type tee struct {
	io.ReadCloser
	mu      sync.Mutex
	n       int64
	capture *capture
}

// Read implements io.Reader.
func (t *tee) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n += int64(n)
	if t.capture != nil {
		t.capture.write(p[:n])
	}
	return n, err
}

// read gives what was read so far.
func (t *tee) read() (capture, int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.capture == nil {
		return capture{}, t.n
	}
	return *t.capture, t.n
}

// responseBody counts what is read of a response, and logs its end, once.
type responseBody struct {
	io.ReadCloser
	d      *Debug
	about  []any
	start  time.Time
	status int
	events *eventLog

	mu    sync.Mutex // a stream may be closed while it is read
	n     int64
	ended bool
}

// Read implements io.Reader.
func (b *responseBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n += int64(n)
	if b.events != nil && !b.ended {
		b.events.write(p[:n])
	}
	if err != nil {
		b.end(err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *responseBody) Close() error {
	err := b.ReadCloser.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end(nil)
	return err
}

func (b *responseBody) end(err error) {
	if b.ended {
		return
	}
	b.ended = true
	if b.events != nil {
		b.events.end()
	}
	if !b.d.on.Transport {
		return
	}
	how := "closed early"
	switch {
	case err == io.EOF:
		how = "complete"
	case err != nil:
		how = b.d.text(err.Error())
	}
	b.d.log.Debug("model response ended", append(b.about, "status", b.status, "durationMs", since(b.start), "receivedBytes", b.n, "end", how)...)
}
