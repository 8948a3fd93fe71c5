package guestloop

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/quickjs"
)

var encodedNull = []byte{guestabi.TagNull}

func validUTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// step is what a driver does next.
type step int

const (
	stepIdle   step = iota // nothing: the token was given back
	stepStart              // start the program
	stepTurn               // deliver, run jobs, take messages
	stepFinish             // take the value
	stepEnd                // the program has completed
	stepFail               // end it as Loop.mu.ending or as the error that next gives
	stepPause              // suspend it
	stepWork               // do a request's work; the token was given back
)

// move is a step with what it needs.
type move struct {
	step step
	err  error    // of stepFail
	why  Why      // of stepPause
	leg  *leg     // that stepPause ends, nil for none
	work *Request // of stepWork
}

// drive runs the program until it has to wait. The caller holds the token and gives it up.
func (l *Loop) drive() { l.driveAs(context.Background(), false) }

// driveHere is drive in the goroutine of Run, for turns that cannot outlast the leg: to wake another
// goroutine, on another core whose caches know nothing of the guest, costs more than a small program. What may
// take longer, work and suspension, goes to goroutines of its own. The end of caller interrupts the guest and ends
// the program.
func (l *Loop) driveHere(caller context.Context) { l.driveAs(caller, true) }

// mergedContext ends with either of two contexts, for those who ask for Err, as a guest's checkpoints do. Its Done
// and values are those of the first.
type mergedContext struct {
	context.Context
	other context.Context
}

// Err implements context.Context.
func (c mergedContext) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	return c.other.Err()
}

// guestContext is what guest code runs under. The caller holds the token.
func (l *Loop) guestContext() context.Context {
	if l.caller == nil {
		return l.ctx
	}
	return l.caller
}

// driveAs drives; here says that it does so in the goroutine of Run, whose context caller is.
func (l *Loop) driveAs(caller context.Context, here bool) {
	if here {
		l.caller = mergedContext{l.ctx, caller}
	}
	defer func() {
		if p := recover(); p != nil {
			l.panicked(p)
			l.end(ErrPanicked)
		}
	}()
	for {
		var err error
		switch m := l.next(here); m.step {
		case stepStart:
			err = l.start()
		case stepTurn:
			err = l.turn()
		case stepFinish:
			l.guest.VM.SetDeadline(l.turnEnds())
			err = l.o.Program.Finish(l.guestContext(), &l.guest)
			if err == nil {
				err = l.turn()
			}
		case stepFail:
			err = m.err
		case stepEnd:
			l.end(nil)
			return
		case stepPause:
			if here {
				l.caller = nil
				go l.pauseAndDrive(m.leg, m.why)
				return
			}
			if !l.pause(m.leg, m.why) {
				return
			}
		case stepWork:
			next, mine := l.doWork(m.work)
			if next != nil {
				go l.perform(next)
			}
			if !mine {
				return
			}
		default:
			return
		}
		if err != nil {
			if here && caller.Err() != nil {
				l.gone(context.Cause(caller))
			}
			l.end(err)
			return
		}
	}
}

// gone notes that the caller of a leg that ends with it has gone. The caller holds the token.
func (l *Loop) gone(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.ending == nil {
		l.mu.ending = why
	}
	l.cancel(why)
}

// next decides what a driver does. Here says that it runs in the goroutine of Run, which is to do no work.
func (l *Loop) next(here bool) move {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := &l.mu
	now := time.Now()
	if m.since.IsZero() {
		m.since = now
	}
	if m.fresh {
		m.fresh, m.used, m.since = false, 0, now
		if m.leg != nil {
			m.compute = m.leg.compute
		}
	}
	single := m.single
	m.single = nil
	if single != nil && (here || m.leg == nil || m.ending != nil) {
		go l.perform(single)
		single = nil
	}
	atEnd := m.mainDone && (len(m.open) == 0 || l.o.AtEnd == CancelOpen)
	switch {
	case m.ending != nil:
		return move{step: stepFail, err: m.ending}
	case l.ctx.Err() != nil:
		return move{step: stepFail, err: context.Cause(l.ctx)}
	case !m.started:
		m.started = true
		return l.turnLocked(stepStart)
	case m.mainDone && len(m.open) > 0 && l.o.AtEnd == FailOpen:
		return move{step: stepFail, err: ErrOpenAtEnd}
	case atEnd && !m.finished:
		m.finished = true
		return l.turnLocked(stepFinish)
	case atEnd:
		return move{step: stepEnd}
	case len(m.open) == 0:
		return move{step: stepFail, err: ErrDeadlock}
	case m.leg != nil && len(m.settled) > 0:
		return l.turnLocked(stepTurn)
	}
	// The program awaits something: its clock stops.
	m.used, m.since = m.used+now.Sub(m.since), time.Time{}
	if m.leg == nil && !m.paused {
		return move{step: stepPause, why: Background}
	}
	if m.leg != nil {
		if why := l.stops(now); why != 0 {
			if single != nil {
				go l.perform(single)
			}
			return move{step: stepPause, why: why, leg: m.leg}
		}
	}
	m.busy, l.caller = false, nil
	if single != nil {
		return move{step: stepWork, work: single}
	}
	return move{}
}

// turnLocked is a step that makes a turn. The caller holds mu.
func (l *Loop) turnLocked(s step) move {
	if l.mu.leg != nil {
		l.mu.leg.turned = true
	}
	return move{step: s}
}

// turnEndsLocked is when the turn under way is interrupted. The caller holds mu.
//
// Where the program has awaited nothing, its time and that of its leg end together. Where it has, the leg ends
// first, and the turn is left to itself: it may compute as long as a leg from where it began, or what it computed in
// earlier turns would decide, and with that how busy the machine was.
func (l *Loop) turnEndsLocked() time.Time {
	m := &l.mu
	since := m.since
	if since.IsZero() {
		since = time.Now()
	}
	if ends := since.Add(m.compute - m.used); m.leg != nil && !ends.After(m.leg.until.Add(killSlack)) {
		return ends
	}
	return since.Add(m.compute)
}

// stops says whether the leg ends here, where nothing has settled. The caller holds mu.
func (l *Loop) stops(now time.Time) Why {
	m := &l.mu
	early, callers := false, 0
	var person time.Time
	for _, r := range m.open {
		switch {
		case r.done:
		case r.early:
			early = true
		case r.outside == Caller:
			callers++
		case r.outside == Person && (person.IsZero() || r.since.Before(person)):
			person = r.since
		}
	}
	// Grace counts from the beginning of a leg at the earliest: the answer may be on its way.
	past := func(since time.Time) bool {
		if since.Before(m.leg.began) {
			since = m.leg.began
		}
		return !now.Before(since.Add(l.o.Grace))
	}
	switch {
	case len(m.yields) > 0 && early && !past(m.leg.began):
		m.leg.alert()
	case len(m.yields) > 0:
		return Yielded
	case callers == len(m.open) && !l.o.CallerTold:
		return AwaitsCaller
	case person.IsZero() || !m.leg.turned:
	case past(person):
		return AwaitsPerson
	default:
		m.leg.alert()
	}
	return 0
}

func (l *Loop) start() error {
	var err error
	if l.guest.VM, err = l.o.NewVM(l.guestContext()); err != nil {
		return err
	}
	l.mu.Lock()
	l.mu.since = time.Now() // what the machine is made of is not the program's time
	l.mu.Unlock()
	l.guest.VM.SetDeadline(l.turnEnds())
	if l.guest.Main, err = l.o.Program.Start(l.guestContext(), l.guest.VM); err != nil {
		return err
	}
	return l.turn()
}

func (l *Loop) turnEnds() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.turnEndsLocked()
}

// turn delivers what has settled, runs the guest's jobs, and acts on its messages.
func (l *Loop) turn() error {
	if l.guest.VM == nil {
		if err := l.guest.restore(l.ctx, l.o.Restore); err != nil {
			return err
		}
	}
	vm, t := l.guest.VM, l.guest.VM.Template()
	ends := l.turnEnds()
	vm.SetDeadline(ends)
	state, outbox, err := vm.Turn(l.guestContext(), t.Entry(guestabi.EntrySettle), l.collect(), t.Entry(guestabi.EntryDrain), l.guest.Main, l.o.Limits.MaxOutbox)
	if err != nil {
		return err
	}
	for len(outbox) > 0 {
		line, rest, found := bytes.Cut(outbox, []byte{'\n'})
		if !found {
			return ErrForged
		}
		if err := l.o.Program.Message(line); err != nil {
			return err
		}
		// What the host does for the guest counts as the guest's own time.
		if err := l.ctx.Err(); err != nil {
			return context.Cause(l.ctx)
		}
		if outbox = rest; len(outbox) > 0 && time.Now().After(ends) {
			return ErrTooLong
		}
	}
	if state == quickjs.Rejected {
		return ErrRejected
	}
	l.mu.Lock()
	l.mu.mainDone = state == quickjs.Fulfilled
	l.mu.Unlock()
	l.launch()
	return nil
}

// pauseAndDrive pauses and, if a new leg has come meanwhile, drives for it. The caller holds the token.
func (l *Loop) pauseAndDrive(g *leg, why Why) {
	if l.pauseContained(g, why) {
		l.drive()
	}
}

func (l *Loop) pauseContained(g *leg, why Why) (goOn bool) {
	defer func() {
		if p := recover(); p != nil {
			l.panicked(p)
			l.end(ErrPanicked)
			goOn = false
		}
	}()
	return l.pause(g, why)
}

// pause suspends the program and ends leg g with what Suspend returns. GoOn says that
// there is more to do: the caller still holds the token then.
func (l *Loop) pause(g *leg, why Why) (goOn bool) {
	payload, err := l.o.Program.Suspend(l.ctx, l.machine(), why)
	if err != nil {
		l.end(err)
		return false
	}
	l.mu.Lock()
	m := &l.mu
	if m.ending != nil {
		m.Unlock()
		return true // next ends it
	}
	if m.leg != g { // g has gone, and another one may have come
		m.paused = m.leg == nil
		m.Unlock()
		return true
	}
	m.leg, m.paused = nil, true
	if g != nil {
		m.busy = false
	}
	m.Unlock()
	if g == nil {
		return true
	}
	g.done <- Stop{Payload: payload}
	return false
}
