//go:build unix

package plugins

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Opening a pipe to read waits for a writer that never comes.
func TestPipesAreRefused(t *testing.T) {
	for _, name := range []string{ManifestFile, WasmFile} {
		dir := folder(t, t.TempDir(), minimal("a.b", "t"), tiny("run"))
		path := filepath.Join(dir, name)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadDir(context.Background(), dir, devOptions()); !errors.Is(err, ErrFiles) || !strings.Contains(err.Error(), "pipe") {
			t.Errorf("%s: LoadDir = %v, want ErrFiles", name, err)
		}
	}
}
