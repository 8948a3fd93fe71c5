package guestloop

import (
	"context"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/quickjs"
)

// Work does what a request asks for. It runs in a goroutine that does not own the
// guest, with a context that ends with the program. A panic, or an end of the
// goroutine, settles the request as a failure.
type Work func(ctx context.Context, r *Request) Outcome

// Request is something that the guest has asked for and not got yet.
type Request struct {
	l    *Loop
	id   int
	work Work // nil for answers and yields
	data any

	// Guarded by Loop.mu.
	early   bool // its work has not come to the point at which it may show itself to a caller
	done    bool
	outside Outside
	since   time.Time // when outside became Person
	size    int       // bytes that count in Loop.mu.held
	value   []byte
	failure *guestabi.Thrown
}

// Data is what Open was given.
func (r *Request) Data() any { return r.data }

// ID is the guest's number of the request.
func (r *Request) ID() int { return r.id }

// Outside says whether work waits for somebody outside of the host.
type Outside int

// The kinds of waiting.
const (
	// Inside: it waits for nobody outside.
	Inside Outside = iota
	// Person waits for a person: after Options.Grace that suspends the program.
	Person
	// Caller waits for the caller of the leg: a program that waits for nothing else is
	// suspended at once, and the work counts no longer as in flight.
	Caller
)

// Opening describes a request for Open.
type Opening struct {
	Work Work
	Data any
	Size int // bytes of its input, which the work keeps
	// Early says that the work may show itself to the caller of the leg (Wait with Caller):
	// a program that yields stops when it has, or has not after Options.Grace.
	Early bool
}

// check refuses numbers that the prelude would not use. The caller holds mu.
func (l *Loop) check(id int) error {
	switch {
	case id < 0 || id >= l.o.Limits.MaxOpen || l.mu.open[id] != nil:
		return ErrForged
	case len(l.mu.open) >= l.o.Limits.MaxOpen:
		return ErrTooManyOpen
	}
	return nil
}

// Open opens a request. It works as soon as a place is free, after the Message that
// opened it. ErrNoRoom leaves it closed: answer it. Other errors are to end the program.
func (l *Loop) Open(id int, o Opening) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.check(id); err != nil {
		return err
	}
	if l.mu.held+o.Size > l.o.Limits.MaxHeld || !l.take(o.Size) {
		return ErrNoRoom
	}
	r := &Request{l: l, id: id, work: o.Work, data: o.Data, size: o.Size, early: o.Early}
	l.mu.open[id] = r
	l.mu.held += o.Size
	l.mu.queue = append(l.mu.queue, r)
	return nil
}

func (l *Loop) take(n int) bool { return n == 0 || l.o.Budget == nil || l.o.Budget.Take(n) }

func (l *Loop) give(n int) {
	if n > 0 && l.o.Budget != nil {
		l.o.Budget.Give(n)
	}
}

// Held is how many bytes open requests hold, for messages about ErrNoRoom.
func (l *Loop) Held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.held
}

// Answer settles, in the turn that asks, what the host knows itself. ErrNoRoom leaves
// it open: answer with a failure, for which there is always room. Other errors are to
// end the program.
func (l *Loop) Answer(id int, o Outcome) error {
	r := &Request{l: l, id: id}
	r.value, r.failure = encode(o)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.check(id); err != nil {
		return err
	}
	if o.Failure == nil && (l.mu.held+len(r.value) > l.o.Limits.MaxHeld || !l.take(len(r.value))) {
		return ErrNoRoom
	}
	if o.Failure == nil {
		r.size = len(r.value)
		l.mu.held += r.size
	}
	r.done = true
	l.mu.open[id] = r
	l.mu.settled = append(l.mu.settled, r)
	return nil
}

// Yield opens a request that the next leg settles as null.
func (l *Loop) Yield(id int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.check(id); err != nil {
		return err
	}
	r := &Request{l: l, id: id, done: true}
	l.mu.open[id] = r
	l.mu.yields = append(l.mu.yields, r)
	return nil
}

// Requests are those that Open opened and that have not settled, in no order.
func (l *Loop) Requests() []*Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]*Request, 0, len(l.mu.open))
	for _, r := range l.mu.open {
		if !r.done {
			out = append(out, r)
		}
	}
	return out
}

// Wait tells the loop that the work waits for somebody outside, or that it does no
// longer.
func (r *Request) Wait(o Outside) {
	l := r.l
	l.mu.Lock()
	if r.done || l.mu.over {
		l.mu.Unlock()
		return
	}
	var next []*Request
	if (o == Caller) != (r.outside == Caller) {
		if o == Caller {
			l.mu.inFlight--
			next = l.startable()
		} else {
			l.mu.inFlight++
		}
	}
	r.outside, r.early, r.since = o, false, time.Now()
	leg := l.mu.leg
	drive := leg != nil && !l.mu.busy && o == Caller
	if drive {
		l.mu.busy = true
	}
	l.mu.Unlock()
	for _, r := range next {
		go l.perform(r)
	}
	if drive {
		go l.drive()
	} else if leg != nil && o == Person {
		leg.alert()
	}
}

// encode prepares an outcome for its delivery. A value that cannot be is a failure.
func encode(o Outcome) (value []byte, failure *guestabi.Thrown) {
	if failure = o.Failure; failure == nil {
		var err error
		if value, err = guestabi.AppendJSON(make([]byte, 0, len(o.Value)+16), o.Value); err == nil {
			return value, nil
		}
		failure = &guestabi.Thrown{Name: "Error", Message: "the result cannot be handed on", Code: "internal_error"}
	}
	return appendFailure(nil, failure), failure
}

// appendFailure encodes [name, message, code].
func appendFailure(b []byte, f *guestabi.Thrown) []byte {
	b = append(b, guestabi.TagArray, 3, 0, 0, 0)
	for _, s := range [...]string{f.Name, f.Message, f.Code} {
		b = guestabi.AppendString(b, validUTF8(s))
	}
	return b
}

// perform works on a request, and on further ones of the queue, in a goroutine of
// its own. It drives if the guest is free when one of them settles.
func (l *Loop) perform(r *Request) {
	for r != nil {
		next, drive := l.doWork(r)
		if drive {
			if next != nil {
				go l.perform(next)
			}
			l.drive()
			return
		}
		r = next
	}
}

// doWork works on a request and settles it. Next is one of the queue for which a
// place is free; drive says that the caller now owns the guest.
func (l *Loop) doWork(r *Request) (next *Request, drive bool) {
	returned := false
	defer func() {
		if returned {
			return
		}
		// The work panicked or ended its goroutine, as runtime.Goexit does.
		if p := recover(); p != nil {
			l.panicked(p)
		}
		if next, drive = l.settle(r, Outcome{Failure: failedInside()}); drive {
			drive = false
			go l.drive()
		}
		if next != nil {
			go l.perform(next)
			next = nil
		}
	}()
	o := r.work(l.ctx, r)
	returned = true
	return l.settle(r, o)
}

func failedInside() *guestabi.Thrown {
	return &guestabi.Thrown{Name: "Error", Message: "the call failed inside", Code: "tool_failed"}
}

// settle records an outcome. Drive says that the guest was free and is now the caller's.
func (l *Loop) settle(r *Request, o Outcome) (next *Request, drive bool) {
	value, failure := encode(o)
	l.mu.Lock()
	defer l.mu.Unlock()
	m := &l.mu
	if m.over || r.done {
		return nil, false
	}
	if failure == nil && !l.take(len(value)) {
		value, failure = encode(Outcome{Failure: &guestabi.Thrown{Name: "Error", Message: "the host holds too many bytes for suspended programs and open calls; the result was dropped", Code: string(guestabi.ReasonTooManyPendingToolCalls)}})
	} else if failure == nil {
		r.size += len(value)
		m.held += len(value)
	}
	r.value, r.failure, r.done, r.early = value, failure, true, false
	if r.outside != Caller {
		m.inFlight--
	}
	m.settled = append(m.settled, r)
	starts := l.startable()
	for i, s := range starts {
		if i == 0 {
			next = s
		} else {
			go l.perform(s)
		}
	}
	if m.leg != nil && !m.busy {
		m.busy, drive = true, true
	}
	return next, drive
}

// startable takes the requests from the queue that places are free for. The caller
// holds mu.
func (l *Loop) startable() []*Request {
	m := &l.mu
	n := min(len(m.queue), l.o.Limits.MaxInFlight-m.inFlight)
	if n <= 0 || l.ctx.Err() != nil || m.held > l.o.Limits.MaxHeld {
		return nil
	}
	next := m.queue[:n:n]
	m.queue = m.queue[n:]
	m.inFlight += n
	return next
}

// launch starts the requests that places are free for, each in a goroutine of its
// own. One that is the only open one is left for the driver: to wake another
// goroutine costs more than most requests. Not so when the program yields, for then
// the leg is about to end.
func (l *Loop) launch() {
	l.mu.Lock()
	next := l.startable()
	if len(next) == 1 && len(l.mu.open) == 1 && l.mu.leg != nil {
		l.mu.single = next[0]
		next = nil
	}
	l.mu.Unlock()
	for _, r := range next {
		go l.perform(r)
	}
}

// collect takes what has settled, for delivery in one batch.
func (l *Loop) collect() []quickjs.Settlement {
	l.mu.Lock()
	m := &l.mu
	n, size, held := 0, 0, 0
	for ; n < len(m.settled) && (n == 0 || size+len(m.settled[n].value) <= l.o.Limits.MaxBatch); n++ {
		r := m.settled[n]
		size += len(r.value)
		held += r.size
		delete(m.open, r.id)
	}
	settled := m.settled[:n:n]
	if m.settled = m.settled[n:]; len(m.settled) == 0 {
		m.settled = nil
	}
	m.held -= held
	m.Unlock()
	l.give(held)
	batch := l.batch[:0]
	for _, r := range settled {
		s := quickjs.Settlement{Slot: uint32(r.id), Value: r.value}
		if r.failure == nil {
			s.Flag = 1
		}
		l.o.Program.Delivered(&Delivery{ID: r.id, Data: r.data, Value: r.value, Failure: r.failure})
		batch = append(batch, s)
	}
	l.batch = batch
	return batch
}
