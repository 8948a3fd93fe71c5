package lock

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// Load reads a lock file. A missing file is fs.ErrNotExist, one with mistakes a [*FileError]; whether a missing file means
// an empty one is for the caller to say.
func Load(path string) (*File, error) {
	data, err := read(path)
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

// read reads a regular file. Opening a pipe would wait for its other end, hence O_NONBLOCK.
func read(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("it is not a regular file")}
	}
	return io.ReadAll(io.LimitReader(f, MaxBytes+1))
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

func replace(path string, data []byte) (err error) {
	// A link's target is the file: renaming over the link would leave the target as it was.
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name()) // the first error is the one to report
		}
	}()
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Chmod(mode)
	}
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	return err
}

// syncDir makes a rename last through a loss of power. Windows has no such call and needs none.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}
