package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestMain makes the test's own program the MCP server behind Cloister, as main does.
func TestMain(m *testing.M) {
	if ledger := os.Getenv(ledgerVariable); ledger != "" {
		exitOn(serveUpstream(context.Background(), ledger, os.Getenv(lifeVariable)))
		return
	}
	os.Exit(m.Run())
}

// TestLoad is the measurement in small: what it checks holds there too.
func TestLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute of load, of which the parts have tests of their own")
	}
	engine, err := filepath.Abs("../../quickjs/engine/node_modules/quickjs-wasi/quickjs.wasm")
	if err != nil {
		t.Fatal(err)
	}
	s := settings{duration: 2 * time.Second, idle: time.Second, ttl: time.Second, life: time.Second, clients: 8, engine: engine, maxRSS: 1024, seed: 1}
	rep, err := run(t.Context(), s, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range rep.Faults {
		t.Error(f)
	}
	t.Log(rep.text())
	for _, k := range []string{"sessions opened", "upstream calls answered", "calls that the server ran"} {
		if rep.Counts[k] == 0 {
			t.Errorf("%s: none, so nothing was checked", k)
		}
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
