package wasmbin

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "write the fuzz corpora")

// seeds are the samples, and a mutation of each.
func seeds() map[string][]byte {
	out := map[string][]byte{}
	for name, wasm := range samples() {
		out[name] = wasm
		rnd := rand.New(rand.NewPCG(1, uint64(len(name))))
		bad := slices.Clone(wasm)
		for range 3 {
			if n := len(bad) - 8; n > 0 {
				bad[8+rnd.IntN(n)] = byte(rnd.IntN(256))
			}
		}
		out[name+"-mutated"] = append(bad, 0)
		out[name+"-cut"] = wasm[:len(wasm)*2/3]
	}
	out["forest"] = forest(vec([]byte{0, 0x41, 0, 0x0b, 3, 5, 6, 8}))
	out["table-changes"] = program(noLocals, 0x41, 0, 0xd0, 0x70, 0x41, 1, 0xfc, 17, 0, 0x20, 0)
	out["calls"] = calls()
	out["passive-data"] = withData(0x41, 0, 0x41, 0, 0x41, 1, 0xfc, 8, 0, 0)
	return out
}

// kept are the seeds that are files, those of each target that reach most of the package.
var kept = map[string][]string{
	"FuzzDecode": {"bulk-cut", "passive-data", "sections", "table", "vectors"},
	"FuzzMeter":  {"bulk", "calls", "countdown-mutated", "sections", "vectors"},
	"FuzzGuest":  {"calls", "countdown", "passive-data", "sections", "table-cut"},
}

// TestCorpora holds that each fuzz target starts from a corpus that is checked in.
func TestCorpora(t *testing.T) {
	all := seeds()
	for target, names := range kept {
		dir := filepath.Join("testdata", "fuzz", target)
		if *update {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, name := range names {
				text := fmt.Sprintf("go test fuzz v1\n[]byte(%q)\n", all[name])
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, name := range names {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || !bytes.HasPrefix(b, []byte("go test fuzz v1\n[]byte(")) {
				t.Errorf("%s/%s: %v; run: go test ./internal/wasmbin -run TestCorpora -update", target, name, err)
			}
		}
	}
}

// addSeeds starts a target from all seeds, also from those that are no files.
func addSeeds(f *testing.F) {
	all := seeds()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f.Add(all[name])
	}
}

// FuzzDecode: any input gives a typed error or a module that encodes to what
// was read, and edits of it end in a typed error or in a module that decodes.
func FuzzDecode(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := Decode(wasm)
		if err != nil {
			checkTyped(t, err)
			return
		}
		if again, err := Decode(m.Encode()); err != nil {
			t.Fatalf("what was encoded is refused: %v", err)
		} else if !bytes.Equal(again.Encode(), m.Encode()) {
			t.Fatal("encoding is not stable")
		}
		_, err = m.DataSegments()
		checkTyped(t, err)
		_, err = m.MutatesTables()
		checkTyped(t, err)
		_, err = m.StubUnreachable()
		checkTyped(t, err)
		checkTyped(t, m.StripData())
		checkTyped(t, m.Prepend(uint32(m.ImportedFuncs()), Code{0x01}))
		if g, err := m.AddCounter(1); err == nil {
			checkTyped(t, m.AddGlobalExport("fuzz counter", g))
		}
		_, err = m.AddFunc(FuncType{}, NewBody(1).End())
		checkTyped(t, err)
		if _, err := Decode(m.Encode()); err != nil {
			t.Fatalf("what was edited is refused: %v", err)
		}
	})
}

// FuzzMeter: a module that the runtime accepts is refused or is still accepted
// after each edit that the engine goes through.
func FuzzMeter(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := Decode(wasm)
		if err != nil {
			checkTyped(t, err)
			return
		}
		_, err = m.StubUnreachable()
		checkTyped(t, err)
		if err == nil {
			err = m.StripData()
		}
		if err == nil {
			_, err = m.MeterLoops(Meter{Quantum: 64, Module: "env", Name: "hook", BulkShift: 6})
		}
		checkTyped(t, err)
		if err != nil || costly(m) || accepts(wasm) != nil {
			return
		}
		if err := accepts(m.Encode()); err != nil {
			t.Fatalf("a valid module is refused after the edits: %v", err)
		}
	})
}

// FuzzGuest: a module that the runtime accepts is refused, or is still accepted
// after the edits that a plugin goes through, on either path.
func FuzzGuest(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, wasm []byte) {
		for _, slow := range []bool{false, true} {
			m, a, err := guestModule(wasm)
			checkTyped(t, err)
			if err != nil {
				return
			}
			g := guest
			g.Unmetered = slow
			if err := m.MeterGuest(a, g); err != nil {
				checkTyped(t, err)
				return
			}
			if slow {
				m.LoopAtEntry(a)
			}
			if costly(m) || accepts(wasm) != nil {
				return
			}
			if err := accepts(m.Encode()); err != nil {
				t.Fatalf("a valid module is refused after the edits: %v", err)
			}
		}
	})
}

// costly says whether the runtime would take long over a module: its compiler's
// work grows with locals times blocks, which a few bytes can declare.
func costly(m *Module) bool {
	for _, body := range m.bodies {
		r := &reader{b: body}
		if n, _ := r.locals(); n > 256 {
			return true
		}
	}
	return len(m.bodies) > 64
}

// checkTyped holds that an error is one of this package's, or none.
func checkTyped(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrUnsupported) && !errors.Is(err, ErrBound) && !errors.Is(err, ErrEdit) {
		t.Fatalf("an error without a kind: %v", err)
	}
}
