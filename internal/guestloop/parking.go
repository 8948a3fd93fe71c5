package guestloop

import (
	"context"
	"sync"
	"time"

	"github.com/cloister-wasm/cloister/internal/limits"
)

// Parking keeps the machines of suspended programs as they are, so that a leg that comes soon costs nothing, as
// long as their memory fits. The rest is saved in the background: what has been idle, and, when memory is wanted,
// the oldest and largest first. It is safe for concurrent use, and calls nothing of a Loop under its lock.
type Parking struct {
	max, maxSnapshot int
	saves            limits.Slots
	mu               struct {
		sync.Mutex
		loops map[*Loop]parked
		bytes int
		timer *time.Timer
	}
}

// NewParking makes a Parking for machines that may have max bytes of memory together. A snapshot of one may have
// maxSnapshot bytes; saves bounds how many are made at once.
func NewParking(max, maxSnapshot int, saves limits.Slots) *Parking {
	return &Parking{max: max, maxSnapshot: maxSnapshot, saves: saves}
}

// parked is one machine.
type parked struct {
	store  Store
	bytes  int
	since  time.Time
	saving bool
}

const (
	// MaxSaveTime bounds one save, a store that takes its time included.
	MaxSaveTime = 10 * time.Second
	// parkIdle is how long a machine is parked before it is saved.
	parkIdle = 2 * time.Second
	// maxParked bounds the machines: each has mappings and address space of its own.
	maxParked = 512
)

// Add parks the machine of a program that is suspended, which has bytes of memory of its own; store is where it is
// saved to.
func (p *Parking) Add(l *Loop, store Store, bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.loops == nil {
		p.mu.loops = map[*Loop]parked{}
	}
	p.mu.bytes += bytes - p.mu.loops[l].bytes
	p.mu.loops[l] = parked{store: store, bytes: bytes, since: time.Now()}
	if p.mu.timer == nil {
		p.mu.timer = time.AfterFunc(parkIdle, p.tick)
	}
	p.evictLocked()
}

// Remove says that the machine of a program is used again, saved, or gone.
func (p *Parking) Remove(l *Loop) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.bytes -= p.mu.loops[l].bytes
	delete(p.mu.loops, l)
}

// evictLocked has machines saved until the rest fits.
func (p *Parking) evictLocked() {
	bytes, n := p.mu.bytes, len(p.mu.loops)
	for _, v := range p.mu.loops {
		if v.saving {
			bytes, n = bytes-v.bytes, n-1
		}
	}
	now := time.Now()
	for bytes > p.max || n > maxParked {
		var victim *Loop
		var worst float64
		for l, v := range p.mu.loops {
			if weight := float64(v.bytes+1) * float64(now.Sub(v.since)+time.Millisecond); !v.saving && weight > worst {
				victim, worst = l, weight
			}
		}
		if victim == nil {
			return
		}
		bytes, n = bytes-p.mu.loops[victim].bytes, n-1
		p.saveLocked(victim)
	}
}

func (p *Parking) saveLocked(l *Loop) {
	v := p.mu.loops[l]
	v.saving = true
	p.mu.loops[l] = v
	go p.save(l, v.store)
}

func (p *Parking) save(l *Loop, store Store) {
	ctx, cancel := context.WithTimeout(l.Context(), MaxSaveTime)
	defer cancel()
	if p.saves.Take(ctx) != nil {
		return
	}
	defer p.saves.Give()
	if l.Save(ctx, store, p.maxSnapshot) {
		p.Remove(l)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if v, ok := p.mu.loops[l]; ok {
		v.saving, v.since = false, time.Now()
		p.mu.loops[l] = v
	}
}

// tick saves what has been idle.
func (p *Parking) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for l, v := range p.mu.loops {
		if !v.saving && now.Sub(v.since) >= parkIdle {
			p.saveLocked(l)
		}
	}
	if p.mu.timer = nil; len(p.mu.loops) > 0 {
		p.mu.timer = time.AfterFunc(parkIdle/4, p.tick)
	}
}

// Bytes is the memory of the machines that are not being saved.
func (p *Parking) Bytes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	bytes := p.mu.bytes
	for _, v := range p.mu.loops {
		if v.saving {
			bytes -= v.bytes
		}
	}
	return bytes
}

// Close forgets all. The programs were ended before.
func (p *Parking) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.timer != nil {
		p.mu.timer.Stop()
	}
	p.mu.loops, p.mu.bytes = nil, 0
}
