package main

import (
	"context"
	"sync/atomic"
	"time"
)

// phases are the times of a run in which all clients behave, and those in which a tenth of
// them does not, by turns: so that both meet the same machine.
type phases struct {
	each   time.Duration
	number atomic.Int64 // of the phase: odd ones are hostile; 0 is the first calm one
	calm   atomic.Int64 // nanoseconds in phases that are over
	cruel  atomic.Int64
}

// longestPhase is long enough for what is done in it to show, and for a server that floods
// to be cut off.
const longestPhase = 15 * time.Second

// newPhases divides a time into phases, calm and hostile ones as many. Each quarter of the
// time has its share of both, or the second half is all hostile: what grows is looked for
// between the last two quarters.
func newPhases(duration time.Duration) *phases {
	pairs := 1
	if quarter := duration / 4; duration > 2*longestPhase {
		pairs = 4 * int((quarter+2*longestPhase-1)/(2*longestPhase))
	}
	return &phases{each: duration / time.Duration(2*pairs)}
}

// hostile says whether a phase is.
func hostile(number int64) bool { return number%2 == 1 }

// run changes phases until ctx ends. attack is called for each hostile one, with a context
// that ends with it, and returns when nothing of it is left.
func (p *phases) run(ctx context.Context, attack func(ctx context.Context)) {
	for ctx.Err() == nil {
		bounded, cancel := context.WithTimeout(ctx, p.each)
		start := time.Now()
		total := &p.calm
		if hostile(p.number.Load()) {
			total = &p.cruel
			attack(bounded)
		}
		<-bounded.Done()
		cancel()
		total.Add(int64(time.Since(start)))
		p.number.Add(1)
	}
}
