package plugins

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// copyExample makes a folder of the example plugin: its manifest and a fresh build.
func copyExample(tb testing.TB, dir string) string {
	tb.Helper()
	manifest, err := os.ReadFile(filepath.Join("..", "examples", "plugins", "csvquery", ManifestFile))
	if err != nil {
		tb.Fatal(err)
	}
	return folder(tb, dir, string(manifest), built(tb, exampleWasm))
}

func BenchmarkCall(b *testing.B) {
	p := load(b, copyExample(b, b.TempDir()), devOptions())
	i := newInstance(b, p)
	text, err := json.Marshal(map[string]string{"text": strings.Repeat("the quick brown fox jumps ", 40)})
	if err != nil {
		b.Fatal(err)
	}
	table, err := json.Marshal(map[string]any{"csv": "city,amount\n" + strings.Repeat("Oslo,10\nRome,5\n", 60), "groupBy": []string{"city"},
		"aggregates": []map[string]string{{"fn": "sum", "column": "amount"}}})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name, tool string
		input      []byte
	}{{"text_stats 1KB", "text_stats", text}, {"csv_query 1KB", "csv_query", table}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := i.Call(context.Background(), c.tool, c.input); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLoadDir(b *testing.B) {
	dir := copyExample(b, b.TempDir())
	for b.Loop() {
		p, err := LoadDir(context.Background(), dir, devOptions())
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
