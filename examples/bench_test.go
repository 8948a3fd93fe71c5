package examples_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/plugins"
)

// BenchmarkCalls is a warm call of a cell to a tool of a signed plugin and back, with
// 1 KB of JSON in, by the language of the plugin.
func BenchmarkCalls(b *testing.B) {
	const calls = 100
	for _, c := range []struct{ language, name, call string }{
		{"AssemblyScript", "texttools", `Texts.fill(text, { a: i })`},
		{"C", "hashes", `Hashes.checksum(text, 'crc32c')`},
	} {
		b.Run(c.language, func(b *testing.B) {
			r := newRun(b, installed(b, built(b, c.name), plugins.Services{}))
			code := fmt.Sprintf(`const text = %q; for (let i = 0; i < %d; i++) await %s; return 1`, strings.Repeat("x", 1000), calls, c.call)
			for b.Loop() {
				res, err := r.Exec(b.Context(), host.ExecInput{Code: code})
				if err != nil || res.Status != guestabi.StatusCompleted {
					b.Fatalf("%+v, %v", res, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/calls, "µs/call")
		})
	}
}
