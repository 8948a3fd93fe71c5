package extism

import (
	"context"
	"io"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

const (
	// randomPiece is how much is written between two looks at the deadline.
	randomPiece = 64 << 10
	// maxVectors is IOV_MAX of Linux. Reading or writing less than was asked is what callers of POSIX expect.
	maxVectors = 1 << 10
	// maxPath is sixteen times PATH_MAX of Linux.
	maxPath = 64 << 10
)

// randomSource is what random_get writes, in pieces: all of a large memory takes seconds.
type randomSource struct {
	from io.Reader
	over func() bool
}

// Read gives a piece. WASI's function asks until it has enough, and ends with an error.
func (r randomSource) Read(p []byte) (int, error) {
	if r.over() {
		return 0, errOver
	}
	return r.from.Read(p[:min(len(p), randomPiece)])
}

// wasiBound is a parameter on which the time, and the host's memory, of a function depends.
type wasiBound struct {
	param int    // its index
	most  uint32 // what it may be
	then  uint64 // what it is beyond that
}

// wasiBounds are the functions of WASI that work through what the plugin names before anything can stop them. Beyond their
// bounds vectors are cut; polls are empty, which is an error (EINVAL); and paths are empty, which leads nowhere, as every
// path does here.
var wasiBounds = map[string][]wasiBound{
	"fd_read": vectors(2), "fd_write": vectors(2), "fd_pread": vectors(2), "fd_pwrite": vectors(2), "sock_recv": vectors(2), "sock_send": vectors(2),
	"poll_oneoff":           {{param: 2, most: maxVectors}},
	"path_create_directory": paths(2), "path_filestat_get": paths(3), "path_filestat_set_times": paths(3), "path_link": paths(3, 6),
	"path_open": paths(3), "path_readlink": paths(2), "path_remove_directory": paths(2), "path_rename": paths(2, 5),
	"path_symlink": paths(1, 4), "path_unlink_file": paths(2),
}

func vectors(param int) []wasiBound { return []wasiBound{{param, maxVectors, maxVectors}} }

func paths(params ...int) []wasiBound {
	var bounds []wasiBound
	for _, p := range params {
		bounds = append(bounds, wasiBound{param: p, most: maxPath})
	}
	return bounds
}

// listeners gives the functions that are listened to what listens. wazero has no other place between a module and WASI.
type listeners struct{}

// NewFunctionListener implements experimental.FunctionListenerFactory.
func (listeners) NewFunctionListener(d api.FunctionDefinition) experimental.FunctionListener {
	for _, name := range d.ExportNames() {
		// The name of a module is the plugin's to choose, a Go function is not.
		if bounds := wasiBounds[name]; bounds != nil && d.GoFunction() != nil && d.ModuleName() == wasiModule {
			return boundListener{bounds}
		}
		if name == selfExport {
			return selfListener{}
		}
	}
	return nil
}

// boundListener holds arguments to their bounds. NB: it changes them where the function reads them from, which both engines of
// wazero let it do and TestWASIBounds holds.
type boundListener struct{ bounds []wasiBound }

// Before implements experimental.FunctionListener.
func (l boundListener) Before(_ context.Context, _ api.Module, _ api.FunctionDefinition, params []uint64, _ experimental.StackIterator) {
	for _, b := range l.bounds {
		if uint32(params[b.param]) > b.most {
			params[b.param] = b.then
		}
	}
}

// After implements experimental.FunctionListener.
func (boundListener) After(context.Context, api.Module, api.FunctionDefinition, []uint64) {}

// Abort implements experimental.FunctionListener.
func (boundListener) Abort(context.Context, api.Module, api.FunctionDefinition, error) {}
