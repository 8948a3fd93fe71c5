//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd

package safefile

import (
	"os"
	"syscall"
)

// openChecked opens a file that ReadTrusted or ReadSecret may read. Owners and access
// lists are not looked at here. The name is looked at before it is opened, since opening a
// pipe may wait, and the open file again, since the name may mean another by then.
func openChecked(path string, _ bool) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, &FileError{Path: path, Err: errFolder}
	}
	if !info.Mode().IsRegular() {
		return nil, &FileError{Path: path, Err: ErrNotRegular}
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(info, now) {
		_ = f.Close() // only opened to be read
		return nil, &FileError{Path: path, Err: ErrChanged}
	}
	return f, nil
}
