package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// What [Remote.IdleTimeout] and [Remote.Timeout] are where they are 0.
const (
	// DefaultIdleTimeout bounds each wait for the next bytes.
	DefaultIdleTimeout = 60 * time.Second
	// DefaultTimeout bounds a call: 32 MiB within it are 37 KB a second.
	DefaultTimeout = 15 * time.Minute
)

// bounded gives a call its total time. finish says what the end of that time did to the call; it must be called once.
func (r *Remote) bounded(ctx context.Context) (bounded context.Context, finish func(error) error) {
	total := r.Timeout
	if total <= 0 {
		total = DefaultTimeout
	}
	over := fmt.Errorf("%w: it took more than %v in all; try again, or give it more time (Timeout)", ErrSlow, total)
	bounded, cancel := context.WithTimeoutCause(ctx, total, over)
	return bounded, func(err error) error {
		defer cancel()
		if err == nil || context.Cause(bounded) != over || errors.Is(err, ErrSlow) {
			return err
		}
		var ours *Error
		if errors.As(err, &ours) && ours.Kind != ErrRegistry {
			return err // it had failed by itself
		}
		return fail(ErrRegistry, "%v", over)
	}
}

// watch bounds the waits within one request: for the other end to take what is sent, and to send what it answers. The wait
// for the head of the answer is the transport's.
func (g *guard) watch(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	stalled := fmt.Errorf("%w: nothing moved for %v; try again, or give it more time (IdleTimeout)", ErrSlow, g.idle)
	w := &watch{ctx: ctx, idle: g.idle, stalled: stalled, cancel: cancel}
	w.timer = time.AfterFunc(g.idle, func() { cancel(stalled) })
	w.timer.Stop()
	req = req.WithContext(ctx)
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = &sentBody{req.Body, w}
	}
	resp, err := g.base.RoundTrip(req)
	if err != nil {
		// Before end, which would be taken for the caller's. A dial that times out is tried again, as the library does.
		var timeout net.Error
		var dial *net.OpError
		if errors.As(err, &timeout) && timeout.Timeout() && ctx.Err() == nil && !errors.As(err, &dial) {
			err = stalled
		}
		err = w.reason(err)
		w.end()
		return nil, err
	}
	resp.Body = &answerBody{resp.Body, w}
	return resp, nil
}

type watch struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	idle    time.Duration
	stalled error
}

func (w *watch) end() {
	w.timer.Stop()
	w.cancel(context.Canceled)
}

// reason puts the watch's own end in the place of the "canceled" that the transport makes of it.
func (w *watch) reason(err error) error {
	if context.Cause(w.ctx) == w.stalled {
		return w.stalled
	}
	return err
}

// answerBody waits no longer than that for each piece. Time that the reader takes for itself is not the registry's.
type answerBody struct {
	io.ReadCloser
	w *watch
}

// Read reads what comes within the time.
func (b *answerBody) Read(p []byte) (int, error) {
	b.w.timer.Reset(b.w.idle)
	n, err := b.ReadCloser.Read(p)
	b.w.timer.Stop()
	if err != nil && err != io.EOF {
		err = b.w.reason(err)
	}
	return n, err
}

// Close ends the request.
func (b *answerBody) Close() error {
	err := b.ReadCloser.Close()
	b.w.end()
	return err
}

// sentBody is asked for the next piece when the one before it went out.
type sentBody struct {
	io.ReadCloser
	w *watch
}

// Read hands a piece on, and begins to wait for it to go out.
func (b *sentBody) Read(p []byte) (int, error) {
	b.w.timer.Stop()
	n, err := b.ReadCloser.Read(p)
	if err == nil {
		b.w.timer.Reset(b.w.idle)
	}
	return n, err
}

// Close ends the wait: what was sent is out, or nobody wants it.
func (b *sentBody) Close() error {
	b.w.timer.Stop()
	return b.ReadCloser.Close()
}
