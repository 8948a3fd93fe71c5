package gateway

import (
	"context"
	"slices"
	"sync"
)

// places bound how many of something there are at once, and how many of them are of one
// principal: who has all that it may have waits for its own to end, and nobody else does.
// It is safe for concurrent use.
type places struct {
	mu      sync.Mutex
	most    int // of all
	each    int // of one principal
	total   int
	taken   map[string]int // by principal; none is 0
	waiting []*waiter      // in the order in which they came
}

// waiter waits for a place.
type waiter struct {
	principal string
	granted   chan struct{} // closed with mu held
}

func newPlaces(most, each int) *places {
	return &places{most: most, each: each, taken: map[string]int{}}
}

// share lowers what one principal may have.
func (p *places) share(each int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.each = min(p.each, each)
}

// try takes a place if there is one.
func (p *places) try(principal string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tryLocked(principal)
}

func (p *places) tryLocked(principal string) bool {
	if p.total >= p.most || p.taken[principal] >= p.each {
		return false
	}
	p.total++
	p.taken[principal]++
	return true
}

// take takes a place, and waits for one until ctx ends. It says whether it has one.
func (p *places) take(ctx context.Context, principal string) bool {
	p.mu.Lock()
	if p.tryLocked(principal) {
		p.mu.Unlock()
		return true
	}
	w := &waiter{principal, make(chan struct{})}
	p.waiting = append(p.waiting, w)
	p.mu.Unlock()
	select {
	case <-w.granted:
		return true
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.waiting, w)
	if i < 0 {
		return true // it came in this moment
	}
	p.waiting = slices.Delete(p.waiting, i, i+1)
	return false
}

// give gives a place back. The next is that of the principal with the fewest, of those
// who wait and may have one: a principal that keeps many calls waiting gains nothing.
func (p *places) give(principal string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total--
	if p.taken[principal]--; p.taken[principal] == 0 {
		delete(p.taken, principal)
	}
	next := -1
	for i, w := range p.waiting {
		if p.taken[w.principal] < p.each && (next < 0 || p.taken[w.principal] < p.taken[p.waiting[next].principal]) {
			next = i
		}
	}
	if next < 0 {
		return
	}
	if w := p.waiting[next]; p.tryLocked(w.principal) {
		p.waiting = slices.Delete(p.waiting, next, next+1)
		close(w.granted)
	}
}

// full says of a principal that has no place whether that is because of its own share.
func (p *places) full(principal string) (own bool, most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[principal] >= p.each {
		return true, p.each
	}
	return false, p.most
}
