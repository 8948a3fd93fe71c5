package main

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// report is what was measured. It is safe for concurrent use until finish.
type report struct {
	DurationSeconds float64        `json:"durationSeconds"`
	Clients         int            `json:"clients"`
	Seed            uint64         `json:"seed"`
	CPUs            int            `json:"cpus"`
	CellsPerSecond  float64        `json:"cellsPerSecond"`
	Cells           []cellTimes    `json:"cells"`
	Counts          map[string]int `json:"counts"`
	// Hostile compares the phases in which a tenth was hostile with the others; nil
	// without such.
	Hostile *comparison `json:"hostile,omitempty"`
	// Before and After are what the serving process held before the first client came, and
	// when the last was gone.
	Before *held `json:"before,omitempty"`
	After  *held `json:"after,omitempty"`
	// Faults are the checks that failed, the first maxFaults of them.
	Faults     []string `json:"faults"`
	FaultCount int      `json:"faultCount"`

	begin time.Time

	mu      sync.Mutex
	samples map[string][]time.Duration
	phased  map[string]*[2][]time.Duration // in calm and in hostile phases
}

// cellTimes are the times of a kind of cell, from the client's call to its result, all
// waits included.
type cellTimes struct {
	Kind  string  `json:"kind"`
	N     int     `json:"n"`
	P50Ms float64 `json:"p50Ms"`
	P90Ms float64 `json:"p90Ms"`
	P99Ms float64 `json:"p99Ms"`
	MaxMs float64 `json:"maxMs"`
}

const maxFaults = 40

func newReport(o settings) *report {
	return &report{
		DurationSeconds: o.duration.Seconds(), Clients: o.clients, Seed: o.seed, CPUs: runtime.NumCPU(),
		Counts: map[string]int{}, Faults: []string{}, samples: map[string][]time.Duration{}, phased: map[string]*[2][]time.Duration{}, begin: time.Now(),
	}
}

func (r *report) fault(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.FaultCount++
	if len(r.Faults) < maxFaults {
		r.Faults = append(r.Faults, fmt.Sprintf("[%.1f s] ", time.Since(r.begin).Seconds())+fmt.Sprintf(format, args...))
	}
}

func (r *report) count(what string) { r.add(what, 1) }

func (r *report) add(what string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Counts[what] += n
}

func (r *report) set(what string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Counts[what] = n
}

// sample notes the time of a cell, and the phases in which it began and ended.
func (r *report) sample(kind string, d time.Duration, from, to int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.samples[kind] = append(r.samples[kind], d)
	if from != to {
		return // it says nothing of either
	}
	p := r.phased[kind]
	if p == nil {
		p = &[2][]time.Duration{}
		r.phased[kind] = p
	}
	p[from%2] = append(p[from%2], d)
}

// quantile gives a quantile of sorted times, in milliseconds.
func quantile(list []time.Duration, q float64) float64 {
	if len(list) == 0 {
		return 0
	}
	return float64(list[min(int(q*float64(len(list))), len(list)-1)].Microseconds()) / 1000
}

// finish sums up. Without phases there is nothing to compare.
func (r *report) finish(p *phases) {
	r.mu.Lock()
	defer r.mu.Unlock()
	cells := 0
	for _, k := range kinds {
		list := r.samples[k.name]
		if len(list) == 0 {
			continue
		}
		slices.Sort(list)
		r.Cells = append(r.Cells, cellTimes{k.name, len(list), quantile(list, 0.5), quantile(list, 0.9), quantile(list, 0.99), quantile(list, 1)})
		cells += len(list)
	}
	r.CellsPerSecond = float64(cells) / r.DurationSeconds
	if p != nil {
		r.Hostile = r.compare(p)
	}
	if cells == 0 {
		r.FaultCount++
		r.Faults = append(r.Faults, "no cell came to an end")
	}
}

// text is the report for a terminal.
func (r *report) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d clients for %.0f s on %d CPUs: %.0f cells/s (seed %d)\n\n", r.Clients, r.DurationSeconds, r.CPUs, r.CellsPerSecond, r.Seed)
	fmt.Fprintf(&b, "%-26s %8s %9s %9s %9s %9s\n", "cell, ms", "n", "p50", "p90", "p99", "max")
	for _, c := range r.Cells {
		fmt.Fprintf(&b, "%-26s %8d %9.1f %9.1f %9.1f %9.1f\n", c.Kind, c.N, c.P50Ms, c.P90Ms, c.P99Ms, c.MaxMs)
	}
	b.WriteByte('\n')
	if r.Hostile != nil {
		b.WriteString(r.Hostile.text())
	}
	if r.Before != nil && r.After != nil {
		fmt.Fprintf(&b, "held before: %+v\nheld after:  %+v\n\n", *r.Before, *r.After)
	}
	for _, what := range slices.Sorted(maps.Keys(r.Counts)) {
		fmt.Fprintf(&b, "%-52s %d\n", what, r.Counts[what])
	}
	if len(r.Faults) == 0 {
		b.WriteString("\nall checks passed\n")
		return b.String()
	}
	fmt.Fprintf(&b, "\n%d faults:\n", r.FaultCount)
	for _, f := range r.Faults {
		fmt.Fprintf(&b, "  %s\n", f)
	}
	return b.String()
}
