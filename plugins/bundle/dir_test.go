package bundle

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// What only a file system can do.
func TestDirectoryAttacks(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	wasm := filepath.FromSlash(blobFile(testFiles().Wasm).name)
	tests := []struct {
		name string
		edit func(dir string) error
		kind error
		text string
	}{
		{"symlink to the outside", func(dir string) error {
			return swapFile(filepath.Join(dir, "index.json"), func(name string) error { return os.Symlink(outside, name) })
		}, ErrFormat, `"index.json" is not a regular file`},
		{"symlink within", func(dir string) error {
			return swapFile(filepath.Join(dir, "oci-layout"), func(name string) error { return os.Symlink("index.json", name) })
		}, ErrFormat, `"oci-layout" is not a regular file`},
		{"symlink for a blob", func(dir string) error {
			moved := filepath.Join(t.TempDir(), "wasm")
			if err := os.Rename(filepath.Join(dir, wasm), moved); err != nil {
				return err
			}
			return os.Symlink(moved, filepath.Join(dir, wasm))
		}, ErrFormat, "is not a regular file"},
		{"symlink for a directory", func(dir string) error {
			moved := filepath.Join(t.TempDir(), "blobs")
			if err := os.Rename(filepath.Join(dir, "blobs"), moved); err != nil {
				return err
			}
			return os.Symlink(moved, filepath.Join(dir, "blobs"))
		}, ErrFormat, `"blobs"`},
		{"symlink for the inner directory", func(dir string) error {
			moved := filepath.Join(t.TempDir(), "sha256")
			if err := os.Rename(filepath.Join(dir, "blobs", "sha256"), moved); err != nil {
				return err
			}
			return os.Symlink(moved, filepath.Join(dir, "blobs", "sha256"))
		}, ErrFormat, `"blobs/sha256"`},
		{"directory for a file", func(dir string) error {
			return swapFile(filepath.Join(dir, "index.json"), func(name string) error { return os.Mkdir(name, 0o755) })
		}, ErrFormat, "is not a regular file"},
		{"directory for a blob", func(dir string) error {
			return swapFile(filepath.Join(dir, wasm), func(name string) error { return os.Mkdir(name, 0o755) })
		}, ErrFormat, "is not a regular file"},
		{"file for a directory", func(dir string) error {
			name := filepath.Join(dir, "blobs")
			if err := os.RemoveAll(name); err != nil {
				return err
			}
			return os.WriteFile(name, nil, 0o644)
		}, ErrFormat, `"blobs"`},
		{"empty directory beside", func(dir string) error { return os.Mkdir(filepath.Join(dir, "ingest"), 0o755) }, ErrFormat, `"ingest"`},
		{"no blobs", func(dir string) error { return os.RemoveAll(filepath.Join(dir, "blobs")) }, ErrFormat, "blobs is missing"},
		{"no sha256", func(dir string) error { return os.RemoveAll(filepath.Join(dir, "blobs", "sha256")) }, ErrFormat, "blobs/sha256 is missing"},
		{"sparse file", func(dir string) error {
			return os.Truncate(filepath.Join(dir, wasm), 1<<40)
		}, ErrBounds, "1099511627776 bytes"},
		{"empty", func(dir string) error {
			for _, name := range []string{"oci-layout", "index.json", "blobs"} {
				if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
					return err
				}
			}
			return nil
		}, ErrFormat, "blobs is missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := dirOf(t, signed(t, "one").layout())
			if err := tt.edit(dir); err != nil {
				t.Fatal(err)
			}
			_, err := Read(dir)
			wantError(t, err, tt.kind, tt.text)
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("%v shows what lies outside", err)
			}
		})
	}
}

func swapFile(name string, make func(string) error) error {
	if err := os.RemoveAll(name); err != nil {
		return err
	}
	return make(name)
}

func TestReadOddPaths(t *testing.T) {
	if runtime.GOOS != "windows" {
		_, err := Read(os.DevNull)
		wantError(t, err, ErrFiles, "neither")
	}
	large := filepath.Join(t.TempDir(), "large.cloister")
	if err := os.WriteFile(large, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Read(large)
	wantError(t, err, ErrFormat, "cut off")
	if err := os.Truncate(large, maxTarBytes+1); err != nil {
		t.Fatal(err)
	}
	_, err = Read(large)
	wantError(t, err, ErrBounds, "large.cloister has")
}
