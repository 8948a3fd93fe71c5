package transpile

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// memoryGuard ends a worker that uses more memory than it may. It works on every
// system; the kernel's own limit, where there is one, is the wall behind it.
type memoryGuard struct {
	limit uint64
	over  func()

	mu      sync.Mutex
	timer   *time.Timer
	running bool
	looked  bool // since the start
}

// guardInterval is how often a working worker looks at its memory. Most sources
// are done before the first look.
const guardInterval = 5 * time.Millisecond

func newMemoryGuard(limit int64, over func()) *memoryGuard {
	g := &memoryGuard{limit: uint64(limit), over: over}
	g.timer = time.AfterFunc(guardInterval, g.look) // finds nothing running
	return g
}

// start watches until stop.
func (g *memoryGuard) start() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running, g.looked = true, false
	g.timer.Reset(guardInterval)
}

// stop ends the watch and gives back what a large source has left behind: one
// that was done before the first look was not large.
func (g *memoryGuard) stop() {
	g.mu.Lock()
	g.running = false
	g.timer.Stop()
	large := g.looked && memoryInUse() > g.limit/8
	g.mu.Unlock()
	if large {
		debug.FreeOSMemory()
	}
}

func (g *memoryGuard) look() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.running {
		return
	}
	g.looked = true
	if memoryInUse() > g.limit {
		g.over()
	}
	g.timer.Reset(guardInterval)
}

// memoryInUse returns the bytes that the runtime holds from the system.
func memoryInUse() uint64 {
	s := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}
