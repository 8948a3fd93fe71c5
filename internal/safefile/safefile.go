// Package safefile reads and replaces files that others may change meanwhile: people,
// other processes, and whoever wants to harm.
//
// Which function reads a file says what the file is for. [ReadTrusted] is for files that
// decide what is trusted, started or allowed: nobody but this user and root can have
// written them. [ReadSecret] is for secrets, which in addition nobody else can read.
// [Read] is for files that decide nothing, and [ReadIn] for those of a folder that was
// opened before.
package safefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// Read reads a regular file of at most most bytes. A symbolic link is followed; a pipe, a
// device or a folder is refused without waiting for anything.
func Read(path string, most int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read from: nothing is lost
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &FileError{Path: path, Err: ErrNotRegular}
	}
	return readAll(f, path, most)
}

// ReadIn reads a regular file of a folder, at most most bytes. Links are refused. The name
// is looked at before it is opened, and the open file again, since the name may mean
// another by then.
func ReadIn(root *os.Root, name string, most int64) ([]byte, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w (%s)", &FileError{Path: name, Err: ErrNotRegular}, kind(info.Mode()))
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read from: nothing is lost
	if now, err := f.Stat(); err != nil || !os.SameFile(info, now) {
		return nil, &FileError{Path: name, Err: ErrChanged}
	}
	return readAll(f, name, most)
}

func readAll(f *os.File, name string, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		return nil, &FileError{Path: name, Err: tooLarge{most}}
	}
	return data, err
}

// tooLarge is ErrTooLarge with the bound.
type tooLarge struct{ most int64 }

func (e tooLarge) Error() string      { return fmt.Sprintf("has more than %d bytes", e.most) }
func (tooLarge) Is(target error) bool { return target == ErrTooLarge }

func kind(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "a symbolic link; copy the file"
	case m.IsDir():
		return "a directory"
	default:
		return "a device or a pipe"
	}
}

// Replace writes a file whole: into a new file beside it, which is then given its name.
// Who reads meanwhile, and whoever comes after a crash, sees the old file or the new one.
// It is on disk when Replace returns.
func Replace(path string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".cloister-*.tmp") // made with mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()           // the first error is the one to report
			_ = os.Remove(f.Name()) // left behind at worst; its name says what it is
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// ReplaceBytes is Replace with all the content at hand.
func ReplaceBytes(path string, mode fs.FileMode, data []byte) error {
	return Replace(path, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// syncDir makes a rename last through a loss of power. Windows has no such call and needs
// none.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() // not every file system can; the rename itself has happened
	return d.Close()
}

const (
	firstWait = time.Millisecond
	mostWait  = 20 * time.Millisecond
)

// Lock keeps other processes from changing a file while it is read, changed and replaced.
// They have to ask for it too. The lock is a file beside it with ".lock" at its end, which
// stays; the kernel ends the lock with the process, however that ends. It waits as long
// as ctx lasts.
func Lock(ctx context.Context, path string) (release func() error, err error) {
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for wait := firstWait; ; wait = min(2*wait, mostWait) {
		err := TryLock(f, true)
		switch {
		case err == nil:
			return f.Close, nil
		case !errors.Is(err, ErrLocked):
			return nil, errors.Join(err, f.Close())
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, errors.Join(fmt.Errorf("%s: %w: %w", path, ErrLocked, context.Cause(ctx)), f.Close())
		}
	}
}
