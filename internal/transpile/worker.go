package transpile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Worker is a Transformer that runs esbuild in child processes of its own: at
// most Options.MaxWorkers, started when they are needed, kept warm between
// calls, ended when idle, killed when they overrun. It is safe for concurrent
// use. Close ends its processes; a Worker that was used and not closed leaves
// them until the program ends.
type Worker struct {
	opts    Options
	invalid error         // of the options
	slots   chan struct{} // one for each process that is busy, starting or dying
	life    context.Context
	end     context.CancelFunc
	wg      sync.WaitGroup // calls, and goroutines that outlive them

	mu     sync.Mutex
	closed bool
	idle   []*child // the last one was used last
}

var _ Transformer = (*Worker)(nil)

// NewWorker returns a Worker with these options; nil means the defaults. They
// are copied. It starts no process: the first Transform does. Options that
// Validate refuses are reported by every Transform.
func NewWorker(o *Options) *Worker {
	w := &Worker{opts: o.withDefaults(), invalid: o.Validate()}
	if w.invalid == nil {
		w.slots = make(chan struct{}, w.opts.MaxWorkers)
	}
	w.life, w.end = context.WithCancel(context.Background())
	return w
}

// Close ends all processes, idle or busy, and waits until they are gone. Calls
// under way and later ones return ErrClosed. Closing twice is allowed; the
// error is always nil.
func (w *Worker) Close() error {
	w.mu.Lock()
	w.closed = true
	idle := w.idle
	w.idle = nil
	w.mu.Unlock()
	w.end()
	for _, c := range idle {
		c.idle.Stop()
		c.dispose()
	}
	w.wg.Wait()
	return nil
}

// Transform transforms one cell. It waits for a free process, starts one if
// there may be another, and returns soon after ctx ends, or after Options.Timeout
// from the moment the source was handed to a process.
//
// Errors: *SyntaxError and *ModuleAccessError for faults of the source;
// ErrSourceTooLarge, ErrOutputTooLarge, ErrTimeLimit and ErrWorkerDied
// (*WorkerDiedError) for a source beyond the bounds; context.DeadlineExceeded or
// context.Canceled when ctx ended; ErrClosed; ErrWorkerUnavailable and
// ErrInternal when something is broken on our side.
func (w *Worker) Transform(ctx context.Context, in Input) (*Output, error) {
	if w.invalid != nil {
		return nil, w.invalid
	}
	if err := in.check(w.opts.MaxSourceBytes); err != nil {
		return nil, err
	}
	if !w.enter() {
		return nil, ErrClosed
	}
	defer w.wg.Done()
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(w.life, func() { cancel(ErrClosed) })()

	select {
	case w.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ended(ctx)
	}
	ctx, stop := context.WithTimeoutCause(ctx, w.opts.Timeout, ErrTimeLimit)
	defer stop()
	out, err := w.transform(ctx, in.Source)
	return out, named(err, in.Filename)
}

// enter counts a call, or a goroutine, that Close has to wait for.
func (w *Worker) enter() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.wg.Add(1)
	return true
}

// ended turns the end of ctx into an error that matches its reason, and
// context's own error unless the reason is ours.
func ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, ErrTimeLimit), errors.Is(cause, ErrClosed):
		return cause
	case errors.Is(cause, ctx.Err()):
		return fmt.Errorf("transpile: %w", cause)
	}
	return fmt.Errorf("transpile: %w: %w", ctx.Err(), cause)
}

// transform holds a slot, which it gives back or leaves to reap.
func (w *Worker) transform(ctx context.Context, source string) (*Output, error) {
	for {
		c, warm, err := w.take(ctx)
		if err != nil {
			return nil, err
		}
		payload, alive, err := c.exchange(ctx, source, w.opts.MaxOutputBytes)
		if err == nil {
			out, outcome, malformed := decodeReply(payload)
			if malformed != nil {
				w.reap(c)
				return nil, fmt.Errorf("%w: the worker's answer: %w", ErrInternal, malformed)
			}
			w.put(c, alive)
			return out, outcome
		}
		cause, err := w.diagnose(ctx, c, err)
		switch {
		case err != nil:
			w.reap(c)
			return nil, err
		case warm && cause == CauseSignal:
			// It was ended from outside, perhaps long before it got this source,
			// which deserves one try in a process of its own.
			c.dispose()
			continue
		}
		w.reap(c)
		return nil, &WorkerDiedError{Cause: cause}
	}
}

// diagnose finds out why an exchange failed: an error when that was not the end of
// the process, else the cause of its death.
func (w *Worker) diagnose(ctx context.Context, c *child, failure error) (Cause, error) {
	switch {
	case ctx.Err() != nil:
		return "", ended(ctx)
	case errors.Is(failure, errFrameTooLarge):
		return "", fmt.Errorf("%w: the worker's answer: %w", ErrInternal, failure)
	}
	select {
	case <-c.exited:
		return c.cause(), nil
	case <-ctx.Done():
		return "", ended(ctx)
	}
}

// take returns an idle process, which is warm, or a new one. On an error it has
// given the slot back.
func (w *Worker) take(ctx context.Context) (c *child, warm bool, err error) {
	for {
		c := w.pop()
		if c == nil {
			break
		}
		c.idle.Stop()
		if !c.hasExited() {
			return c, true, nil
		}
		c.dispose()
	}
	c, err = w.start(ctx)
	return c, false, err
}

func (w *Worker) pop() *child {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.idle) == 0 {
		return nil
	}
	c := w.idle[len(w.idle)-1]
	w.idle = w.idle[:len(w.idle)-1]
	return c
}

// start starts a process and exchanges hellos with it.
func (w *Worker) start(ctx context.Context) (*child, error) {
	executable := w.opts.Executable
	if executable == "" {
		var err error
		if executable, err = defaultExecutable(); err != nil {
			<-w.slots
			return nil, fmt.Errorf("%w: %w", ErrWorkerUnavailable, err)
		}
	}
	h := hello{
		nonce:     newNonce(),
		memory:    w.opts.MemoryLimitBytes,
		maxSource: w.opts.MaxSourceBytes,
		maxOutput: w.opts.MaxOutputBytes,
	}
	c, err := startChild(executable, h.nonce)
	if err != nil {
		<-w.slots
		return nil, fmt.Errorf("%w: %w", ErrWorkerUnavailable, err)
	}
	w.wg.Go(c.reap)
	c.idle = time.AfterFunc(w.opts.IdleTimeout, func() { w.expire(c) })
	c.idle.Stop()
	if err := c.greet(ctx, h); err != nil {
		w.reap(c)
		if ctx.Err() != nil {
			return nil, ended(ctx)
		}
		return nil, fmt.Errorf("%w: %s is no worker of this version: %w", ErrWorkerUnavailable, executable, err)
	}
	return c, nil
}

// put makes a process idle and gives its slot back, or buries it.
func (w *Worker) put(c *child, alive bool) {
	w.mu.Lock()
	if !alive || w.closed {
		w.mu.Unlock()
		w.reap(c)
		return
	}
	trim(&c.reply)
	w.idle = append(w.idle, c)
	c.idle.Reset(w.opts.IdleTimeout)
	w.mu.Unlock()
	<-w.slots
}

// reap disposes of a process in the background and gives its slot back when it
// is gone: the dying count as well.
func (w *Worker) reap(c *child) {
	c.kill()
	w.wg.Go(func() {
		c.dispose()
		<-w.slots
	})
}

// expire ends a process that was idle for long enough.
func (w *Worker) expire(c *child) {
	if !w.enter() {
		return
	}
	defer w.wg.Done()
	select {
	case w.slots <- struct{}{}:
	default:
		// Somebody who has a slot may be about to take this process; if not,
		// its time comes again.
		c.idle.Reset(w.opts.IdleTimeout)
		return
	}
	if w.remove(c) {
		c.dispose()
	}
	<-w.slots
}

func (w *Worker) remove(c *child) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.idle, c)
	if i < 0 {
		return false
	}
	w.idle = slices.Delete(w.idle, i, i+1)
	return true
}
