//go:build unix

package bundle

import (
	"path/filepath"
	"syscall"
	"testing"
)

// Opening a pipe would wait for its other end.
func TestDirectoryPipe(t *testing.T) {
	dir := dirOf(t, signed(t).layout())
	if err := swapFile(filepath.Join(dir, "index.json"), func(name string) error { return syscall.Mkfifo(name, 0o644) }); err != nil {
		t.Fatal(err)
	}
	_, err := Read(dir)
	wantError(t, err, ErrFormat, "not a regular file")
	pipe := filepath.Join(t.TempDir(), "a.cloister")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = Read(pipe)
	wantError(t, err, ErrFiles, "neither")
}
