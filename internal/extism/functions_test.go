package extism

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/google/go-cmp/cmp"
)

// asks is a module whose export run gives its input to a host function as the request, and the response as output.
// times is how often it asks.
func asks(name string, times int) *wasmModule {
	m := runModule(
		[]byte{0x10, 0, 0x21, 0},                      // request = input_offset()
		[]byte{0x03, 0x40, 0x20, 0, 0x10, 3, 0x21, 1}, // loop: response = f(request)
		[]byte{0x20, 2, 0x41, 1, 0x6a, 0x22, 2, 0x41}, sleb(int64(times)), []byte{0x49, 0x0d, 0, 0x0b},
		[]byte{0x20, 1, 0x20, 1, 0x10, 1, 0x10, 2, 0x41, 0}, // output_set(response, length(response))
	)
	m.types = append(m.types, [2][]byte{nil, {i64}}, [2][]byte{{i64}, {i64}}, [2][]byte{{i64, i64}, nil})
	m.importFunc("extism:host/env", "input_offset", 1)
	m.importFunc("extism:host/env", "length", 2)
	m.importFunc("extism:host/env", "output_set", 3)
	m.importFunc(guestabi.PluginHostModule, name, 2)
	m.funcs[0].locals = []byte{2, 2, i64, 1, i32}
	return m
}

// offers is one host function.
func offers(name string, call func(context.Context, []byte) []byte) []HostFunction {
	return []HostFunction{{Name: name, Call: call}}
}

type valueKey struct{}

func TestHostFunction(t *testing.T) {
	var got []string
	fs := offers("echo", func(ctx context.Context, request []byte) []byte {
		got = append(got, string(request)+" "+ctx.Value(valueKey{}).(string))
		return append([]byte("re: "), request...)
	})
	i := runs(t, asks("echo", 1), Config{Functions: fs})
	ctx := context.WithValue(context.Background(), valueKey{}, "passed")
	for _, in := range []string{`{"a":1}`, "", strings.Repeat("x", 100_000)} {
		out, err := i.Call(ctx, "run", []byte(in))
		if err != nil || string(out) != "re: "+in {
			t.Errorf("Call = %.40q, %v", out, err)
		}
	}
	want := []string{`{"a":1} passed`, " passed", strings.Repeat("x", 100_000) + " passed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// The request is the function's own, and what the plugin does later does not change it.
func TestHostFunctionRequestIsACopy(t *testing.T) {
	var kept [][]byte
	fs := offers("keep", func(_ context.Context, request []byte) []byte {
		kept = append(kept, request)
		return bytes.Repeat([]byte("y"), 1000)
	})
	i := runs(t, asks("keep", 3), Config{Functions: fs})
	for _, in := range []string{"first", "other"} {
		if _, err := i.Call(context.Background(), "run", []byte(in)); err != nil {
			t.Fatal(err)
		}
	}
	if got := string(bytes.Join(kept, nil)); got != "firstfirstfirstotherotherother" {
		t.Errorf("requests kept: %q", got)
	}
}

func TestHostFunctionBounds(t *testing.T) {
	var asked int
	fs := offers("big", func(_ context.Context, request []byte) []byte {
		asked++
		return bytes.Repeat([]byte("x"), len(request)*10)
	})
	i := runs(t, asks("big", 1), Config{Functions: fs, InputBytes: 2000, OutputBytes: 5000})
	for n, code := range map[int]string{500: "", 501: "too_large", 2000: "too_large"} {
		out, err := i.Call(context.Background(), "run", make([]byte, n))
		if err != nil {
			t.Fatal(err)
		}
		if code == "" {
			if len(out) != 10*n {
				t.Errorf("response of %d bytes", len(out))
			}
			continue
		}
		var r guestabi.PluginResponse
		if err := json.Unmarshal(out, &r); err != nil || r.Error == nil || r.Error.Code != code || r.ABI != guestabi.PluginABI {
			t.Errorf("response %.80q (%v), want an error with code %q", out, err, code)
		}
	}
	if asked != 3 {
		t.Errorf("called %d times, want 3", asked)
	}

	// A block larger than an input may be does not reach the function.
	m := asks("big", 1)
	m.importFunc("extism:host/env", "alloc", 2)
	m.funcs[0].code = join([]byte{0x42}, sleb(2001), []byte{0x10, 4, 0x10, 3, 0x22, 0, 0x20, 0, 0x10, 1, 0x10, 2, 0x41, 0})
	out, err := runs(t, m, Config{Functions: fs, InputBytes: 2000}).Call(context.Background(), "run", nil)
	if err != nil || !bytes.Contains(out, []byte(`"code":"too_large"`)) || asked != 3 {
		t.Errorf("a request over the limit: %.80q, %v, called %d times", out, err, asked-3)
	}
}

// What is no block is an empty request: nothing outside of the plugin's blocks is read.
func TestHostFunctionForgedBlocks(t *testing.T) {
	for _, offset := range []int64{0, 1, 97, 1 << 20, 1 << 31, 1 << 32, 1<<32 + 96, -1, -96} {
		m := asks("echo", 1)
		m.funcs[0].code = join([]byte{0x42}, sleb(offset), []byte{0x10, 3, 0x1a, 0x41, 0})
		var requests []string
		i := runs(t, m, Config{Functions: offers("echo", func(_ context.Context, request []byte) []byte {
			requests = append(requests, string(request))
			return nil
		})})
		if _, err := i.Call(context.Background(), "run", []byte("input")); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{""}, requests); diff != "" {
			t.Errorf("offset %d (-want +got):\n%s", offset, diff)
		}
	}
}

func TestHostFunctionMustBeListed(t *testing.T) {
	wasm := asks("kv_get", 1).bytes()
	kv := func(context.Context, []byte) []byte { return nil }
	var ie *ImportError
	if err := Check(wasm, []string{"kv_put"}, "run"); !errors.As(err, &ie) || !strings.Contains(ie.Refused[0].Why, "permissions.kv") {
		t.Errorf("Check = %v, want an ImportError that names the permission", err)
	}
	if _, err := Compile(context.Background(), wasm, Config{Functions: offers("kv_put", kv)}); !errors.Is(err, ErrImport) {
		t.Errorf("Compile = %v, want ErrImport", err)
	}
	if err := Check(wasm, []string{"kv_put", "kv_get"}, "run"); err != nil {
		t.Errorf("Check = %v", err)
	}
	compileFor(t, wasm, Config{Functions: offers("kv_get", kv)})
}

func TestHostFunctionsMustMakeSense(t *testing.T) {
	wasm := runModule([]byte{0x41, 0}).bytes()
	f := HostFunction{Name: "x", Call: func(context.Context, []byte) []byte { return nil }}
	for name, fs := range map[string][]HostFunction{
		"twice": {f, f}, "no name": {{Call: f.Call}}, "no Call": {{Name: "x"}},
	} {
		if _, err := Compile(context.Background(), wasm, Config{Functions: fs}); !errors.Is(err, ErrFunctions) {
			t.Errorf("%s: Compile = %v, want ErrFunctions", name, err)
		}
	}
}

// A host function of another type than the plugin expects ends before anything runs.
func TestHostFunctionOfWrongType(t *testing.T) {
	for _, typ := range []int{0, 1, 3} {
		m := asks("echo", 1)
		m.imports[3].typ = typ
		m.funcs[0].code = []byte{0x41, 0}
		err := Check(m.bytes(), []string{"echo"})
		var ie *ImportError
		if !errors.As(err, &ie) || !strings.Contains(ie.Refused[0].Why, "i64") {
			t.Errorf("type %d: Check = %v, want an ImportError about its type", typ, err)
		}
	}
}

func TestHostFunctionInStartFunction(t *testing.T) {
	m := runModule([]byte{0x41, 0})
	m.types = append(m.types, [2][]byte{nil, nil}, [2][]byte{{i64}, {i64}})
	m.importFunc(guestabi.PluginHostModule, "f", 2)
	m.funcs = append(m.funcs, wasmFunc{typ: 1, code: []byte{0x42, 0, 0x10, 0, 0x1a}})
	m.start = 2
	called := false
	mod := compileFor(t, m.bytes(), Config{Functions: offers("f", func(context.Context, []byte) []byte { called = true; return nil })})
	if _, err := mod.NewInstance(context.Background()); !errors.Is(err, ErrTrap) || called {
		t.Errorf("NewInstance = %v (called: %v), want a trap", err, called)
	}
}

func TestHostFunctionPanics(t *testing.T) {
	i := runs(t, asks("f", 1), Config{Functions: offers("f", func(context.Context, []byte) []byte {
		var none []int
		return []byte{byte(none[len(none)])}
	})})
	_, err := i.Call(context.Background(), "run", nil)
	if !errors.Is(err, ErrTrap) || !strings.Contains(err.Error(), "host function f panicked") || !i.Dead() {
		t.Errorf("Call = %v, want a trap", err)
	}
}

// A host function that calls back into its own instance would wait for itself.
func TestHostFunctionMustNotReenter(t *testing.T) {
	var a, b *Instance
	var errs []error
	fs := func(next **Instance) []HostFunction {
		return offers("f", func(ctx context.Context, _ []byte) []byte {
			_, err := (*next).Call(ctx, "run", nil)
			errs = append(errs, err)
			return nil
		})
	}
	a, b = runs(t, asks("f", 1), Config{Functions: fs(&b)}), runs(t, asks("f", 1), Config{Functions: fs(&a)})
	if _, err := a.Call(context.Background(), "run", nil); err != nil {
		t.Fatal(err)
	}
	if len(errs) != 2 || !errors.Is(errs[0], ErrBusy) || errs[1] != nil {
		t.Errorf("a → b → a: %v, want ErrBusy for the inner one", errs)
	}
}

// Time in a function that pauses is not the plugin's; the context still ends it.
func TestPause(t *testing.T) {
	release := make(chan struct{})
	wait := func(ctx context.Context, _ []byte) []byte {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return []byte("done")
	}
	limit := 150 * time.Millisecond
	patient := runs(t, asks("f", 1), Config{Functions: []HostFunction{{Name: "f", Pauses: true, Call: wait}}, CallTime: limit})
	timer := time.AfterFunc(3*limit, func() { close(release) })
	defer timer.Stop()
	if out, err := patient.Call(context.Background(), "run", nil); err != nil || string(out) != "done" {
		t.Errorf("a pause longer than the limit: %q, %v", out, err)
	}

	release = make(chan struct{})
	strict := runs(t, asks("f", 1), Config{Functions: []HostFunction{{Name: "f", Call: wait}}, CallTime: limit})
	if _, err := strict.Call(context.Background(), "run", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without a pause = %v, want it stopped", err)
	}
	if _, err := patient.Call(soon(t), "run", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a pause under a context that ends = %v, want it stopped", err)
	}
}

// A plugin that pauses again and again is ended by its context, and the time between pauses counts.
func TestPauseSpam(t *testing.T) {
	fs := []HostFunction{{Name: "f", Pauses: true, Call: func(context.Context, []byte) []byte { return nil }}}
	endless := runs(t, asks("f", 1<<31-1), Config{Functions: fs})
	mustStop(t, endless, "run")

	// Pauses of nothing at all, and a loop between them: the limit ends it.
	m := asks("f", 1<<31-1)
	m.funcs[0].code = slices.Concat([]byte{0x03, 0x40, 0x42, 0, 0x10, 3, 0x1a, 0x41}, sleb(10_000),
		[]byte{0x21, 2, 0x03, 0x40, 0x20, 2, 0x41, 1, 0x6b, 0x22, 2, 0x0d, 0, 0x0b, 0x0c, 0, 0x0b, 0x41, 0})
	i := runs(t, m, Config{Functions: fs, CallTime: 200 * time.Millisecond})
	if _, err := i.Call(context.Background(), "run", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("pauses between loops = %v, want it stopped by the limit", err)
	}
}

func TestCallFor(t *testing.T) {
	m := guestModule(t, Config{CallTime: 300 * time.Millisecond})
	for _, limit := range []time.Duration{100 * time.Millisecond, 0, time.Hour} {
		if _, err := instance(t, m).CallFor(context.Background(), limit, "loop", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("CallFor(%v) = %v, want it stopped", limit, err)
		}
	}
	if out, err := instance(t, m).CallFor(context.Background(), time.Minute, "echo", []byte("x")); err != nil || string(out) != "x" {
		t.Errorf("CallFor = %q, %v", out, err)
	}
}
