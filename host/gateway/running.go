package gateway

import (
	"context"
	"fmt"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
)

// newRunning gives the places for programs that run: as many as the limits say, and no
// more than have room in the memory that the limits give them, each with all that a
// program may allocate.
func newRunning(l *Limits, c host.CodeModeConfig) *places {
	most := max(1, min(l.MaxRunning, int(l.MaxRunningBytes/int64(c.MemoryLimitBytes))))
	each := most
	if l.MaxRunningPerPrincipal > 0 {
		each = min(l.MaxRunningPerPrincipal, most)
	}
	return newPlaces(most, each)
}

// shareOut leaves room for others, where there can be more than one principal.
func (g *Gateway) shareOut() {
	if g.o.Limits.MaxRunningPerPrincipal == 0 {
		g.running.share((g.running.most + 1) / 2)
	}
}

// leg runs a program for one exec or wait, in one of the places for that. It waits for a
// place for half of the time of an exec; what it then gives is a result as for a program
// whose time is up, and no program was touched.
func (c *call) leg(ctx context.Context, cellID string, run func(waited time.Duration) (*host.Result, error)) (*host.Result, error) {
	g, who, start := c.s.g, c.s.client.Principal, time.Now()
	queue, cancel := context.WithTimeout(ctx, g.placeTime)
	defer cancel()
	if !g.running.take(queue, who) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return c.tooManyRunning(), nil
	}
	res, err := run(time.Since(start))
	if res != nil && res.CellID != "" {
		cellID = res.CellID
	}
	if !c.run.Computing(cellID) {
		g.running.give(who)
		return res, err
	}
	// A turn that outlasts its leg has its place until it ends, which takes no longer than
	// the leg did. There is no event for that, and it is rare.
	go func() {
		for pause := firstLook; c.run.Computing(cellID); pause = min(2*pause, lastLook) {
			time.Sleep(pause)
		}
		g.running.give(who)
	}()
	return res, err
}

// Pauses between looks at a program that computes on its own.
const (
	firstLook = 5 * time.Millisecond
	lastLook  = 100 * time.Millisecond
)

// tooManyRunning is the result of an exec or wait that got no place.
func (c *call) tooManyRunning() *host.Result {
	own, most := c.s.g.running.full(c.s.client.Principal)
	whose, limit := "for all clients together", "maxRunning, maxRunningBytes"
	if own {
		whose, limit = "for one client's token", "maxRunningPerPrincipal"
	}
	c.s.g.log.Warn("too many running programs", "most", most, "principal", c.s.client.Principal, "session", c.s.client.SessionID, "limits", limit)
	return c.run.Refuse(guestabi.ReasonTimeout, fmt.Sprintf("too many running programs: %d run at once %s, which is as many as may, and none ended in time; wait for one of them to end, then try again", most, whose))
}
