package extism

import (
	"context"
	"errors"
	"testing"

	"github.com/cloister-wasm/cloister/internal/wasmbin"
)

// data is a data section of active segments: address, text, address, text.
func data(parts ...any) []byte {
	out := leb(len(parts) / 2)
	for i := 0; i < len(parts); i += 2 {
		out = join(out, []byte{0, 0x41}, sleb(int64(parts[i].(int))), []byte{0x0b}, str(parts[i+1].(string)))
	}
	return out
}

// Merging data segments leaves memory as the module describes it.
func TestDataSegments(t *testing.T) {
	tests := []struct {
		name   string
		datas  []byte
		merged bool
		want   map[int]byte
	}{
		{"one", data(10, "ab"), true, map[int]byte{9: 0, 10: 'a', 11: 'b', 12: 0}},
		{"close", data(10, "ab", 14, "c", 40, "d"), true, map[int]byte{10: 'a', 12: 0, 14: 'c', 39: 0, 40: 'd'}},
		{"adjacent", data(10, "ab", 12, "c"), true, map[int]byte{11: 'b', 12: 'c'}},
		{"far", data(10, "ab", 5000, "c"), true, map[int]byte{10: 'a', 5000: 'c'}},
		{"descending", data(5000, "c", 10, "ab", 14, "d"), true, map[int]byte{10: 'a', 14: 'd', 5000: 'c'}},
		{"overlapping: the later one wins", data(10, "aaaa", 12, "b"), false, map[int]byte{11: 'a', 12: 'b', 13: 'a'}},
		{"one in another's gap", data(100, "x", 95, "y", 105, "z"), false, map[int]byte{95: 'y', 100: 'x', 105: 'z'}},
		{"large addresses", data(65530, "abc", 65534, "de"), true, map[int]byte{65530: 'a', 65533: 0, 65535: 'e'}},
		{"empty ones", data(10, "", 10, "a", 11, ""), true, map[int]byte{10: 'a', 11: 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for addr, want := range tt.want {
				m := runModule([]byte{0x41}, sleb(int64(addr)), []byte{0x2d, 0, 0})
				m.datas = tt.datas
				_, err := runs(t, m, Config{}).Call(context.Background(), "run", nil)
				var ge *GuestError
				if errors.As(err, &ge) {
					if byte(ge.Code) != want {
						t.Errorf("memory[%d] = %d, want %d", addr, ge.Code, want)
					}
				} else if err != nil || want != 0 {
					t.Errorf("memory[%d]: %v, want %d", addr, err, want)
				}
			}
			m := runModule([]byte{0x41, 0})
			m.datas = tt.datas
			checkMerged(t, m, tt.merged)
			m.count = leb(int(tt.datas[0]))
			checkMerged(t, m, false) // instructions may name segments
		})
	}
	// A passive segment and memory.init: numbers of segments have a meaning.
	m := runModule([]byte{0x41, 5, 0x41, 0, 0x41, 2, 0xfc, 8, 1, 0, 0x41, 6, 0x2d, 0, 0})
	m.datas = join([]byte{2, 0, 0x41, 0, 0x0b}, str("zz"), []byte{1}, str("pq"))
	m.count = []byte{2}
	_, err := runs(t, m, Config{}).Call(context.Background(), "run", nil)
	var ge *GuestError
	if !errors.As(err, &ge) || ge.Code != 'q' {
		t.Errorf("memory.init = %v, want q", err)
	}
}

func checkMerged(t *testing.T, m *wasmModule, want bool) {
	t.Helper()
	d, err := wasmbin.Decode(m.bytes())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := d.MergeData(); got != want || err != nil {
		t.Errorf("merged: %v, %v; want %v", got, err, want)
	}
}

// FuzzCheck feeds broken modules to the checks, and what they let pass to wazero.
func FuzzCheck(f *testing.F) {
	f.Add(runModule([]byte{0x41, 0}).bytes())
	full := runModule([]byte{0x41, 0})
	full.importFunc("extism:host/env", "alloc", 0)
	full.tables, full.elements = []byte{1, 0x70, 1, 1, 5}, []byte{1, 0, 0x41, 0, 0x0b, 1, 0}
	full.globals = []byte{1, 0x7f, 1, 0x41, 0, 0x0b}
	full.datas = data(0, "ab", 8, "c")
	full.custom = str("name")
	f.Add(full.bytes())
	f.Add(asks("f", 1).bytes())
	f.Add(transferModule([]byte{0x42, 8, 0x10, 0, 0xa7}).bytes())
	f.Fuzz(func(t *testing.T, wasm []byte) {
		if len(wasm) > 4<<10 {
			return // size is not what is looked for
		}
		if err := Check(wasm, []string{"f"}); err != nil {
			for _, kind := range []error{ErrModule, ErrComponent, ErrImport, ErrLimit} {
				if errors.Is(err, kind) {
					return
				}
			}
			t.Fatalf("untyped error %v", err)
		}
		m, err := Compile(context.Background(), wasm, Config{MemoryBytes: 1 << 20, Functions: offers("f", func(context.Context, []byte) []byte { return nil })})
		if err != nil {
			return
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
