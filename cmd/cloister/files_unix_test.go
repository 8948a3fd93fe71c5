//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe without a writer must not hold the call.
func TestReadFileRefusesPipes(t *testing.T) {
	tools, dir := shared(t)
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantCode(t, tools, "read_file", `{"path":"pipe"}`, "not_a_file")
	wantCode(t, tools, "list_files", `{"path":"pipe"}`, "not_a_folder")
	if err := os.Symlink("/dev/zero", filepath.Join(dir, "zero")); err != nil {
		t.Fatal(err)
	}
	wantCode(t, tools, "read_file", `{"path":"zero"}`, "outside")
}
