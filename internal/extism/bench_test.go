package extism

import (
	"context"
	"strings"
	"testing"
	"time"
)

func BenchmarkCall1KB(b *testing.B) {
	i := instance(b, guestModule(b, Config{}))
	in := []byte(`{"name":"n","tags":["` + strings.Repeat("abcdefg\",\"", 98) + `x"]}`)
	for _, export := range []string{"echo", "work"} {
		b.Run(export, func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := i.Call(context.Background(), export, in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkInstance(b *testing.B) {
	m := guestModule(b, Config{})
	b.Run("make", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			i, err := m.NewInstance(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			i.Close()
		}
	})
	b.Run("make and call once", func(b *testing.B) {
		for b.Loop() {
			i, err := m.NewInstance(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			if _, err := i.Call(context.Background(), "echo", []byte("x")); err != nil {
				b.Fatal(err)
			}
			i.Close()
		}
	})
}

func BenchmarkCompileFromCache(b *testing.B) {
	guestModule(b, Config{})
	wasm := guest(b)
	b.Run("prepare", func(b *testing.B) {
		for b.Loop() {
			if err := Check(wasm, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("compile", func(b *testing.B) {
		for b.Loop() {
			m, err := Compile(context.Background(), wasm, Config{CacheDir: sharedCache()})
			if err != nil || !m.FromCache() {
				b.Fatal(err, "or not from the cache")
			}
			if err := m.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// plainModule compiles the test plugin without countdowns and without the runtime's checks: what metering is measured
// against. slow gives it the latter.
func plainModule(tb testing.TB, slow bool) *Module {
	tb.Helper()
	c, err := analyzed(guest(tb))
	if err != nil {
		tb.Fatal(err)
	}
	c.slow = "for the benchmark"
	wasm, err := c.rewrite()
	if err != nil {
		tb.Fatal(err)
	}
	m := &Module{config: Config{}.withDefaults(), callable: c.callable}
	if slow {
		m.slow = c.slow
	}
	m.closing, m.close = context.WithCancelCause(context.Background())
	if m.compiled, err = m.compileSDK(context.Background(), wasm, nil); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := m.Close(); err != nil {
			tb.Error(err)
		}
	})
	return m
}

// BenchmarkCompute takes turns, so that a busy machine disturbs all alike, and reports the cost of metering.
func BenchmarkCompute(b *testing.B) {
	modules := []*Module{plainModule(b, false), guestModule(b, Config{}), plainModule(b, true)}
	for _, c := range []struct{ export, input string }{{"fib", "18"}, {"crunch", "200"}, {"sieve", "20000"}, {"work", `{"name":"n","tags":["` + strings.Repeat("abcdefg\",\"", 98) + `x"]}`}} {
		b.Run(c.export, func(b *testing.B) {
			var spent, best [3]time.Duration
			var instances [3]*Instance
			for n, m := range modules {
				instances[n] = instance(b, m)
			}
			for b.Loop() {
				for n, i := range instances {
					start := time.Now()
					if _, err := i.Call(context.Background(), c.export, []byte(c.input)); err != nil {
						b.Fatal(err)
					}
					took := time.Since(start)
					spent[n] += took
					if best[n] == 0 || took < best[n] {
						best[n] = took
					}
				}
			}
			b.ReportMetric(0, "ns/op")
			for n, name := range []string{"plain", "metered", "checked"} {
				b.ReportMetric(float64(best[n].Microseconds()), name+"-µs")
				b.ReportMetric(float64(spent[n])/float64(spent[0]), name+"-ratio")
				b.ReportMetric(float64(best[n])/float64(best[0]), name+"-best-ratio")
			}
		})
	}
}
