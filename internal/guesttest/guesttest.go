// Package guesttest builds WebAssembly guests from Go packages of this module, for
// tests that want a real plugin.
package guesttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Guest is a plugin that is built once a process, when it is first wanted. Safe for
// concurrent use.
type Guest func() ([]byte, error)

// Go builds a package as a plugin: pkg is a path that begins with "./" or "../", seen from
// the folder of the test. Go's build cache makes that quick after the first time.
func Go(pkg string) Guest {
	return sync.OnceValues(func() (wasm []byte, err error) {
		dir, err := os.MkdirTemp("", "guest-*")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		out := filepath.Join(dir, "plugin.wasm")
		cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", out, pkg)
		cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
		if text, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("building %s: %w\n%s", pkg, err, text)
		}
		return os.ReadFile(out)
	})
}

// Wasm gives the module, which is shared: do not change it. The test ends if it cannot be
// built.
func (g Guest) Wasm(tb testing.TB) []byte {
	tb.Helper()
	wasm, err := g()
	if err != nil {
		tb.Fatal(err)
	}
	return wasm
}
