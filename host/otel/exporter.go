package otel

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/redact"
	"github.com/cloister-wasm/cloister/internal/spans"
)

// Exporter is a host.TraceSink that exports spans. It is safe for concurrent use.
type Exporter struct {
	o       Options
	up      *uploader
	events  chan host.TraceEvent
	flushes chan chan struct{}

	ctx     context.Context // ends when Shutdown begins
	cancel  context.CancelFunc
	sending context.Context // ends when Shutdown ends
	giveUp  context.CancelFunc
	closed  atomic.Bool
	dropped atomic.Int64
	once    sync.Once
	done    sync.WaitGroup
	end     error // of the first Shutdown

	logged atomic.Int64 // when a failure was logged last, in Unix seconds
}

var _ host.TraceSink = (*Exporter)(nil)

// Stats counts what an Exporter did.
type Stats struct {
	// SentSpans were taken by the collector, FailedSpans were not.
	SentSpans, FailedSpans int
	// DroppedSpans and DroppedEvents met a full queue.
	DroppedSpans, DroppedEvents int
}

// New makes an exporter. It connects to nothing yet. Errors are ErrOptions.
func New(o Options) (*Exporter, error) {
	u, local, err := endpoint(o.Endpoint)
	if err != nil {
		return nil, err
	}
	if err := o.complete(); err != nil {
		return nil, err
	}
	secrets := slices.Clone(o.Secrets)
	for _, v := range o.Headers {
		secrets = append(secrets, v)
		for _, part := range strings.Fields(v) { // without "Bearer"
			if len(part) >= 8 {
				secrets = append(secrets, part)
			}
		}
	}
	r := redact.New(secrets...).Looking(lookAt)
	x := &Exporter{o: o, up: newUploader(&o, u, local, r), events: make(chan host.TraceEvent, o.QueueSize), flushes: make(chan chan struct{})}
	x.ctx, x.cancel = context.WithCancel(context.Background())
	x.sending, x.giveUp = context.WithCancel(context.Background())
	x.done.Go(func() { x.look(newStream(&o, r, x.up.add)) })
	x.done.Go(x.sendOften)
	return x, nil
}

// Emit implements host.TraceSink. It never blocks: an event for which the queue has
// no room is dropped, as are events after Shutdown.
func (x *Exporter) Emit(e host.TraceEvent) {
	if x.closed.Load() {
		return
	}
	select {
	case x.events <- e:
	default:
		x.dropped.Add(1)
	}
}

// Stats tells what was done so far.
func (x *Exporter) Stats() Stats {
	x.up.mu.Lock()
	defer x.up.mu.Unlock()
	s := x.up.stats
	s.DroppedEvents = int(x.dropped.Load())
	return s
}

// Flush sends all spans that have ended, and waits until the collector has them or
// ctx ends. Open spans stay open. Errors are ErrExport, ErrShutdown, or of ctx.
func (x *Exporter) Flush(ctx context.Context) error {
	seen := make(chan struct{})
	select {
	case x.flushes <- seen:
		<-seen
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrExport, context.Cause(ctx))
	case <-x.ctx.Done():
		return ErrShutdown
	}
	return x.up.send(ctx)
}

// Shutdown closes all open spans, sends what there is and ends the exporter, all
// within ctx; what is not sent by then is lost, and the error is ErrExport. Emit
// may still be called and does nothing. A further Shutdown gives the same error.
func (x *Exporter) Shutdown(ctx context.Context) error {
	x.once.Do(func() {
		x.closed.Store(true)
		defer x.giveUp()
		defer context.AfterFunc(ctx, x.giveUp)()
		x.cancel()
		x.done.Wait() // for the events that are left, and for what is being sent
		x.end = x.up.send(ctx)
		x.up.http.CloseIdleConnections()
	})
	return x.end
}

// look makes spans of events until the exporter ends.
func (x *Exporter) look(s *spans.Stream) {
	tick := time.NewTicker(max(x.o.OpenTTL/20, time.Second))
	defer tick.Stop()
	for {
		select {
		case e := <-x.events:
			s.Add(eventOf(&e))
		case seen := <-x.flushes:
			x.drain(s)
			close(seen)
		case <-tick.C:
			s.Expire(time.Now())
		case <-x.ctx.Done():
			x.drain(s)
			s.Close()
			return
		}
	}
}

// drain looks at the events that are there.
func (x *Exporter) drain(s *spans.Stream) {
	for range len(x.events) {
		select {
		case e := <-x.events:
			s.Add(eventOf(&e))
		default:
			return
		}
	}
}

// sendOften sends spans when there is a batch of them, or after Interval.
func (x *Exporter) sendOften() {
	tick := time.NewTicker(x.o.Interval)
	defer tick.Stop()
	for {
		select {
		case <-x.ctx.Done():
			return
		case <-tick.C:
		case <-x.up.full:
		}
		if err := x.up.send(x.sending); err != nil {
			x.complain(err)
		}
	}
}

// complain logs a failure, but not each.
func (x *Exporter) complain(err error) {
	now, last := time.Now().Unix(), x.logged.Load()
	if now-last < 60 || !x.logged.CompareAndSwap(last, now) {
		return
	}
	x.o.Logger.Warn("traces were not exported", "endpoint", x.o.Endpoint, "error", err.Error(), "lost", x.Stats().FailedSpans)
}
