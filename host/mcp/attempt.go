package mcp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"time"
)

// session gives the live connection, or makes one within ctx.
func (u *upstream) session(ctx context.Context) (*session, error) {
	a, wait, err := u.join()
	for wait > 0 {
		if wait > patience {
			return nil, because(fmt.Sprintf("it is tried again in %s", wait.Round(time.Second)), err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-u.ctx.Done():
			return nil, ErrClosed
		}
		a, wait, err = u.join()
	}
	if err != nil {
		return nil, err
	}
	select {
	case <-a.done:
		return a.sess, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// join gives the attempt to wait for, or the pause that is left and what failed before it.
func (u *upstream) join() (a *attempt, wait time.Duration, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.ctx.Err() != nil:
		return nil, 0, ErrClosed
	case u.cfg.Disabled:
		return nil, 0, fmt.Errorf("%w: it is disabled", ErrUnavailable)
	case u.sess != nil:
		a = &attempt{done: make(chan struct{}), sess: u.sess}
		close(a.done)
		return a, 0, nil
	case u.attempt != nil:
		return u.attempt, 0, nil
	}
	if wait := time.Until(u.next); wait > 0 {
		return nil, wait, u.err
	}
	return u.begin(), 0, nil
}

// begin starts an attempt. The caller holds mu.
func (u *upstream) begin() *attempt {
	a := &attempt{done: make(chan struct{})}
	u.attempt = a
	u.setState(StateConnecting, u.err)
	legacy := u.legacy
	if !u.m.goroutine(func() { u.run(a, legacy) }) {
		u.attempt = nil
		a.err = ErrClosed
		close(a.done)
	}
	return a
}

// run makes one connection.
func (u *upstream) run(a *attempt, legacy bool) {
	ctx, cancel := withDeadline(u.ctx, u.limits.ConnectTimeout)
	var s *session
	err := error(ErrClosed)
	select {
	case u.m.starts <- struct{}{}:
		s, err = connect(ctx, u, legacy)
		<-u.m.starts
	case <-ctx.Done():
	}
	if err != nil && ctx.Err() != nil && u.ctx.Err() == nil {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			err = nil // that is this time being over
		}
		err = &unavailable{fmt.Sprintf("no answer within %s (limits.connectTimeout)", u.limits.ConnectTimeout), err, ErrStartTimeout}
	}
	cancel()

	u.mu.Lock()
	u.attempt = nil
	if u.ctx.Err() != nil && err == nil {
		err = ErrClosed
	}
	if err != nil {
		u.legacy = !legacy
		u.failedLocked(err)
	} else {
		u.starts++
		u.sess, u.list, u.cached = s, s.list.Load(), false
		u.legacy = legacy
		u.setState(StateReady, nil)
	}
	a.err = err
	if err == nil {
		a.sess = s
	}
	u.mu.Unlock()
	if err != nil {
		u.m.cache.noteEnded(u, err)
		if s != nil {
			s.close(ErrClosed)
		}
	} else {
		u.m.cache.save(u, s.list.Load())
		u.m.cache.forgetFailure(u)
		if !u.m.goroutine(func() { u.watch(s) }) {
			s.close(ErrClosed)
		}
	}
	close(a.done)
	u.m.changed()
}

// failedLocked notes a failure and plans the next attempt. The caller holds mu.
func (u *upstream) failedLocked(err error) {
	if u.failures++; errors.Is(err, ErrFlood) {
		u.failures = max(u.failures, floodFailures)
	}
	pause := min(mostPause, firstPause<<min(u.failures-1, 10))
	pause = pause/2 + rand.N(pause/2+1)
	u.next = time.Now().Add(pause)
	u.setState(StateFailed, err)
	if u.ctx.Err() != nil {
		return
	}
	u.m.o.Logger.Warn("MCP server failed", "server", u.cfg.Name, "failures", u.failures, "retry", pause, "error", err)
	if u.failures > maxBackground || errors.Is(err, ErrAuthorization) || errors.Is(err, ErrSecret) {
		return // trying again does not help, or did not: the next call may
	}
	time.AfterFunc(pause, func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.ctx.Err() == nil && u.sess == nil && u.attempt == nil {
			u.begin()
		}
	})
}

// watch waits for the end of a connection, and re-reads its list when it changes.
func (u *upstream) watch(s *session) {
	most := firstStorm
	for {
		select {
		case <-s.ended:
			u.lost(s)
			return
		case <-s.relist:
			if s.calm(most) {
				most = firstStorm
			} else {
				most = min(2*most, mostStorm)
			}
			u.refresh(s)
		}
	}
}

// How a storm of changes is waited for.
const (
	calmTime   = 100 * time.Millisecond // without a change, and it is over
	firstStorm = 2 * time.Second        // then the lists are read though it goes on
	mostStorm  = time.Minute            // what that grows to while it goes on
)

// calm waits until the server has told of no change for a moment, so that a storm of them
// has the lists read once. It says false for one that goes on.
func (s *session) calm(most time.Duration) bool {
	end := time.NewTimer(most)
	defer end.Stop()
	for {
		quiet := time.NewTimer(calmTime)
		select {
		case <-s.relist:
			quiet.Stop()
			continue
		case <-quiet.C:
			return true
		case <-end.C:
		case <-s.ended: // watch sees it next
		}
		quiet.Stop()
		return false
	}
}

func (u *upstream) lost(s *session) {
	s.close(s.cause()) // what is left of it
	u.m.cache.noteEnded(u, s.cause())
	u.mu.Lock()
	if u.sess == s {
		u.sess = nil
		u.endedLocked(s)
	}
	u.mu.Unlock()
	u.m.changed()
}

// forget takes a connection that is over out of use before watch does.
func (u *upstream) forget(s *session) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.sess == s {
		u.sess = nil
		u.endedLocked(s)
	}
}

func (u *upstream) endedLocked(s *session) {
	if time.Since(s.started) >= steadyAfter && !errors.Is(s.cause(), ErrFlood) {
		u.failures = 0
	}
	if u.ctx.Err() == nil {
		u.failedLocked(s.cause())
	}
}

// refresh reads the lists again after the server said that they changed.
func (u *upstream) refresh(s *session) {
	ctx, cancel := context.WithTimeout(s.ctx, u.limits.ConnectTimeout)
	defer cancel()
	if err := s.refresh(ctx); err != nil {
		s.close(fmt.Errorf("listing after a change: %w", err))
		return
	}
}

// publish makes a list known that was read again, if it is another. The first one of a
// connection is, with the connection.
func (u *upstream) publish(s *session, list *toolList) {
	u.mu.Lock()
	changed := u.sess == s && !reflect.DeepEqual(u.list, list)
	if changed {
		u.list = list
	}
	u.mu.Unlock()
	if changed {
		u.m.cache.save(u, list)
		u.m.changed()
	}
}
