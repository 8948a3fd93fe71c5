package bundle

import (
	"context"
	"io"
	"sync"
)

// Operations of [Progress].
const (
	OperationPush = "push"
	OperationPull = "pull"
)

// Progress tells of one transfer: first with Done 0, then as bytes move, last, if it succeeded, with Finished set. Done
// falls back to 0 when a transfer is tried again.
type Progress struct {
	// Operation is OperationPush or OperationPull.
	Operation string
	// Name is what moves: "manifest", "wasm", "readme", "license", "config", "OCI manifest", "signature" and others.
	Name string
	// Done and Total are bytes.
	Done, Total int64
	// Finished is set once, with Done equal to Total, also for what the registry had already.
	Finished bool
}

// tracker tells of one transfer. An upload is read by a goroutine of net/http, which may go on for a moment after the
// registry has answered: hence the lock, and the end after which nothing is told.
type tracker struct {
	progress func(Progress)

	mu    sync.Mutex
	p     Progress
	ended bool
}

type trackerKey struct{}

func (r *Remote) track(operation, name string, total int64) *tracker {
	t := &tracker{progress: r.Progress, p: Progress{Operation: operation, Name: name, Total: total}}
	t.tell(0)
	return t
}

// context lets the guard find the tracker of an upload.
func (t *tracker) context(ctx context.Context) context.Context {
	return context.WithValue(ctx, trackerKey{}, t)
}

func (t *tracker) tell(done int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.progress == nil || t.ended {
		return
	}
	t.p.Done = min(done, t.p.Total)
	t.progress(t.p)
}

// end is the last that is told, and only of a success.
func (t *tracker) end(ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.progress != nil && ok && !t.ended {
		t.p.Done, t.p.Finished = t.p.Total, true
		t.progress(t.p)
	}
	t.ended = true
}

// count tells of the bytes that are read from a body.
func (t *tracker) count(body io.ReadCloser) io.ReadCloser {
	return &countingBody{ReadCloser: body, t: t}
}

type countingBody struct {
	io.ReadCloser
	t *tracker
	n int64
}

// Read reads and tells.
func (c *countingBody) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if n > 0 {
		c.n += int64(n)
		c.t.tell(c.n)
	}
	return n, err
}
