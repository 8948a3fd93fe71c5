package hosttest

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/cloister-wasm/cloister/host"
)

// Gate is a tool whose calls stay open until the test lets them go. It counts how
// many are open at once.
type Gate struct {
	name    string
	started chan json.RawMessage
	release chan outcome

	mu       sync.Mutex
	open     int
	most     int
	total    int
	canceled int
}

type outcome struct {
	value json.RawMessage
	err   error
}

// NewGate makes a gate for a tool of the given name.
func NewGate(name string) *Gate {
	return &Gate{name: name, started: make(chan json.RawMessage, 1<<16), release: make(chan outcome)}
}

// Tool is the tool.
func (g *Gate) Tool() host.RawTool {
	return host.RawTool{Name: g.name, Description: "Stay open until the test releases the call.", Call: g.call}
}

func (g *Gate) call(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
	g.mu.Lock()
	g.open++
	g.total++
	g.most = max(g.most, g.open)
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		g.open--
		g.mu.Unlock()
	}()
	g.started <- input
	select {
	case o := <-g.release:
		return o.value, o.err
	case <-ctx.Done():
		g.mu.Lock()
		g.canceled++
		g.mu.Unlock()
		return nil, ctx.Err()
	}
}

// Started gives the input of each call as it begins.
func (g *Gate) Started() <-chan json.RawMessage { return g.started }

// Release lets one call return value, and waits until one takes it.
func (g *Gate) Release(value string) { g.release <- outcome{value: json.RawMessage(value)} }

// Fail lets one call fail, and waits until one takes it.
func (g *Gate) Fail(err error) { g.release <- outcome{err: err} }

// GateStats counts the calls of a Gate.
type GateStats struct {
	Open     int // now
	Most     int // the largest number that was open at once
	Total    int
	Canceled int // ended by their context
}

// Stats gives the counts so far.
func (g *Gate) Stats() GateStats {
	g.mu.Lock()
	defer g.mu.Unlock()
	return GateStats{Open: g.open, Most: g.most, Total: g.total, Canceled: g.canceled}
}
