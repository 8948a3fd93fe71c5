package safefile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReadIsBoundedAndRegular(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "ten"), "0123456789")
	if err := os.Symlink("ten", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, c := range []struct {
		name     string
		most     int64
		path, in string // the error's words, "" for none
	}{
		{"ten", 10, "", ""},
		{"ten", 9, "more than 9 bytes", "more than 9 bytes"},
		{"link", 10, "", "symbolic link"},
		{"folder", 10, "not a regular file", "a directory"},
		{"missing", 10, "no such file", "no such file"},
	} {
		for how, read := range map[string]func() ([]byte, error){
			c.path: func() ([]byte, error) { return Read(filepath.Join(dir, c.name), c.most) },
			c.in:   func() ([]byte, error) { return ReadIn(root, c.name, c.most) },
		} {
			data, err := read()
			if how == "" && (err != nil || string(data) != "0123456789") || how != "" && (err == nil || !strings.Contains(err.Error(), how)) {
				t.Errorf("%s: %q, %v, want %q", c.name, data, err, how)
			}
		}
	}
	if _, err := Read(filepath.Join(dir, "missing"), 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// What cannot be written leaves the old file and nothing else.
func TestReplaceIsWholeOrNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	write(t, path, "old")
	broken := errors.New("broken")
	err := Replace(path, 0o600, func(w io.Writer) error {
		if _, err := io.WriteString(w, "half"); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Fatalf("got %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d files are left, %v", len(entries), err)
	}
	if data, err := Read(path, 10); err != nil || string(data) != "old" {
		t.Errorf("%q, %v", data, err)
	}
	if err := ReplaceBytes(path, 0o640, []byte("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// A number that many change, each by reading, adding one and replacing, is none short.
func TestLockKeepsChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "number")
	write(t, path, "0")
	add := func() error {
		release, err := Lock(context.Background(), path)
		if err != nil {
			return err
		}
		data, err := Read(path, 10)
		if err != nil {
			return errors.Join(err, release())
		}
		n, err := strconv.Atoi(string(data))
		if err == nil {
			err = ReplaceBytes(path, 0o600, []byte(strconv.Itoa(n+1)))
		}
		return errors.Join(err, release())
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				if err := add(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if data, err := Read(path, 10); err != nil || string(data) != "80" {
		t.Errorf("%s, %v, want 80", data, err)
	}
	release, err := Lock(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Lock(ctx, path); !errors.Is(err, ErrLocked) || !errors.Is(err, context.Canceled) {
		t.Errorf("a lock that is held: %v", err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}
