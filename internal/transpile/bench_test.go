package transpile

import (
	"strings"
	"testing"
)

// cell1K is a cell of about 1 KB as a model writes them.
const cell1K = `interface Row { id: number; name: string; tags?: string[] }
enum Kind { Open = "open", Closed = "closed" }

async function load(ids: number[]): Promise<Row[]> {
  const out: Row[] = [];
  for (const id of ids) {
    const row = (await tools.call("cloister:tracker:issue", { id, kind: Kind.Open })) as Row;
    if (!row.tags?.length) continue;
    out.push({ ...row, name: row.name.trim().toLowerCase() });
  }
  return out;
}

const rows = await load([1, 2, 3]);
const byTag = new Map<string, Row[]>();
for (const row of rows) {
  for (const tag of row.tags ?? []) {
    const list = byTag.get(tag) ?? [];
    list.push(row);
    byTag.set(tag, list);
  }
}
if (byTag.size === 0) {
  return { found: 0, kind: Kind.Closed };
}
const top = [...byTag].sort((a, b) => b[1].length - a[1].length).slice(0, 10);
text(` + "`${top.length} of ${byTag.size} tags`" + `);
return top.map(([tag, list]) => ({ tag, count: list.length, first: list[0]!.name }) satisfies object);
`

// BenchmarkWarm is a whole Transform with a warm process. Compare InProcess, which
// is the same work without the process, and ESBuild, esbuild's part of it.
func BenchmarkWarm(b *testing.B) {
	w := newTestWorker(b, nil)
	transformGood(b, w)
	b.SetBytes(int64(len(cell1K)))
	for b.Loop() {
		if _, err := w.Transform(b.Context(), Input{Source: cell1K}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInProcess(b *testing.B) {
	b.SetBytes(int64(len(cell1K)))
	for b.Loop() {
		if _, err := transformSource(cell1K); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkESBuild(b *testing.B) {
	lines := newLineTable(cell1K)
	at, _ := topLevelReturns(runESBuild(cell1K, "m", dialect{}).Errors, cell1K, lines)
	hidden, ok := hideReturns(cell1K, at, "m")
	if !ok || len(hidden) != 2 {
		b.Fatalf("%d returns", len(hidden))
	}
	b.Run("returns", func(b *testing.B) {
		for b.Loop() {
			runESBuild(cell1K, "m", dialect{})
		}
	})
	edited := hidden.apply(cell1K)
	b.Run("output", func(b *testing.B) {
		for b.Loop() {
			runESBuild(edited, "m", dialect{})
		}
	})
}

// BenchmarkParallel keeps both processes of a default Worker busy.
func BenchmarkParallel(b *testing.B) {
	w := newTestWorker(b, nil)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := w.Transform(b.Context(), Input{Source: cell1K}); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkCold is the first Transform of a Worker: a process, its limits, the
// hellos and the cell.
func BenchmarkCold(b *testing.B) {
	for b.Loop() {
		w := NewWorker(nil)
		if _, err := w.Transform(b.Context(), Input{Source: cell1K}); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkLarge transforms 1 MiB, nearly all of it in functions.
func BenchmarkLarge(b *testing.B) {
	w := newTestWorker(b, nil)
	const head = "void async function () {\n"
	source := cell1K[:strings.Index(cell1K, "if (byTag")] + strings.Repeat(head+cell1K+"};\n", (1<<20)/(len(cell1K)+len(head)+3)-1) + "return 1"
	b.SetBytes(int64(len(source)))
	for b.Loop() {
		if _, err := w.Transform(b.Context(), Input{Source: source}); err != nil {
			b.Fatal(err)
		}
	}
}
