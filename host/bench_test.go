package host_test

import (
	"context"
	"testing"

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
