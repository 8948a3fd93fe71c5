package extism

import (
	"context"
	"errors"
	"io"
	"testing"
)

// countingReader ends the call when it has given enough.
type countingReader struct {
	given, enough int
	end           func()
}

func (r *countingReader) Read(p []byte) (int, error) {
	if r.given += len(p); r.given >= r.enough {
		r.end()
	}
	return len(p), nil
}

// Random bytes for all of a large memory stop where the call does, whichever way it ends.
func TestRandomStopsWithTheCall(t *testing.T) {
	const pages, enough = 4000, 1 << 20
	m := runModule([]byte{0x41, 0, 0x41}, sleb(pages*wasmPage), []byte{0x10, 0, 0x1a, 0x03, 0x40, 0x0c, 0, 0x0b, 0x41, 0})
	m.types = append(m.types, [2][]byte{{i32, i32}, {i32}})
	m.importFunc(wasiModule, "random_get", 1)
	m.memory = join([]byte{0}, leb(pages))
	mod := compileFor(t, m.bytes(), Config{MemoryBytes: 1 << 28})
	for name, end := range map[string]func(cancel func(), i *Instance){
		"the caller left":         func(cancel func(), _ *Instance) { cancel() },
		"the time is up":          func(_ func(), i *Instance) { i.clock.expire() },
		"the instance is closing": func(_ func(), i *Instance) { i.close(ErrClosed); <-i.ctx.Done() },
	} {
		ctx, cancel := context.WithCancel(context.Background())
		source := &countingReader{enough: enough}
		mod.random = source
		i := instance(t, mod)
		source.end = func() { end(cancel, i) }
		_, err := i.Call(ctx, "run", nil)
		cancel()
		if !errors.Is(err, ErrStopped) {
			t.Errorf("%s: Call = %v, want it stopped", name, err)
		}
		if source.given < enough || source.given > enough+randomPiece {
			t.Errorf("%s: %d bytes were written, of which %d after the end", name, source.given, source.given-enough)
		}
	}
}

// A source that fails, and the usual sizes.
func TestRandom(t *testing.T) {
	for _, tt := range []struct {
		from io.Reader
		size int64
		want uint32 // errno
	}{
		{&countingReader{enough: 1 << 30}, 0, 0},
		{&countingReader{enough: 1 << 30}, 16, 0},
		{&countingReader{enough: 1 << 30}, randomPiece + 1, 0},
		{&countingReader{enough: 1 << 30}, 2*wasmPage + 1, 21}, // EFAULT
		{errReader{}, 16, 29},                                  // EIO
	} {
		m := runModule([]byte{0x41, 0, 0x41}, sleb(tt.size), []byte{0x10, 0})
		m.types = append(m.types, [2][]byte{{i32, i32}, {i32}})
		m.importFunc(wasiModule, "random_get", 1)
		m.memory = []byte{0, 2}
		mod := compileFor(t, m.bytes(), Config{})
		mod.random = tt.from
		if got := code(t, instance(t, mod)); got != tt.want {
			t.Errorf("%d bytes: %d, want %d", tt.size, got, tt.want)
		}
		if r, ok := tt.from.(*countingReader); ok && tt.want == 0 && r.given != int(tt.size) {
			t.Errorf("%d bytes: %d were read", tt.size, r.given)
		}
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// code is what run returns.
func code(t *testing.T, i *Instance) uint32 {
	t.Helper()
	_, err := i.Call(context.Background(), "run", nil)
	var ge *GuestError
	if err != nil && !errors.As(err, &ge) {
		t.Fatal(err)
	}
	if ge == nil {
		return 0
	}
	return ge.Code
}

// wasiTypes are the parameters of the functions that are bounded.
var wasiTypes = map[string][]byte{
	"fd_read": {i32, i32, i32, i32}, "fd_write": {i32, i32, i32, i32}, "fd_pread": {i32, i32, i32, i64, i32}, "fd_pwrite": {i32, i32, i32, i64, i32},
	"sock_recv": {i32, i32, i32, i32, i32, i32}, "sock_send": {i32, i32, i32, i32, i32}, "poll_oneoff": {i32, i32, i32, i32},
	"path_create_directory": {i32, i32, i32}, "path_filestat_get": {i32, i32, i32, i32, i32}, "path_filestat_set_times": {i32, i32, i32, i32, i64, i64, i32},
	"path_link": {i32, i32, i32, i32, i32, i32, i32}, "path_open": {i32, i32, i32, i32, i32, i64, i64, i32, i32}, "path_readlink": {i32, i32, i32, i32, i32, i32},
	"path_remove_directory": {i32, i32, i32}, "path_rename": {i32, i32, i32, i32, i32, i32}, "path_symlink": {i32, i32, i32, i32, i32}, "path_unlink_file": {i32, i32, i32},
}

// calls is a module that calls a function of WASI with some arguments.
func calls(name string, args ...int64) *wasmModule {
	var push []byte
	for n, typ := range wasiTypes[name] {
		op := byte(0x41)
		if typ == i64 {
			op = 0x42
		}
		push = join(push, []byte{op}, sleb(args[n]))
	}
	m := runModule(push, []byte{0x10, 0})
	m.types = append(m.types, [2][]byte{wasiTypes[name], {i32}})
	m.importFunc(wasiModule, name, 1)
	m.memory = []byte{0, 10}
	return m
}

// What a function of WASI may be given, at its bound and beyond: the plugin sees an error, or less than it asked for.
func TestWASIBounds(t *testing.T) {
	const einval, eperm, enotdir, ebadf = 28, 63, 54, 8
	for _, tt := range []struct {
		name string
		args []int64
		want uint32
	}{
		{"poll_oneoff", []int64{0, 0, maxVectors, 500_000}, 0},
		{"poll_oneoff", []int64{0, 0, maxVectors + 1, 500_000}, einval},
		{"poll_oneoff", []int64{0, 0, -1, 500_000}, einval},
		// An absolute path is EPERM; one that was taken away is that of the descriptor, which is no folder.
		{"path_open", []int64{1, 0, 0, maxPath, 0, 0, 0, 0, 0}, eperm},
		{"path_open", []int64{1, 0, 0, maxPath + 1, 0, 0, 0, 0, 0}, ebadf},
		{"path_create_directory", []int64{1, 0, maxPath + 1}, ebadf},
		{"path_filestat_get", []int64{1, 0, 0, maxPath + 1, 0}, ebadf},
		{"path_filestat_set_times", []int64{1, 0, 0, maxPath + 1, 0, 0, 0}, ebadf},
		{"path_link", []int64{1, 0, 0, maxPath + 1, 1, 0, 1}, ebadf},
		{"path_readlink", []int64{1, 0, maxPath + 1, 0, 1, 0}, einval},
		{"path_remove_directory", []int64{1, 0, maxPath + 1}, ebadf},
		{"path_rename", []int64{1, 0, maxPath + 1, 1, 0, 1}, ebadf},
		{"path_symlink", []int64{0, maxPath + 1, 1, 0, 1}, ebadf},
		{"path_unlink_file", []int64{1, 0, maxPath + 1}, ebadf},
	} {
		m := calls(tt.name, tt.args...)
		if tt.name[0] == 'p' && tt.name[1] == 'a' {
			m.datas = data(0, "/")
		}
		got := code(t, runs(t, m, Config{}))
		if got == enotdir {
			got = ebadf // wazero says one or the other
		}
		if got != tt.want {
			t.Errorf("%s%v = %d, want %d", tt.name, tt.args, got, tt.want)
		}
	}
	// Vectors of one byte: the result says how many were taken.
	m := calls("fd_write", 1, 0, 20_000, 400_000)
	store := []byte{0x03, 0x40, // for (i = 0; i < 160_000; i += 8) { iov[i] = {0, 1} }
		0x20, 0, 0x41, 1, 0x36, 2, 4, 0x20, 0, 0x41, 8, 0x6a, 0x22, 0, 0x41}
	m.funcs[0].code = join(store, sleb(160_000), []byte{0x49, 0x0d, 0, 0x0b}, m.funcs[0].code, []byte{0x1a, 0x41}, sleb(400_000), []byte{0x28, 2, 0})
	m.funcs[0].locals = []byte{1, 1, i32}
	if got := code(t, runs(t, m, Config{LogBytes: 1 << 20})); got != maxVectors {
		t.Errorf("fd_write took %d vectors, want %d", got, maxVectors)
	}
	if len(wasiTypes) != len(wasiBounds) {
		t.Errorf("%d functions are bounded, %d tested", len(wasiBounds), len(wasiTypes))
	}
	for name, bounds := range wasiBounds {
		if !wasiImports[name] || cheap[name] {
			t.Errorf("%s is bounded and not offered, or cheap", name)
		}
		for _, b := range bounds {
			if wasiTypes[name][b.param] != i32 {
				t.Errorf("%s: parameter %d is no length", name, b.param)
			}
		}
	}
}
