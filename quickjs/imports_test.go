package quickjs

import (
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// interesting are arguments at which bounds are tested.
func interesting(vm *VM) []uint64 {
	size := uint64(len(vm.mem()))
	return []uint64{
		0, 1, 7, 8, 15, 4095, 4096, 4097, size - 9, size - 8, size - 7, size - 1, size, size + 1,
		math.MaxInt32, 1 << 31, math.MaxUint32 - 8, math.MaxUint32 - 7, math.MaxUint32, 1 << 32, math.MaxInt64, 1 << 63, math.MaxUint64,
	}
}

// Host functions get whatever the guest's code puts on the stack. A million calls
// with random and with chosen arguments: no panic, a result that is an errno or a
// small number, and no state beyond its bound.
func TestHostFunctionsWithRandomArguments(t *testing.T) {
	n := 1_000_000
	if testing.Short() {
		n = 50_000
	}
	vm := newVM(t, testTemplate(t), nil)
	rnd := rand.New(rand.NewPCG(7, 7))
	chosen := interesting(vm)
	var stack [8]uint64
	for i := range n {
		h := hostFuncs[i%len(hostFuncs)]
		for j := range stack {
			switch rnd.IntN(3) {
			case 0:
				stack[j] = chosen[rnd.IntN(len(chosen))]
			case 1:
				stack[j] = uint64(rnd.IntN(len(vm.mem()) + 64))
			default:
				stack[j] = rnd.Uint64()
			}
		}
		args := stack
		h.fn(vm, stack[:max(len(h.params), len(h.results))])
		if len(h.results) > 0 && stack[0] > errnoNosys {
			t.Fatalf("%s%v gives %d", h.name, args[:len(h.params)], stack[0])
		}
	}
	if len(vm.rejections) > maxRejections {
		t.Errorf("%d rejections are kept", len(vm.rejections))
	}
	if reason, ok := vm.Unhandled(); !ok {
		t.Errorf("unhandled: %v, %t", reason, ok)
	}
}

// hostileModule imports all host functions and exports one function for each,
// "call_<name>", that passes its parameters on.
func hostileModule() []byte {
	leb := func(n int) []byte {
		var b []byte
		for ; n >= 0x80; n >>= 7 {
			b = append(b, byte(n)|0x80)
		}
		return append(b, byte(n))
	}
	str := func(s string) []byte { return append(leb(len(s)), s...) }
	section := func(id byte, raw []byte) []byte { return slices.Concat([]byte{id}, leb(len(raw)), raw) }
	count := leb(len(hostFuncs))
	types, imports, funcs, exports, codes := slices.Clone(count), slices.Clone(count), slices.Clone(count), slices.Clone(count), slices.Clone(count)
	for i, h := range hostFuncs {
		types = slices.Concat(types, []byte{0x60}, str(string(h.params)), str(string(h.results)))
		imports = slices.Concat(imports, str(h.module), str(h.name), []byte{0}, leb(i))
		funcs = append(funcs, leb(i)...)
		exports = slices.Concat(exports, str("call_"+h.name), []byte{0}, leb(len(hostFuncs)+i))
		body := []byte{0}
		for p := range h.params {
			body = append(body, 0x20, byte(p))
		}
		body = slices.Concat(body, []byte{0x10}, leb(i), []byte{0x0b})
		codes = slices.Concat(codes, leb(len(body)), body)
	}
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"), section(1, types), section(2, imports), section(3, funcs), section(7, exports), section(10, codes))
}

// The same through WebAssembly, so that the conversions on the way are in it.
func TestHostileModule(t *testing.T) {
	n := 120_000
	if testing.Short() {
		n = 12_000
	}
	ctx := context.Background()
	e := testEngine(t, false)
	mod, err := e.rt.InstantiateWithConfig(ctx, hostileModule(), wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Fatal(err)
	}
	defer mod.Close(ctx)
	vm := newVM(t, testTemplate(t), nil)
	rnd := rand.New(rand.NewPCG(8, 8))
	chosen := interesting(vm)
	for _, with := range []context.Context{&callContext{ctx, vm}, ctx} { // with a VM and without
		for i := range n / 2 {
			h := hostFuncs[i%len(hostFuncs)]
			args := make([]uint64, len(h.params))
			for j := range args {
				args[j] = chosen[rnd.IntN(len(chosen))]
				if h.params[j] == api.ValueTypeI32 {
					args[j] = uint64(uint32(args[j]))
				}
			}
			res, err := mod.ExportedFunction("call_"+h.name).Call(with, args...)
			if err != nil {
				t.Fatalf("%s%v: %v", h.name, args, err)
			}
			if len(res) > 0 && res[0] > errnoNosys {
				t.Fatalf("%s%v gives %d", h.name, args, res[0])
			}
		}
	}
}

// What each host function does and refuses, at its bounds.
func TestHostFunctionBounds(t *testing.T) {
	tmpl := testTemplate(t)
	vm := newVM(t, tmpl, &VMOptions{Now: func() time.Time { return fixedTime }, Random: &counter{}})
	size := uint64(len(vm.mem()))
	call := func(name string, args ...uint64) uint64 {
		t.Helper()
		for _, h := range hostFuncs {
			if h.name == name {
				stack := append(args, make([]uint64, 8)...)
				h.fn(vm, stack)
				return stack[0]
			}
		}
		t.Fatalf("no host function %s", name)
		return 0
	}
	for _, c := range []struct {
		name string
		args []uint64
		want uint64
	}{
		{"clock_time_get", []uint64{0, 0, size - 8}, errnoSuccess},
		{"clock_time_get", []uint64{9, 1, size - 7}, errnoInval},
		{"clock_time_get", []uint64{0, 0, math.MaxUint32}, errnoInval},
		{"random_get", []uint64{size - 8, 8}, errnoSuccess},
		{"random_get", []uint64{size, 0}, errnoSuccess},
		{"random_get", []uint64{size - 7, 8}, errnoInval},
		{"random_get", []uint64{0, maxRandom + 1}, errnoInval},
		{"random_get", []uint64{math.MaxUint32, 1}, errnoInval},
		{"random_get", []uint64{0, math.MaxUint32}, errnoInval},
		{"fd_write", []uint64{1, 0, 1, 8}, errnoBadf},
		{"fd_write", []uint64{2, 0, 1, 8}, errnoBadf},
		{"fd_close", []uint64{0}, errnoNosys},
		{"fd_seek", []uint64{1, 0, 0, 0}, errnoNosys},
		{"fd_fdstat_get", []uint64{0, 0}, errnoBadf},
		{"host_get_timezone_offset", []uint64{1, 2}, 0},
		{"host_call", []uint64{1, 2, 3, 4, 5}, 0},
		{"host_module_normalize", []uint64{1, 2}, 0},
		{"host_module_load", []uint64{1, 2}, 0},
		{"host_interrupt", nil, 0},
	} {
		if got := call(c.name, c.args...); got != c.want {
			t.Errorf("%s%v = %d, want %d", c.name, c.args, got, c.want)
		}
	}
	if !vm.ModuleDenied() {
		t.Error("the module loader was not noticed")
	}
	vm.random = failingReader{}
	if got := call("random_get", 0, 8); got != errnoNosys {
		t.Errorf("random_get without randomness = %d", got)
	}
}

// A reader that fails makes no VM, and loses none.
func TestFailingRandomness(t *testing.T) {
	tmpl := testTemplate(t)
	for range 5 {
		if _, err := tmpl.NewVM(context.Background(), &VMOptions{Random: failingReader{}}); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%v", err)
		}
	}
	if got := mustRun(t, tmpl, "return 6 * 7"); got != "42" {
		t.Errorf("the next cell gives %q", got)
	}
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// counter gives 1, 2, 3, …
type counter struct{ n byte }

func (c *counter) Read(b []byte) (int, error) {
	for i := range b {
		c.n++
		b[i] = c.n
	}
	return len(b), nil
}
