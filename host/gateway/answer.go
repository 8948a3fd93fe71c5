package gateway

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// answer is the response to one request, as all handlers get it. An answer may take
// hours; a client that takes nothing of it, or sends no more of its request, may not.
type answer struct {
	http.ResponseWriter
	rc       *http.ResponseController
	patience *patience
	body     *sentBody
	// one says that the connection is of HTTP/1, where the body and the answer have it to
	// themselves. With HTTP/2 a deadline that passes ends the request, also where nothing
	// is being read or written, so that none is left behind.
	one   bool
	began bool
}

// newAnswer begins the answer to a request, whose body it takes over. Until admit is
// called the request has patience.prove.
func newAnswer(p *patience, w http.ResponseWriter, r *http.Request) *answer {
	a := &answer{ResponseWriter: w, rc: http.NewResponseController(w), patience: p, one: r.ProtoMajor == 1}
	a.body = &sentBody{ReadCloser: r.Body, ended: r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0}
	if r.Body != nil {
		r.Body = a.body
	}
	// Not all servers have deadlines; then the server's own bounds hold. So it is below.
	_ = a.rc.SetReadDeadline(time.Now().Add(p.prove))
	if a.one {
		// What was left of the request before must not end "100 Continue".
		_ = a.rc.SetWriteDeadline(time.Now().Add(p.write))
	}
	return a
}

// admit lifts the deadline of a request that is authenticated.
func admit(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
}

// readBody reads a whole body of at most limit bytes, for which tooLong tells an error
// apart, within patience.body.
func (p *patience) readBody(w http.ResponseWriter, r *http.Request, limit int) ([]byte, error) {
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(p.body))
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(limit)))
	_ = rc.SetReadDeadline(time.Time{})
	return text, err
}

// tooLong says whether an error of readBody is that the body is too long.
func tooLong(err error) bool {
	var long *http.MaxBytesError
	return errors.As(err, &long)
}

// WriteHeader implements http.ResponseWriter. An answer to a request whose body was not
// read ends the connection: else net/http would wait for the body before it answers.
func (a *answer) WriteHeader(status int) {
	if !a.began && status >= http.StatusOK {
		a.began = true
		if a.one && !a.body.ended {
			a.Header().Set("Connection", "close")
		}
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (a *answer) Write(p []byte) (int, error) {
	if !a.began {
		a.WriteHeader(http.StatusOK)
	}
	defer a.bound()()
	return a.ResponseWriter.Write(p)
}

// FlushError is for http.ResponseController.
func (a *answer) FlushError() error {
	if !a.began {
		a.WriteHeader(http.StatusOK)
	}
	defer a.bound()()
	return a.rc.Flush()
}

// bound bounds what is written until the function it gives is called.
func (a *answer) bound() (lift func()) {
	_ = a.rc.SetWriteDeadline(time.Now().Add(a.patience.write))
	return func() { _ = a.rc.SetWriteDeadline(time.Time{}) }
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// done leaves the rest to net/http: it writes what is still in its buffer, and reads
// what is left of the body.
func (a *answer) done() {
	if !a.one {
		return
	}
	_ = a.rc.SetWriteDeadline(time.Now().Add(a.patience.write))
	if !a.body.ended {
		_ = a.rc.SetReadDeadline(time.Now().Add(a.patience.rest))
	}
}

// sentBody is the body of a request that knows whether all of it was read.
type sentBody struct {
	io.ReadCloser
	ended bool
}

// Read implements io.Reader.
func (b *sentBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || errors.Is(err, io.EOF)
	return n, err
}

// hasBody says whether a request comes with a body, declared or not.
func hasBody(r *http.Request) bool { return r.ContentLength != 0 }

// bodiless are the methods whose requests have no body here.
func bodiless(method string) bool {
	switch method {
	case http.MethodGet, http.MethodDelete, http.MethodHead, http.MethodOptions:
		return true
	}
	return false
}
