package host_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
)

// benchRun is a run with a typed tool on a host as an embedder would make it.
func benchRun(b *testing.B) *host.Run {
	type in struct {
		X int    `json:"x"`
		S string `json:"s,omitempty"`
	}
	type out struct {
		Got int    `json:"got"`
		S   string `json:"s"`
	}
	return setup(b, host.Options{Tools: []host.RawTool{
		host.Tool("echo", "Echo a number.", func(_ context.Context, v in) (out, error) { return out{v.X, v.S}, nil }),
	}})
}

func BenchmarkExec(b *testing.B) {
	r := benchRun(b)
	for _, c := range []struct{ name, code string }{
		{"one", "return 1 + 1"},
		{"three", "let s = 0; for (let i = 0; i < 3; i++) { const r = await tools.echo({ x: i }); s += r.got } return s"},
		{"fanout", "const r = await Promise.all(Array.from({ length: 256 }, (_, i) => tools.echo({ x: i, s: 'y'.repeat(1000) }))); return r.length"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				res, err := r.Exec(b.Context(), host.ExecInput{Code: c.code})
				if err != nil || res.Status != guestabi.StatusCompleted {
					b.Fatalf("%+v, %v", res, err)
				}
			}
		})
	}
}

// BenchmarkWait is a cell that suspends once: two calls of the model.
func BenchmarkWait(b *testing.B) {
	r := benchRun(b)
	b.ReportAllocs()
	for b.Loop() {
		res, err := r.Exec(b.Context(), host.ExecInput{Code: "const a = [1, 2, 3]; await yield_control(); return a.length"})
		if err != nil || res.Status != guestabi.StatusWaiting {
			b.Fatalf("%+v, %v", res, err)
		}
		if res, err = r.Wait(b.Context(), host.WaitInput{CellID: res.CellID}); err != nil || string(res.Value) != "3" {
			b.Fatalf("%+v, %v", res, err)
		}
	}
}

// BenchmarkResume is one parked cell that goes on and yields again: what a suspension and its wait cost without the start
// and the end of a program.
func BenchmarkResume(b *testing.B) {
	r := benchRun(b)
	res, err := r.Exec(b.Context(), host.ExecInput{Code: "for (;;) await yield_control()"})
	if err != nil || res.Status != guestabi.StatusWaiting {
		b.Fatalf("%+v, %v", res, err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if res, err = r.Wait(b.Context(), host.WaitInput{CellID: res.CellID}); err != nil || res.Status != guestabi.StatusWaiting {
			b.Fatalf("%+v, %v", res, err)
		}
	}
}

func BenchmarkEnforceSurface(b *testing.B) {
	r := benchRun(b)
	p := payloads["Anthropic"]
	payload := []byte(fmtTools(p.body, p.exec, p.wait))
	b.ReportAllocs()
	for b.Loop() {
		if err := r.EnforceSurface(payload); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReturnBesideSuspending is a cell that returns at once, beside eight that yield with 30 MB of random
// numbers each and go on: what a neighbour's suspension costs. It reports percentiles, in milliseconds.
func BenchmarkReturnBesideSuspending(b *testing.B) {
	r := setup(b, host.Options{CodeMode: host.CodeModeConfig{TimeoutMs: 60_000, MaxSnapshotBytes: 64 << 20}})
	ctx, cancel := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for ctx.Err() == nil {
				res, err := r.Exec(ctx, host.ExecInput{Code: "const a = new Float64Array(30 << 17); for (let i = 0; i < a.length; i += 7) a[i] = Math.random(); await yield_control(); return a.length"})
				for err == nil && res.Status == guestabi.StatusWaiting {
					res, err = r.Wait(ctx, host.WaitInput{CellID: res.CellID})
				}
			}
		})
	}
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		if res, err := r.Exec(b.Context(), host.ExecInput{Code: "return 1"}); err != nil || res.Status != guestabi.StatusCompleted {
			b.Fatalf("%+v, %v", res, err)
		}
		took = append(took, time.Since(start))
		time.Sleep(2 * time.Millisecond)
	}
	cancel()
	wg.Wait()
	slices.Sort(took)
	for _, p := range []int{50, 99} {
		b.ReportMetric(took[len(took)*p/100].Seconds()*1000, fmt.Sprintf("p%d-ms", p))
	}
}
