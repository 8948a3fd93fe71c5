package host

import (
	"context"
	"sync"
	"time"
)

// parking keeps the machines of suspended cells as they are, so that a wait that comes soon costs nothing, as
// long as their memory fits. The rest is saved in the background: what has been idle, and, when memory is wanted,
// the oldest and largest first.
type parking struct {
	h   *Host
	max int // bytes of memory that parked machines may have together
	mu  struct {
		sync.Mutex
		cells map[*cell]parked
		bytes int
		timer *time.Timer
	}
}

// parked is one machine.
type parked struct {
	bytes  int
	since  time.Time
	saving bool
}

const (
	// parkIdle is how long a machine is parked before it is saved.
	parkIdle = 2 * time.Second
	// maxParked bounds the machines: each has mappings and address space of its own.
	maxParked = 512
)

// add parks the machine of a cell that is suspended.
func (p *parking) add(c *cell, bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.cells == nil {
		p.mu.cells = map[*cell]parked{}
	}
	p.mu.bytes += bytes - p.mu.cells[c].bytes
	p.mu.cells[c] = parked{bytes: bytes, since: time.Now()}
	if p.mu.timer == nil {
		p.mu.timer = time.AfterFunc(parkIdle, p.tick)
	}
	p.evictLocked()
}

// remove says that the machine of a cell is used again, saved, or gone.
func (p *parking) remove(c *cell) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.bytes -= p.mu.cells[c].bytes
	delete(p.mu.cells, c)
}

// evictLocked has machines saved until the rest fits.
func (p *parking) evictLocked() {
	bytes, n := p.mu.bytes, len(p.mu.cells)
	for _, v := range p.mu.cells {
		if v.saving {
			bytes, n = bytes-v.bytes, n-1
		}
	}
	now := time.Now()
	for bytes > p.max || n > maxParked {
		var victim *cell
		var worst float64
		for c, v := range p.mu.cells {
			if weight := float64(v.bytes+1) * float64(now.Sub(v.since)+time.Millisecond); !v.saving && weight > worst {
				victim, worst = c, weight
			}
		}
		if victim == nil {
			return
		}
		bytes, n = bytes-p.mu.cells[victim].bytes, n-1
		p.saveLocked(victim)
	}
}

func (p *parking) saveLocked(c *cell) {
	v := p.mu.cells[c]
	v.saving = true
	p.mu.cells[c] = v
	go p.save(c)
}

func (p *parking) save(c *cell) {
	ctx, cancel := context.WithTimeout(c.loop.Context(), maxSaveTime)
	defer cancel()
	if p.h.saves.take(ctx) != nil {
		return
	}
	defer p.h.saves.give()
	if c.loop.Save(ctx, cellStore{c}, p.h.cfg.MaxSnapshotBytes) {
		p.remove(c)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if v, ok := p.mu.cells[c]; ok {
		v.saving, v.since = false, time.Now()
		p.mu.cells[c] = v
	}
}

// tick saves what has been idle.
func (p *parking) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for c, v := range p.mu.cells {
		if !v.saving && now.Sub(v.since) >= parkIdle {
			p.saveLocked(c)
		}
	}
	if p.mu.timer = nil; len(p.mu.cells) > 0 {
		p.mu.timer = time.AfterFunc(parkIdle/4, p.tick)
	}
}

// close forgets all. The cells were ended before.
func (p *parking) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.timer != nil {
		p.mu.timer.Stop()
	}
	p.mu.cells, p.mu.bytes = nil, 0
}

// each calls f for all items, n at a time, and returns when all have returned.
func each[T any](items []T, n int, f func(T)) {
	next := make(chan T)
	var wg sync.WaitGroup
	for range min(n, len(items)) {
		wg.Go(func() {
			for it := range next {
				f(it)
			}
		})
	}
	for _, it := range items {
		next <- it
	}
	close(next)
	wg.Wait()
}
