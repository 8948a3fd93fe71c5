package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

const us = "Cloister"

// ours measures every case.
func ours(s settings) ([]row, error) {
	ctx := context.Background()
	want, err := expectations(s)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "measuring %s (load %s)\n", us, load())
	h, r, err := newRun(ctx, host.CodeModeConfig{MaxPendingToolCalls: 128, TimeoutMs: 30_000})
	if err != nil {
		return nil, err
	}
	defer h.Close()
	var rows []row
	for _, name := range []string{"one", "three", "fanout", "fib", "json", "sort", "strings"} {
		code, err := os.ReadFile(filepath.Join(s.dir, "cells", name+".js"))
		if err != nil {
			return nil, err
		}
		samples, err := sample(s.box, func() error { return cell(ctx, r, string(code), want[name]) })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		rows = append(rows, summary(name, "ms", samples))
	}
	for _, more := range []func(context.Context, settings) ([]row, error){suspend, throughput, resident, catalogs, start} {
		extra, err := more(ctx, s)
		if err != nil {
			return nil, err
		}
		rows = append(rows, extra...)
	}
	return rows, nil
}

func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(b))[0]
}

// sample runs f until the box is full, in milliseconds a run. The first runs warm
// up and do not count.
func sample(box time.Duration, f func() error) ([]float64, error) {
	for range 3 {
		if err := f(); err != nil {
			return nil, err
		}
	}
	var out []float64
	for end := time.Now().Add(box); time.Now().Before(end) || len(out) < 5; {
		t0 := time.Now()
		if err := f(); err != nil {
			return nil, err
		}
		out = append(out, float64(time.Since(t0).Nanoseconds())/1e6)
	}
	return out, nil
}

// summary gives p50 and p90 by nearest rank.
func summary(name, unit string, samples []float64) row {
	slices.Sort(samples)
	at := func(p float64) float64 { return samples[min(int(p*float64(len(samples))), len(samples)-1)] }
	return row{Peer: us, Version: "working tree", Case: name, Unit: unit, P50: at(0.5), P90: at(0.9), N: len(samples)}
}

// gate is a tool that answers when it is told to.
func gate() (host.RawTool, chan struct{}) {
	open := make(chan struct{})
	return host.RawTool{Name: "gate", Description: "Waits.", Call: func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		select {
		case <-open:
			return json.RawMessage(`{"ok":true}`), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}, open
}

const suspendCell = `
const state = { rows: [1, 2, 3].map((n) => ({ n, name: "row " + n })), note: "kept" };
await yield_control();
return { rows: state.rows.length, note: state.note };`

// suspend measures exec to a suspension and on to the end: with the machine parked, and with a store, so that state is
// saved and restored; and the snapshot's size.
func suspend(ctx context.Context, s settings) ([]row, error) {
	parked, _, err := suspendOn(ctx, s, nil)
	if err != nil {
		return nil, err
	}
	saved, bytes, err := suspendOn(ctx, s, hosttest.NewStore())
	if err != nil {
		return nil, err
	}
	return []row{summary("suspend, parked", "ms", parked), summary("suspend", "ms", saved), summary("snapshot", "bytes", []float64{bytes})}, nil
}

func suspendOn(ctx context.Context, s settings, store host.SnapshotStore) (samples []float64, bytes float64, err error) {
	h, r, err := newRunOn(ctx, host.CodeModeConfig{}, store)
	if err != nil {
		return nil, 0, err
	}
	defer h.Close()
	samples, err = sample(s.box, func() error {
		res, err := r.Exec(ctx, host.ExecInput{Code: suspendCell})
		if err != nil {
			return err
		}
		if res.Status != "waiting" {
			return errors.New("the cell did not suspend: " + res.Error)
		}
		if snap := res.Telemetry.Snapshot; snap != nil {
			bytes = float64(snap.Bytes)
		}
		if res, err = r.Wait(ctx, host.WaitInput{CellID: res.CellID}); err != nil {
			return err
		}
		if string(res.Value) != `{"rows":3,"note":"kept"}` {
			return fmt.Errorf("the cell gave %s %s", res.Value, res.Error)
		}
		return nil
	})
	return samples, bytes, err
}

// throughput runs rounds of three-call cells, many at a time.
func throughput(ctx context.Context, s settings) ([]row, error) {
	h, r, err := newRun(ctx, host.CodeModeConfig{})
	if err != nil {
		return nil, err
	}
	defer h.Close()
	code, err := os.ReadFile(filepath.Join(s.dir, "cells", "three.js"))
	if err != nil {
		return nil, err
	}
	want, err := expectations(s)
	if err != nil {
		return nil, err
	}
	var rates []float64
	for end := time.Now().Add(s.box); time.Now().Before(end) || len(rates) < 3; {
		t0 := time.Now()
		work := make(chan struct{}, s.cells)
		for range s.cells {
			work <- struct{}{}
		}
		close(work)
		var wg sync.WaitGroup
		fails := make(chan error, s.width)
		for range s.width {
			wg.Go(func() {
				for range work {
					if err := cell(ctx, r, string(code), want["three"]); err != nil {
						fails <- err
						return
					}
				}
			})
		}
		wg.Wait()
		select {
		case err := <-fails:
			return nil, err
		default:
		}
		rates = append(rates, float64(s.cells)/time.Since(t0).Seconds())
	}
	return []row{summary("throughput", "cells/s", rates)}, nil
}

// resident measures what 500 suspended runs keep in memory, each.
func resident(ctx context.Context, _ settings) ([]row, error) {
	const runs = 500
	tool, open := gate()
	h, r, err := newRun(ctx, host.CodeModeConfig{MaxSuspendedRuns: runs, TimeoutMs: 100}, tool)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	defer close(open)
	code := `const state = { a: [1, 2, 3], s: "x".repeat(100) }; tools.gate(); await yield_control(); return state;`
	if _, err := r.Exec(ctx, host.ExecInput{Code: "return 1"}); err != nil {
		return nil, err
	}
	before := rss()
	for range runs {
		res, err := r.Exec(ctx, host.ExecInput{Code: code})
		if err != nil {
			return nil, err
		}
		if res.Status != "waiting" {
			return nil, errors.New("the cell did not suspend: " + res.Error)
		}
	}
	each := func() float64 { return (rss() - before) / runs / 1024 }
	parked := each()
	time.Sleep(8 * time.Second) // what is idle is saved
	return []row{summary("parked RSS", "KB", []float64{parked}), summary("suspended RSS", "KB", []float64{each()})}, nil
}

// rss is the process's resident memory in bytes, after a collection.
func rss() float64 {
	debug.FreeOSMemory()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, err := strconv.Atoi(strings.Fields(string(b))[1])
	if err != nil {
		return 0
	}
	return float64(pages * os.Getpagesize())
}

// catalogs compares a cell's time with 5 and with 5,000 tools, one after the
// other in turns, so that noise meets both.
func catalogs(ctx context.Context, s settings) ([]row, error) {
	var runs []*host.Run
	for _, n := range []int{5, 5000} {
		h, r, err := newRun(ctx, host.CodeModeConfig{}, manyTools(n-1)...)
		if err != nil {
			return nil, err
		}
		defer h.Close()
		runs = append(runs, r)
	}
	samples := make([][]float64, 2)
	for end := time.Now().Add(s.box); time.Now().Before(end) || len(samples[0]) < 20; {
		for i, r := range runs {
			t0 := time.Now()
			if err := cell(ctx, r, "return 1 + 1", json.RawMessage("2")); err != nil {
				return nil, err
			}
			samples[i] = append(samples[i], float64(time.Since(t0).Nanoseconds())/1e6)
		}
	}
	return []row{summary("one, 5 tools", "ms", samples[0]), summary("one, 5000 tools", "ms", samples[1])}, nil
}

func manyTools(n int) []host.RawTool {
	tools := make([]host.RawTool, n)
	for i := range tools {
		tools[i] = host.RawTool{
			Name: fmt.Sprintf("tool_%04d", i), Description: fmt.Sprintf("Tool number %d of a large catalog; it looks up record %d and gives it back.", i, i*7),
			Parameters: json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"},"limit":{"type":"integer"}},"required":["id"]}`),
			Call:       func(context.Context, json.RawMessage) (json.RawMessage, error) { return json.RawMessage("null"), nil },
		}
	}
	return tools
}

// start measures a new process until its first result, with a warm cache of
// compiled code.
func start(ctx context.Context, s settings) ([]row, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(s.dir, "cells", "one.js")
	samples, err := sample(s.box, func() error {
		out, err := exec.CommandContext(ctx, self, "-first", path).Output()
		if err == nil && strings.TrimSpace(string(out)) != "2" {
			err = fmt.Errorf("the new process printed %q", out)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return []row{summary("start", "ms", samples)}, nil
}
