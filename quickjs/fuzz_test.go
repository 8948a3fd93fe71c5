package quickjs

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// fuzzTemplate is one template for all inputs of a fuzz target.
var fuzzTemplate = sync.OnceValues(func() (*Template, error) {
	e, err := loadEngine(false)
	if err != nil {
		return nil, err
	}
	return e.NewTemplate(context.Background(), &TemplateOptions{Prelude: testPrelude, Entries: entryCount})
})

// Ways of making a snapshot of fuzzed parts. Only with a header and a checksum
// that are right does any input get further than the first check.
const (
	fuzzWhole  = iota // data is the snapshot
	fuzzPages         // page data is compressed by the harness
	fuzzStored        // data stands for the compressed page data
)

// FuzzRestore: any snapshot is refused with ErrSnapshot or gives a VM, and what
// the host then does with that VM ends, without a panic.
func FuzzRestore(f *testing.F) {
	addSeeds(f, "FuzzRestore")
	tmpl, err := fuzzTemplate()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, way byte, pages, stack, flags, nRoots, nRej, rawSize uint32, roots, data []byte) {
		c := craft{pages: pages, stack: stack, flags: flags, nRoots: int(nRoots), nRej: int(nRej), rawSize: int(rawSize)}
		for ; len(roots) >= 8 && len(c.roots) < 20; roots = roots[8:] {
			c.roots = append(c.roots, binary.LittleEndian.Uint64(roots))
		}
		var snap []byte
		switch way % 3 {
		case fuzzWhole:
			snap = data
		case fuzzPages:
			c.raw = data
			snap = c.bytes(tmpl)
		case fuzzStored:
			c.data = append([]byte{}, data...)
			snap = c.bytes(tmpl)
		}
		vm, values, err := tmpl.Restore(context.Background(), snap, nil)
		if err != nil {
			if !errors.Is(err, ErrSnapshot) && !errors.Is(err, ErrOutOfMemory) {
				t.Fatalf("an error without a kind: %v", err)
			}
			return
		}
		exercise(vm, values)
		vm.Close()
		next, err := tmpl.blank(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		checkImage(t, next)
		next.Close()
	})
}

// FuzzHostFuncs: any arguments for any host function, without a panic, and with
// nothing written outside of the guest's memory.
func FuzzHostFuncs(f *testing.F) {
	addSeeds(f, "FuzzHostFuncs")
	tmpl, err := fuzzTemplate()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, which byte, a, b, c, d, e uint64) {
		vm, err := tmpl.NewVM(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer vm.Close()
		h := hostFuncs[int(which)%len(hostFuncs)]
		stack := []uint64{a, b, c, d, e}
		h.fn(vm, stack)
		if len(h.results) > 0 && stack[0] > errnoNosys {
			t.Fatalf("%s(%d, %d, %d, %d, %d) = %d", h.name, a, b, c, d, e, stack[0])
		}
		vm.Unhandled()
		if _, err := vm.Snapshot(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
	})
}

// fuzzSeeds are the seeds, by target and name.
func fuzzSeeds() map[string]map[string][]any {
	restore := func(way byte, c craft, roots, data []byte) []any {
		return []any{way, c.pages, c.stack, c.flags, uint32(c.nRoots), uint32(c.nRej), uint32(c.rawSize), roots, data}
	}
	line := bytes.Repeat([]byte("line"), lineSize/4)
	root := binary.LittleEndian.AppendUint64(nil, 3<<32)
	two := append(page(4, 1, line), page(9, 1<<63|1, append(bytes.Clone(line), line...))...)
	one := craftEncoder.EncodeAll(page(4, 1, line), nil)
	out := map[string]map[string][]any{
		"FuzzRestore": {
			"nothing":       restore(fuzzWhole, craft{}, nil, nil),
			"magic":         restore(fuzzWhole, craft{}, nil, []byte(snapshotMagic)),
			"header":        restore(fuzzWhole, craft{}, nil, append([]byte(snapshotMagic+"\x01\x00\x00\x00"), make([]byte, 100)...)),
			"empty":         restore(fuzzPages, craft{}, root, nil),
			"two-pages":     restore(fuzzPages, craft{}, root, two),
			"flags":         restore(fuzzPages, craft{flags: 7}, root, two),
			"out-of-order":  restore(fuzzPages, craft{}, root, append(page(9, 1, line), page(4, 1, line)...)),
			"short-page":    restore(fuzzPages, craft{}, root, page(4, 3, line)),
			"stack":         restore(fuzzPages, craft{stack: 16}, root, two),
			"bitmaps":       restore(fuzzPages, craft{}, root, page(0x126, math.MaxUint64, bytes.Repeat(line, 64))),
			"grown":         restore(fuzzPages, craft{pages: 200}, root, page(4000, 1, line)),
			"many-roots":    restore(fuzzPages, craft{}, bytes.Repeat(root, 16), two),
			"too-many":      restore(fuzzPages, craft{nRoots: math.MaxUint32, nRej: math.MaxUint32}, root, two),
			"rejections":    restore(fuzzPages, craft{nRoots: 1, nRej: 2}, bytes.Repeat(root, 5), two),
			"stored":        restore(fuzzStored, craft{rawSize: 76}, root, one),
			"stored-cut":    restore(fuzzStored, craft{rawSize: 76}, root, one[:len(one)-3]),
			"stored-twice":  restore(fuzzStored, craft{rawSize: 152}, root, append(bytes.Clone(one), one...)),
			"stored-length": restore(fuzzStored, craft{rawSize: 1 << 20}, root, one),
			"stored-bomb":   restore(fuzzStored, craft{rawSize: 100}, root, bomb(1<<20, 1<<20, 0x38)),
		},
		"FuzzHostFuncs": {},
	}
	for i, h := range hostFuncs {
		for name, args := range map[string][5]uint64{
			"zero": {}, "small": {8, 16, 24, 32, 40}, "high": {math.MaxUint32, math.MaxUint32, math.MaxUint32, math.MaxUint32, 1},
			"wide": {math.MaxUint64, 1 << 63, 1 << 32, math.MaxUint64, math.MaxUint64},
		} {
			out["FuzzHostFuncs"][h.name+"-"+name] = []any{byte(i), args[0], args[1], args[2], args[3], args[4]}
		}
	}
	return out
}

// addSeeds starts a target from all its seeds, also from those that are no files.
func addSeeds(f *testing.F, target string) {
	seeds := fuzzSeeds()[target]
	for _, name := range slices.Sorted(maps.Keys(seeds)) {
		f.Add(seeds[name]...)
	}
}

// kept are the seeds that are files, those of each target that reach most of the package.
var kept = map[string][]string{
	"FuzzRestore":   {"bitmaps", "flags", "grown", "rejections", "stored-bomb"},
	"FuzzHostFuncs": {"fd_write-wide", "host_call-high", "host_module_load-high", "host_promise_rejection-zero", "random_get-high"},
}

// seedFile is a seed in Go's own file format.
func seedFile(args []any) string {
	text := "go test fuzz v1\n"
	for _, a := range args {
		form := "%T(%d)\n"
		switch a.(type) {
		case byte:
			form = "byte(%[2]q)\n"
		case []byte:
			form = "[]byte(%[2]q)\n"
		}
		text += fmt.Sprintf(form, a, a)
	}
	return text
}

// TestCorpora holds that each fuzz target starts from a corpus that is checked in.
func TestCorpora(t *testing.T) {
	seeds := fuzzSeeds()
	for target, names := range kept {
		dir := filepath.Join("testdata", "fuzz", target)
		if *update {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range names {
			golden(t, filepath.Join(dir, name), seedFile(seeds[target][name]))
		}
	}
}
