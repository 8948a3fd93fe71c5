package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// comparison is how the clients that behave fare in calm and in hostile phases of one run.
type comparison struct {
	PhaseSeconds float64 `json:"phaseSeconds"`
	// CalmPerSecond and HostilePerSecond are cells of the clients that behave which began
	// and ended in a phase of that kind.
	CalmPerSecond    float64       `json:"calmPerSecond"`
	HostilePerSecond float64       `json:"hostilePerSecond"`
	Cells            []phasedTimes `json:"cells"`
}

// phasedTimes are the times of one kind of cell, and how many times those of calm phases
// they are in hostile ones.
type phasedTimes struct {
	Kind     string    `json:"kind"`
	Calm     quantiles `json:"calm"`
	Hostile  quantiles `json:"hostile"`
	RatioP50 float64   `json:"ratioP50"`
	RatioP90 float64   `json:"ratioP90"`
}

type quantiles struct {
	N     int     `json:"n"`
	P50Ms float64 `json:"p50Ms"`
	P90Ms float64 `json:"p90Ms"`
}

// compare sums up by phases. The caller holds mu.
func (r *report) compare(p *phases) *comparison {
	c := &comparison{PhaseSeconds: p.each.Seconds()}
	var cells [2]int
	sum := func(list []time.Duration) quantiles {
		slices.Sort(list)
		return quantiles{len(list), quantile(list, 0.5), quantile(list, 0.9)}
	}
	ratio := func(hostile, calm float64) float64 {
		if calm == 0 {
			return 0
		}
		return hostile / calm
	}
	for _, k := range kinds {
		both := r.phased[k.name]
		if both == nil {
			continue
		}
		t := phasedTimes{Kind: k.name, Calm: sum(both[0]), Hostile: sum(both[1])}
		t.RatioP50, t.RatioP90 = ratio(t.Hostile.P50Ms, t.Calm.P50Ms), ratio(t.Hostile.P90Ms, t.Calm.P90Ms)
		c.Cells = append(c.Cells, t)
		cells[0] += t.Calm.N
		cells[1] += t.Hostile.N
	}
	c.CalmPerSecond = ratio(float64(cells[0]), time.Duration(p.calm.Load()).Seconds())
	c.HostilePerSecond = ratio(float64(cells[1]), time.Duration(p.cruel.Load()).Seconds())
	return c
}

// text is the comparison for a terminal.
func (c *comparison) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-26s %8s %9s %9s %8s %9s %9s %7s %7s\n", "phases, ms", "calm n", "p50", "p90", "hostile", "p50", "p90", "ratio", "of p90")
	for _, t := range c.Cells {
		fmt.Fprintf(&b, "%-26s %8d %9.1f %9.1f %8d %9.1f %9.1f %7.2f %7.2f\n",
			t.Kind, t.Calm.N, t.Calm.P50Ms, t.Calm.P90Ms, t.Hostile.N, t.Hostile.P50Ms, t.Hostile.P90Ms, t.RatioP50, t.RatioP90)
	}
	fmt.Fprintf(&b, "%.0f cells/s in calm phases, %.0f in hostile ones, phases of %.1f s\n\n", c.CalmPerSecond, c.HostilePerSecond, c.PhaseSeconds)
	return b.String()
}
