package codemode

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/guest"
)

// report is what a cell has put out and done so far. A result is taken from it while
// the cell may be computing, so it has a lock of its own, a leaf.
type report struct {
	max int // tools.codeMode.maxOutputBytes
	mu  struct {
		sync.Mutex
		output    []api.OutputItem
		bytes     int // of output and value
		telemetry api.Telemetry
		requests  int // calls, searches and descriptions asked for, refused ones included
	}
}

func (p *report) text(raw json.RawMessage, level string) error {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return fail(guestabi.ReasonInternalError, "the guest sent text that is no string")
	}
	return p.put(api.OutputItem{Type: "text", Text: s, Level: level})
}

func (p *report) json(raw []byte) error {
	value, err := guest.CheckJSON(slices.Clone(raw))
	if err != nil {
		return err
	}
	return p.put(api.OutputItem{Type: "json", Value: value})
}

// put counts an item as it is written: as JSON, with the comma behind it.
func (p *report) put(item api.OutputItem) error {
	text, err := item.MarshalJSON()
	if err != nil {
		return badMessage()
	}
	size := len(text) + 1
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.bytes+size > p.max {
		return p.overflow()
	}
	p.mu.bytes += size
	p.mu.output = append(p.mu.output, item)
	return nil
}

// take counts the value in, which has n bytes.
func (p *report) take(n int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.bytes+n > p.max {
		return p.overflow()
	}
	p.mu.bytes += n
	return nil
}

func (p *report) overflow() error {
	return fail(guestabi.ReasonOutputLimitExceeded, "output is larger than %d bytes; return or print less, for instance counts instead of lists", p.max)
}

// count changes the telemetry.
func (p *report) count(f func(t *api.Telemetry)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.mu.telemetry)
}

// request counts something that the guest asks for, and returns how many that makes.
func (p *report) request() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.requests++
	return p.mu.requests
}

// maxCalledTools bounds the ids in the telemetry.
const maxCalledTools = 256

func (p *report) called(id string) {
	p.count(func(t *api.Telemetry) {
		if len(t.CalledTools) < maxCalledTools && !slices.Contains(t.CalledTools, id) {
			t.CalledTools = append(t.CalledTools, id)
		}
	})
}

func (p *report) limitHit(reason guestabi.Reason) {
	p.count(func(t *api.Telemetry) {
		if !slices.Contains(t.LimitsHit, reason) {
			t.LimitsHit = append(t.LimitsHit, reason)
		}
	})
}

// fill completes a result with output and telemetry, which change no more under its holder's hands.
func (p *report) fill(r *api.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.Output = p.mu.output[:len(p.mu.output):len(p.mu.output)]
	t := p.mu.telemetry
	t.CalledTools = append([]string{}, t.CalledTools...)
	t.LimitsHit = append([]guestabi.Reason{}, t.LimitsHit...)
	r.Telemetry = t
}
