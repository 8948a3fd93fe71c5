package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// inEmptyRoot runs the program as an image does: nothing else in the file system, a user
// without privileges and without an entry in any file.
func inEmptyRoot(t *testing.T, program []byte) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can change the root folder: the program is not run as in an image")
	}
	root := t.TempDir()
	put(t, filepath.Join(root, "usr", "bin", "cloister"), program)
	data := filepath.Join(root, "var", "lib", "cloister")
	if err := os.MkdirAll(filepath.Dir(data), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(data, 65532, 65532); err != nil {
		t.Fatal(err)
	}
	// The test's own folder is closed to others.
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/usr/bin/cloister", "run", "-")
	cmd.Dir = "/"
	cmd.Env = []string{"HOME=/var/lib/cloister", "CLOISTER_DATA_DIR=/var/lib/cloister", "CLOISTER_CACHE_DIR=/var/lib/cloister/cache"}
	cmd.Stdin = strings.NewReader("return (await tools.hash_text({ text: 'a' })).hex.slice(0, 8)")
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "ca978112\n" {
		t.Errorf("%q, %v", out, err)
	}
}
