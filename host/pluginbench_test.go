package host_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/plugins"
)

// BenchmarkPluginCall is a warm call of a cell to a Go plugin and back, with 1 KB of
// JSON each way: the difference of two cells that differ in calls, divided by
// them, is the call itself.
func BenchmarkPluginCall(b *testing.B) {
	p := loadBoard(b, boardManifest("test.board", boardNamespace(nil)), plugins.LoadOptions{CacheDir: b.TempDir()})
	r := newRun(b, newHost(b, host.Options{Plugins: []*plugins.Plugin{p}}), host.RunOptions{})
	const calls = 100
	body := fmt.Sprintf(`const title = %q; let n = 0;`, strings.Repeat("x", 950))
	for _, c := range []struct{ name, loop string }{
		{"Go tool", `for (let i = 0; i < 100; i++) n += (await tools.echo({ number: 1, patch: { title } })).number;`},
		{"plugin", `for (let i = 0; i < 100; i++) n += (await tools.update_card({ number: 1, patch: { title } })).number;`},
		{"plugin by namespace", `for (let i = 0; i < 100; i++) n += (await Board.update(1, { title })).number;`},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				res, err := r.Exec(b.Context(), host.ExecInput{Code: body + c.loop + ` return n`})
				if err != nil || res.Status != guestabi.StatusCompleted || string(res.Value) != fmt.Sprint(calls) {
					b.Fatalf("%+v, %v", res, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/calls, "µs/call")
		})
	}
}

// BenchmarkStartWithPlugins makes a host of 50 plugins with 1,000 tools, and a run
// with its description. No plugin is compiled for it.
func BenchmarkStartWithPlugins(b *testing.B) {
	var ps []*plugins.Plugin
	for i := range 50 {
		m := boardManifest(fmt.Sprintf("test.board%d", i))
		var tools []object
		for j := range 20 {
			tools = append(tools, object{"name": fmt.Sprintf("tool_%d_%d", i, j), "description": "A tool for cards and boards.", "parameters": object{
				"type": "object", "properties": object{"number": object{"type": "integer"}, "title": object{"type": "string"}}, "required": []string{"number"},
			}})
		}
		m["tools"] = tools
		ps = append(ps, loadBoard(b, m, plugins.LoadOptions{}))
	}
	for b.Loop() {
		o := host.Options{Plugins: ps}
		o.CodeMode.Enabled = true
		h, err := host.New(b.Context(), &o)
		if err != nil {
			b.Fatal(err)
		}
		r, err := h.NewRun(b.Context(), scope)
		if err != nil {
			b.Fatal(err)
		}
		if len(r.Surface()) != 2 {
			b.Fatal("no surface")
		}
		r.Close()
		if err := h.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
