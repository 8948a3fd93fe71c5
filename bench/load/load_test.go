package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestMain makes the test's own program the MCP server behind Cloister, as main does.
func TestMain(m *testing.M) {
	if ledger := os.Getenv(ledgerVariable); ledger != "" {
		exitOn(serveUpstream(context.Background(), ledger, os.Getenv(lifeVariable)))
		return
	}
	if control := os.Getenv(floodVariable); control != "" {
		exitOn(serveFlood(context.Background(), control))
		return
	}
	os.Exit(m.Run())
}

// TestLoad is the measurement in small, hostile phases included: what it checks holds
// there too.
func TestLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute of load, of which the parts have tests of their own")
	}
	engine, err := filepath.Abs("../../quickjs/engine/node_modules/quickjs-wasi/quickjs.wasm")
	if err != nil {
		t.Fatal(err)
	}
	s := settings{duration: 4 * time.Second, idle: time.Second, ttl: time.Second, life: time.Second, clients: 10, engine: engine, maxRSS: 1024, seed: 1}
	rep, err := run(t.Context(), s, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range rep.Faults {
		t.Error(f)
	}
	t.Log(rep.text())
	for _, k := range []string{"sessions opened", "upstream calls answered", "calls that the server ran", "hostile phases"} {
		if rep.Counts[k] == 0 {
			t.Errorf("%s: none, so nothing was checked", k)
		}
	}
}

// TestHeld gives the check of what is held a process that leaks.
func TestHeld(t *testing.T) {
	before := held{Goroutines: 40, Files: 20}
	for _, c := range []struct {
		name   string
		after  held
		faults int
	}{
		{"the same", before, 0},
		{"fewer", held{}, 0},
		{"within the slack", held{Goroutines: 40 + goroutinesSlack, Files: 20 + filesSlack}, 0},
		{"a session", held{Sessions: 1, Goroutines: 40, Files: 20}, 1},
		{"a request and its program", held{Requests: 1, Running: 1, Goroutines: 40, Files: 20}, 2},
		{"a call that waits", held{Queued: 1}, 1},
		{"goroutines", held{Goroutines: 41 + goroutinesSlack}, 1},
		{"descriptors", held{Files: 21 + filesSlack}, 1},
	} {
		rep := newReport(settings{})
		rep.Before, rep.After = &before, &c.after
		if rep.checkHeld(); rep.FaultCount != c.faults {
			t.Errorf("%s: got %q", c.name, rep.Faults)
		}
	}
}

// TestPhasesTakeTurns gives the phases an hour of their own.
func TestPhasesTakeTurns(t *testing.T) {
	for _, c := range []struct {
		duration, each time.Duration
		attacks        int
	}{{4 * time.Second, 2 * time.Second, 1}, {30 * time.Second, 15 * time.Second, 1}, {time.Minute, 7500 * time.Millisecond, 4}, {2 * time.Minute, 15 * time.Second, 4}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), c.duration)
			defer cancel()
			p, attacks := newPhases(c.duration), 0
			start := time.Now()
			p.run(ctx, func(ctx context.Context) {
				if at := time.Since(start); at != time.Duration(2*attacks+1)*c.each || !hostile(p.number.Load()) {
					t.Errorf("%s: attack %d at %s in phase %d", c.duration, attacks, at, p.number.Load())
				}
				attacks++
				<-ctx.Done()
			})
			if calm, cruel := p.calm.Load(), p.cruel.Load(); attacks != c.attacks || p.each != c.each || calm != cruel || calm+cruel != int64(c.duration) {
				t.Errorf("%s: %d attacks, phases of %s, %d and %d ns", c.duration, attacks, p.each, calm, cruel)
			}
		})
	}
}

// TestCompare gives the comparison times that it can be worked out from by hand.
func TestCompare(t *testing.T) {
	rep, p := newReport(settings{duration: 4 * time.Second}), newPhases(4*time.Second)
	p.calm.Store(int64(2 * time.Second))
	p.cruel.Store(int64(2 * time.Second))
	for i := range 10 {
		rep.sample("core tool", time.Duration(10+i)*time.Millisecond, 0, 0)
		rep.sample("core tool", time.Duration(30+3*i)*time.Millisecond, 3, 3)
		rep.sample("core tool", time.Hour, 0, 1) // in both
	}
	rep.finish(p)
	want := &comparison{PhaseSeconds: 2, CalmPerSecond: 5, HostilePerSecond: 5, Cells: []phasedTimes{{
		Kind: "core tool", Calm: quantiles{10, 15, 19}, Hostile: quantiles{10, 45, 57}, RatioP50: 3, RatioP90: 3,
	}}}
	if diff := cmp.Diff(want, rep.Hostile); diff != "" {
		t.Error(diff)
	}
	if rep.Cells[0].N != 30 {
		t.Errorf("%d cells in all", rep.Cells[0].N)
	}
	contains := "5 cells/s in calm phases, 5 in hostile ones"
	if text := rep.text(); !strings.Contains(text, contains) {
		t.Errorf("%q is not in %s", contains, text)
	}
}

// TestLedger gives the check of the ledger what it is there to find.
func TestLedger(t *testing.T) {
	echo := func(nonce string) ledgerLine { return ledgerLine{"echo", nonce} }
	for _, c := range []struct {
		name         string
		lowest, most int
		runs         map[ledgerLine]int
		faults       int
	}{
		{"answered and run once", 1, 1, map[ledgerLine]int{echo("n1"): 1}, 0},
		{"answered and not run", 1, 1, nil, 1},
		{"run twice", 0, 1, map[ledgerLine]int{echo("n1"): 2}, 1},
		{"denied and run", 0, 0, map[ledgerLine]int{echo("n1"): 1}, 1},
		{"run and not asked for", 0, 1, map[ledgerLine]int{echo("n2"): 1}, 1},
		{"another tool", 0, 1, map[ledgerLine]int{{"guarded", "n1"}: 1}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLoad(settings{}, nil)
			l.expect("echo", "n1", c.lowest, c.most, "the test says so")
			l.checkLedger(c.runs)
			if l.rep.FaultCount != c.faults {
				t.Errorf("got %d faults %q, want %d", l.rep.FaultCount, l.rep.Faults, c.faults)
			}
		})
	}
}

// TestAnswers gives the check of one result what it is there to find.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer answer
		good   bool
	}{
		{"right", answer{Got: &echoOut{Nonce: "n1", Tool: "echo"}}, true},
		{"of another call", answer{Got: &echoOut{Nonce: "n2", Tool: "echo"}}, false},
		{"of another tool", answer{Got: &echoOut{Nonce: "n1", Tool: "guarded"}}, false},
		{"server down", answer{Code: "mcp_unavailable"}, true},
		{"lost", answer{Code: "mcp_connection_lost"}, true},
		{"another failure", answer{Code: "internal_error"}, false},
		{"nothing", answer{}, false},
	} {
		l := newLoad(settings{}, nil)
		if err := l.check("echo", "n1", &c.answer); (err == nil) != c.good {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}

// TestGrowth gives the check of the process a process that grows.
func TestGrowth(t *testing.T) {
	for _, c := range []struct {
		name   string
		rss    func(i int) int
		faults int
	}{
		{"flat", func(int) int { return 200 }, 0},
		{"grows", func(i int) int { return 100 + 4*i }, 1},
		{"too much", func(int) int { return 2000 }, 1},
	} {
		w := &watch{}
		for i := range 120 {
			w.at = append(w.at, time.Duration(i)*time.Second)
			w.rss, w.threads, w.files = append(w.rss, c.rss(i)), append(w.threads, 10), append(w.files, 20)
		}
		rep := newReport(settings{})
		w.check(rep, settings{duration: 2 * time.Minute, maxRSS: 1024})
		if rep.FaultCount != c.faults {
			t.Errorf("%s: got %q", c.name, rep.Faults)
		}
	}
}
