package store

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/cloister-wasm/cloister/plugins"
)

// BenchmarkLoad1 loads one plugin of a usual size, built with the Go toolchain, whose machine code is in the cache. Every
// signature and digest is verified each time.
func BenchmarkLoad1(b *testing.B) {
	file := filepath.Join(b.TempDir(), "guest.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-o", file, "../testdata/guest")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, text)
	}
	s := newStore(b)
	install(b, s, spec{id: "acme.a", version: "1.0.0", tools: []string{"echo"}, export: plugins.CallExport, wasm: readFile(b, file)})
	for _, eager := range []bool{false, true} {
		b.Run(fmt.Sprintf("compiled=%v", eager), func(b *testing.B) {
			benchmarkLoad(b, s, 1, &plugins.LoadOptions{CacheDir: filepath.Join(b.TempDir(), "cache"), Eager: eager})
		})
	}
}

// BenchmarkLoad50 loads 50 plugins with 1,000 tools.
func BenchmarkLoad50(b *testing.B) {
	s := newStore(b)
	var specs []spec
	for i := range 50 {
		sp := spec{id: fmt.Sprintf("acme.p%d", i), version: "1.0.0", filler: 100_000 + i}
		for j := range 20 {
			sp.tools = append(sp.tools, fmt.Sprintf("tool_%d_%d", i, j))
		}
		specs = append(specs, sp)
	}
	install(b, s, specs...)
	for _, eager := range []bool{false, true} {
		b.Run(fmt.Sprintf("compiled=%v", eager), func(b *testing.B) {
			benchmarkLoad(b, s, 50, &plugins.LoadOptions{CacheDir: filepath.Join(b.TempDir(), "cache"), Eager: eager})
		})
	}
}

func benchmarkLoad(b *testing.B, s *Store, want int, o *plugins.LoadOptions) {
	policy := testPolicy(b, nil)
	once := func() {
		l, err := s.Load(ctx, policy, nil, o)
		if err != nil || len(l.Plugins) != want {
			b.Fatalf("%+v, %v", l, err)
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
	once() // fills the cache
	for b.Loop() {
		once()
	}
}

func BenchmarkInstall(b *testing.B) {
	s := newStore(b)
	one, two := verified(b, spec{id: "acme.a", version: "1.0.0"}), verified(b, spec{id: "acme.a", version: "2.0.0"})
	for b.Loop() {
		if _, err := s.Install(ctx, one, ""); err != nil {
			b.Fatal(err)
		}
		one, two = two, one
	}
}
