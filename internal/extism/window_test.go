package extism

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// transfer writes random calls of the functions that move data, and does to a model what they should do.
type transfer struct {
	rnd   *rand.Rand
	code  []byte
	block []byte // the plugin's, at its offset
	at    uint64
	input []byte
	hash  uint64
	last  int // where the last store ended, in block
}

// Function indices of the module below.
const (
	fnAlloc = iota
	fnLoad64
	fnLoad8
	fnStore64
	fnStore8
	fnInput64
	fnInput8
	fnOutput
	fnFree
	fnLog
)

func (x *transfer) emit(parts ...[]byte) { x.code = append(x.code, join(parts...)...) }
func call1(fn int) []byte                { return join([]byte{0x10}, leb(fn)) }
func const64(v uint64) []byte            { return join([]byte{0x42}, sleb(int64(v))) }

// fold takes the i64 on the stack into the hash, in local 0.
func (x *transfer) fold(v uint64) {
	x.emit([]byte{0x20, 0}, const64(31), []byte{0x7e, 0x7c, 0x21, 0})
	x.hash = x.hash*31 + v
}

func word(b []byte, at int) uint64 {
	var w [8]byte
	if at < len(b) {
		copy(w[:], b[at:])
	}
	return binary.LittleEndian.Uint64(w[:])
}

func (x *transfer) step() {
	place := x.rnd.IntN(len(x.block) - 8)
	if x.rnd.IntN(4) > 0 && x.last < len(x.block)-8 {
		place = x.last // most stores follow each other, and most loads follow stores
	}
	spot := const64(x.at + uint64(place))
	v := x.rnd.Uint64()
	switch x.rnd.IntN(9) {
	case 0, 1:
		x.emit(spot, const64(v), call1(fnStore64))
		binary.LittleEndian.PutUint64(x.block[place:], v)
		x.last = place + 8
	case 2, 3:
		x.emit(spot, []byte{0x41}, sleb(int64(int32(v))), call1(fnStore8))
		x.block[place] = byte(v)
		x.last = place + 1
	case 4:
		x.emit(spot, call1(fnLoad64))
		x.fold(word(x.block, place))
		x.last = place + 8
	case 5:
		x.emit(spot, call1(fnLoad8), []byte{0xad})
		x.fold(uint64(x.block[place]))
	case 6:
		k := x.rnd.IntN(len(x.input) + 20)
		x.emit(const64(uint64(k)), call1(fnInput64))
		x.fold(word(x.input, k))
	case 7:
		k := x.rnd.IntN(len(x.input) + 20)
		x.emit(const64(uint64(k)), call1(fnInput8), []byte{0xad})
		x.fold(word(x.input, k) & 255)
	case 8: // a block that is written, logged and freed, which reuses its place; its text is the hash
		x.emit(const64(8), call1(fnAlloc), []byte{0x22, 1, 0x20, 0}, call1(fnStore64))
		x.emit([]byte{0x20, 1}, call1(fnLoad64), []byte{0x20, 0, 0x7d}) // what was stored, less the hash
		x.fold(0)
		x.emit([]byte{0x20, 1}, call1([]int{fnFree, fnLog}[x.rnd.IntN(2)]))
	}
}

func transferModule(code []byte) *wasmModule {
	m := runModule(code)
	m.types = append(m.types, [2][]byte{{i64}, {i64}}, [2][]byte{{i64}, {i32}}, [2][]byte{{i64, i64}, nil}, [2][]byte{{i64, i32}, nil}, [2][]byte{{i64}, nil})
	for _, f := range []struct {
		name string
		typ  int
	}{{"alloc", 1}, {"load_u64", 1}, {"load_u8", 2}, {"store_u64", 3}, {"store_u8", 4}, {"input_load_u64", 1}, {"input_load_u8", 2},
		{"output_set", 3}, {"free", 5}, {"log_info", 5}} {
		m.importFunc(envModule, f.name, f.typ)
	}
	m.funcs[0].locals = []byte{1, 2, i64}
	return m
}

// The windows show a plugin the same memory as one call of the host for each word would.
func TestWindows(t *testing.T) {
	for seed := range uint64(12) {
		x := &transfer{rnd: rand.New(rand.NewPCG(seed, 1)), block: make([]byte, 700), input: make([]byte, 150+seed)}
		for n := range x.input {
			x.input[n] = byte(x.rnd.Uint32())
		}
		_, size := class(len(x.input))
		x.at = kernelBase + uint64(size) // the first block after the input's
		x.emit(const64(uint64(len(x.block))), call1(fnAlloc), []byte{0x1a})
		for range 3000 {
			x.step()
		}
		x.emit(const64(x.at), []byte{0x20, 0}, call1(fnStore64)) // the hash, last: it is still in the window when the call returns
		binary.LittleEndian.PutUint64(x.block, x.hash)
		x.emit(const64(x.at), const64(uint64(len(x.block))), call1(fnOutput), []byte{0x41, 0})

		i := runs(t, transferModule(x.code), Config{Log: func(LogRecord) {}})
		for round := range 2 { // nothing of the first call shows in the second
			got, err := i.Call(context.Background(), "run", x.input)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(x.block, got); diff != "" {
				t.Fatalf("seed %d, call %d: the block (-want +got):\n%s", seed, round, diff)
			}
		}
	}
}

// A forged offset reads nothing and writes nothing, in whatever window it seems to lie.
func TestWindowEdges(t *testing.T) {
	offsets := []uint64{0, 8, 95, 1 << 20, 1 << 32, voidAt, voidAt + 8, 1 << 63, 1<<63 + 8, 1<<63 - 8, 1<<64 - 8, 1<<64 - 64, 1<<64 - 1}
	for _, at := range offsets {
		m := transferModule(join(const64(at), call1(fnLoad64), const64(at), call1(fnLoad8), []byte{0xad, 0x84, 0xa7}))
		out, err := runs(t, m, Config{}).Call(context.Background(), "run", nil)
		if err != nil || len(out) != 0 {
			t.Errorf("a load at %#x = %q, %v; want zeros", at, out, err)
		}
		for name, code := range map[string][]byte{
			"store_u64": join(const64(at), const64(7), call1(fnStore64), []byte{0x41, 0}),
			"store_u8":  join(const64(at), []byte{0x41, 7}, call1(fnStore8), []byte{0x41, 0}),
		} {
			if _, err := runs(t, transferModule(code), Config{}).Call(context.Background(), "run", nil); !errors.Is(err, ErrTrap) || !strings.Contains(err.Error(), errTransfer.Error()) {
				t.Errorf("%s at %#x = %v, want a trap", name, at, err)
			}
		}
	}
}

// What a host function reads and writes is what the plugin stored before, and loads after.
func TestWindowsAroundHostFunction(t *testing.T) {
	code := join(
		const64(200), call1(fnAlloc), []byte{0x22, 0}, // at 0: a block
		const64(0x6867666564636261), call1(fnStore64), // "abcdefgh", in the window
		[]byte{0x20, 0, 0x10, 10, 0x21, 1}, // response = f(block)
		[]byte{0x20, 0}, []byte{0x20, 1}, call1(fnLoad64), call1(fnStore64),
		[]byte{0x20, 0}, const64(8), call1(fnOutput), []byte{0x41, 0},
	)
	m := transferModule(code)
	m.importFunc("cloister:host", "f", 1)
	var saw []byte
	i := runs(t, m, Config{Functions: offers("f", func(_ context.Context, request []byte) []byte {
		saw = request
		return []byte("response")
	})})
	out, err := i.Call(context.Background(), "run", nil)
	if err != nil || string(out) != "response" || !bytes.HasPrefix(saw, []byte("abcdefgh\x00")) {
		t.Errorf("out = %q, %v; the function saw %q", out, err, saw)
	}
}
