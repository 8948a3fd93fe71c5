package debug

import (
	"io"
	"net/http"
	"strings"
	"time"
)

// Handler wraps the handler of a server and logs its requests and how they were
// answered. Headers and queries are not logged.
func (d *Debug) Handler(next http.Handler) http.Handler {
	if d == nil || !d.on.Transport && d.on.Payload == "" && d.on.SSE == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		about := []any{"method", r.Method, "url", d.address(r.URL)}
		body := &tee{ReadCloser: r.Body}
		if d.on.Payload != "" {
			body.capture = &capture{}
		}
		r2 := r.WithContext(r.Context())
		if r.Body != nil && r.Body != http.NoBody {
			r2.Body = &endTee{tee: body, end: func() {
				if c, _ := body.read(); d.on.Payload != "" {
					d.message("http", "received", &c)
				}
			}}
		}
		a := &answer{ResponseWriter: w, d: d, start: start, status: http.StatusOK}
		defer func() {
			a.end()
			if d.on.Transport {
				_, n := body.read()
				d.log.Debug("mcp request", append(about, "status", a.status, "durationMs", since(start), "receivedBytes", n, "sentBytes", a.n)...)
			}
		}()
		next.ServeHTTP(a, r2)
	})
}

// endTee tells once when all of a body was read.
type endTee struct {
	*tee
	end func()
}

// Read implements io.Reader.
func (t *endTee) Read(p []byte) (int, error) {
	n, err := t.tee.Read(p)
	if err == io.EOF && t.end != nil {
		t.end()
		t.end = nil
	}
	return n, err
}

// answer counts what a handler writes.
type answer struct {
	http.ResponseWriter
	d      *Debug
	start  time.Time
	status int
	n      int64
	begun  bool
	events *eventLog
	sent   *capture // of an answer that is one message
}

// Unwrap lets http.ResponseController reach the writer below.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Flush implements http.Flusher, as streams want it.
func (a *answer) Flush() {
	// What cannot flush has nothing to be told: the interface has no error.
	_ = http.NewResponseController(a.ResponseWriter).Flush()
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if !a.begun && status >= 200 {
		a.status = status
		a.begin()
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) begin() {
	a.begun = true
	kind := strings.ToLower(a.Header().Get("Content-Type"))
	switch {
	case strings.HasPrefix(kind, "text/event-stream") && (a.d.on.SSE != "" || a.d.on.Payload != ""):
		a.events = &eventLog{d: a.d, start: a.start}
		if a.d.on.Payload != "" {
			a.events.limit = maxCapture
			a.events.each = func(data []byte, whole bool) {
				c := &capture{data: data, total: int64(len(data))}
				if !whole {
					c.total++
				}
				a.d.message("http", "sent", c)
			}
		}
	case strings.HasPrefix(kind, "application/json") && a.d.on.Payload != "":
		a.sent = &capture{}
	}
}

// end logs what is left to say of an answer.
func (a *answer) end() {
	if a.events != nil {
		a.events.end()
	}
	if a.sent != nil && a.sent.total > 0 {
		a.d.message("http", "sent", a.sent)
	}
}

// Write implements io.Writer.
func (a *answer) Write(p []byte) (int, error) {
	if !a.begun {
		a.begin()
	}
	n, err := a.ResponseWriter.Write(p)
	a.n += int64(n)
	if a.events != nil {
		a.events.write(p[:n])
	}
	if a.sent != nil {
		a.sent.write(p[:n])
	}
	return n, err
}
