package guestloop

import (
	"context"
	"time"
)

// Leg is one call from outside that drives the program: an exec or a wait.
type Leg struct {
	// Until is when Run is to return, whatever the program does.
	Until time.Time
	// Compute is how long the program may compute for this leg, and how long a turn may that outlasts it.
	Compute time.Duration
	// EndWithCaller ends the program, as the cause, when Run's context ends. Without it the
	// program is left suspended.
	EndWithCaller bool
	// Apart says that the start of the program may take long, so that not even its first turn is
	// made in the goroutine of Run.
	Apart bool
	// Attached, if set, is called when the program is this leg's, before anything else.
	Attached func()
}

// Stop says how a leg ended.
type Stop struct {
	// Ended says that the program has ended; else it is suspended.
	Ended bool
	// Gone says that the caller's context ended. Payload may be nil then.
	Gone bool
	// Payload is what the Program returned for the caller.
	Payload any
}

// leg is an attached Leg.
type leg struct {
	began   time.Time
	until   time.Time
	compute time.Duration
	turned  bool          // a turn was made; guarded by Loop.mu
	done    chan Stop     // capacity 1
	alarm   chan struct{} // capacity 1: a request waits for a person
}

func (g *leg) alert() {
	select {
	case g.alarm <- struct{}{}:
	default:
	}
}

// Run starts the program, or goes on with one that is suspended, and returns when it
// ends, when it is suspended, or at leg.Until. Only one Run is attached at a time.
func (l *Loop) Run(ctx context.Context, o Leg) (Stop, error) {
	g := &leg{began: time.Now(), until: o.Until, compute: o.Compute, done: make(chan Stop, 1), alarm: make(chan struct{}, 1)}
	stop, mine, err := l.attach(g)
	if err != nil {
		return Stop{}, err
	}
	if o.Attached != nil {
		o.Attached()
	}
	if stop != nil {
		return *stop, nil
	}
	switch {
	case !mine:
	case o.EndWithCaller:
		if o.Apart || time.Now().Add(o.Compute).After(o.Until.Add(killSlack)) {
			go l.drive() // it may compute longer than the caller may wait
			break
		}
		l.driveHere(ctx)
		select {
		case s := <-g.done:
			return s, nil
		default:
		}
	default:
		go l.drive()
	}
	return l.watch(ctx, g, o), nil
}

// attach makes g the program's leg. It returns the end if the program has ended
// meanwhile. Mine says that the caller holds the token and is to start a driver.
func (l *Loop) attach(g *leg) (stop *Stop, mine bool, err error) {
	l.mu.Lock()
	m := &l.mu
	switch {
	case m.leg != nil:
		m.Unlock()
		return nil, false, ErrInFlight
	case m.told:
		m.Unlock()
		return nil, false, ErrOver
	case !m.expires.IsZero() && !l.o.Now().Before(m.expires):
		m.Unlock()
		return nil, false, ErrExpired
	case m.over:
		stop = &Stop{Ended: true, Payload: m.final}
		m.final, m.told = nil, true
		m.Unlock()
		l.o.Program.Released()
		return stop, false, nil
	}
	m.leg, m.paused = g, false
	for _, r := range m.yields {
		r.value = encodedNull
		m.settled = append(m.settled, r)
	}
	m.yields = nil
	mine = !m.busy
	if m.busy = true; mine {
		m.compute, m.used = g.compute, 0
	} else {
		m.fresh = true
	}
	if m.saving != nil {
		m.saving()
	}
	m.Unlock()
	return nil, mine, nil
}

// Slack of a leg's end. A guest that is interrupted unwinds within two milliseconds, a
// checkpoint traps after that; turns are short for the most part.
const (
	slack      = 5 * time.Millisecond  // for a turn under way to come to its end
	saveSlack  = 8 * time.Millisecond  // for a suspension, which may save; it goes on without the leg
	killSlack  = 10 * time.Millisecond // a turn that will be interrupted so soon is waited for
	killGrace  = 20 * time.Millisecond
	goneGrace  = 250 * time.Millisecond
	graceCheck = time.Millisecond
)

// watch waits for the end of a leg. It never touches the guest.
func (l *Loop) watch(ctx context.Context, g *leg, o Leg) Stop {
	timer := time.NewTimer(time.Until(o.Until))
	defer timer.Stop()
	var grace <-chan time.Time
	gone := ctx.Done()
	for {
		select {
		case s := <-g.done:
			return s
		case <-g.alarm:
			grace = time.After(l.o.Grace + graceCheck)
		case <-grace:
			grace = nil
			l.kick(g)
		case <-timer.C:
			return l.timeUp(ctx, g)
		case <-gone:
			if !o.EndWithCaller {
				return l.leave(g)
			}
			gone = nil
			if l.End(context.Cause(ctx)) {
				timer.Reset(goneGrace) // callbacks that do not look at their context are left behind
			}
		}
	}
}

// kick has a driver look at the state again.
func (l *Loop) kick(g *leg) {
	l.mu.Lock()
	mine := l.mu.leg == g && !l.mu.busy
	if mine {
		l.mu.busy = true
	}
	l.mu.Unlock()
	if mine {
		go l.drive()
	}
}

// timeUp ends a leg whose time is up: as suspended if the program awaits something, else
// by leaving the turn under way to itself.
func (l *Loop) timeUp(ctx context.Context, g *leg) Stop {
	l.mu.Lock()
	if l.mu.leg != g {
		l.mu.Unlock()
		return <-g.done
	}
	patience := slack
	if !l.mu.busy {
		l.mu.busy, patience = true, saveSlack
		go l.pauseAndDrive(g, TimeUp)
	} else if left := time.Until(l.turnEndsLocked()); left <= killSlack {
		patience = max(left, 0) + killGrace
	}
	ended := l.mu.ending != nil
	l.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case s := <-g.done:
		return s
	case <-timer.C:
	}
	if ended {
		return l.detach(g, Stop{Gone: ctx.Err() != nil})
	}
	payload, err := l.o.Program.Computing()
	if err != nil {
		l.End(err)
		timer.Reset(goneGrace)
		select {
		case s := <-g.done:
			return s
		case <-timer.C:
		}
	}
	return l.detach(g, Stop{Payload: payload})
}

// leave ends a leg whose caller has gone away and leaves the program suspended.
func (l *Loop) leave(g *leg) Stop {
	l.mu.Lock()
	if l.mu.leg == g && !l.mu.busy {
		l.mu.busy = true
		go l.pauseAndDrive(g, TimeUp)
	}
	l.mu.Unlock()
	timer := time.NewTimer(slack)
	defer timer.Stop()
	select {
	case s := <-g.done:
		s.Gone = !s.Ended
		return s
	case <-timer.C:
	}
	if _, err := l.o.Program.Computing(); err != nil {
		l.End(err)
	}
	return l.detach(g, Stop{Gone: true})
}

// detach takes the leg off a program that goes on without it, unless its end came first.
func (l *Loop) detach(g *leg, s Stop) Stop {
	l.mu.Lock()
	if l.mu.leg != g {
		l.mu.Unlock()
		return <-g.done
	}
	l.mu.leg = nil
	l.mu.Unlock()
	return s
}
