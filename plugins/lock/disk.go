package lock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cloister-wasm/cloister/internal/safefile"
)

// Load reads a lock file. A missing file is fs.ErrNotExist, one with mistakes a [*FileError]; whether a missing file means
// an empty one is for the caller to say.
func Load(path string) (*File, error) {
	data, err := safefile.ReadTrusted(path, MaxBytes)
	if err != nil {
		return nil, fmt.Errorf("read the lock file: %w", err)
	}
	f, err := Parse(data)
	var fe *FileError
	if errors.As(err, &fe) {
		fe.File = path
	}
	return f, err
}

// Save writes the file whole: into a new file beside it, which is then given its name. Who reads meanwhile, and whoever
// comes after a crash, sees the old file or the new one. The permissions of an existing file stay; a new one has 0644.
func (f *File) Save(path string) error {
	data, err := f.Marshal()
	if err != nil {
		return err
	}
	if err := replace(path, data); err != nil {
		return fmt.Errorf("write the lock file: %w", err)
	}
	return nil
}

func replace(path string, data []byte) error {
	// A link's target is the file: renaming over the link would leave the target as it was.
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	return safefile.ReplaceBytes(path, mode, data)
}
