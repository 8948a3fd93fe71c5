package bundle

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// Read reads a bundle from an OCI image layout directory or a .cloister file, see [ReadTar]. In a directory nothing is
// followed: symbolic links, pipes and files that are no part of a layout are errors.
//
// Errors: ErrFiles when the path cannot be read, with fs.ErrNotExist below it where nothing is there; otherwise
// ErrBounds, ErrDigest or ErrFormat.
func Read(name string) (*Artifact, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fail(ErrFiles, "%v", err)
	}
	switch {
	case info.IsDir():
		return readDir(name)
	case info.Mode().IsRegular():
		return readFile(name, info)
	default:
		return nil, fail(ErrFiles, "%s is neither a .cloister file nor the directory of an OCI image layout", name)
	}
}

func readFile(name string, info fs.FileInfo) (*Artifact, error) {
	if info.Size() > maxTarBytes {
		return nil, fail(ErrBounds, "%s has %d bytes, more than %d", name, info.Size(), int64(maxTarBytes))
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fail(ErrFiles, "%v", err)
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !os.SameFile(info, now) {
		return nil, fail(ErrFiles, "%s changed while it was read", name)
	}
	return ReadTar(bufio.NewReaderSize(f, 128<<10))
}

func readDir(name string) (*Artifact, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, fail(ErrFiles, "%v", err)
	}
	defer root.Close()
	f := &files{foreign: true}
	for _, dir := range []struct {
		name  string
		sub   string // the one directory that it may hold
		limit int
	}{{".", dirBlobs, 3}, {dirBlobs, dirSHA256, 1}, {dirSHA256, "", maxBlobs}} {
		if err := readEntries(f, root, dir.name, dir.sub, dir.limit); err != nil {
			return nil, err
		}
	}
	return f.artifact()
}

// readEntries reads one directory of a layout, which holds a bounded number of files and perhaps one directory. Names and
// their number come first, then sizes, then bytes.
func readEntries(f *files, root *os.Root, dir, sub string, limit int) error {
	entries, err := listDir(root, dir, limit+1)
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if name == sub && e.IsDir() {
			continue
		}
		if _, ok := most(name); !ok {
			return f.admit(name, 0)
		}
		names = append(names, name)
	}
	if len(entries) > limit {
		return fail(ErrBounds, "the directory %s has more than %d entries", dir, limit)
	}
	for _, name := range names {
		if err := readEntryFile(f, root, name); err != nil {
			return err
		}
	}
	return nil
}

func listDir(root *os.Root, dir string, limit int) ([]fs.DirEntry, error) {
	info, err := root.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fail(ErrFormat, "the directory %s is missing: this is no OCI image layout", dir)
	case err != nil:
		return nil, fail(ErrFiles, "%v", err)
	case !info.IsDir():
		return nil, fail(ErrFormat, "%s is not a directory: this is no OCI image layout of a plugin", dir)
	}
	d, err := root.Open(dir)
	if err != nil {
		return nil, fail(ErrFiles, "%v", err)
	}
	defer d.Close()
	entries, err := d.ReadDir(limit)
	if err != nil && err != io.EOF {
		return nil, fail(ErrFiles, "%v", err)
	}
	return entries, nil
}

func readEntryFile(f *files, root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if err != nil {
		return fail(ErrFiles, "%v", err)
	}
	if !info.Mode().IsRegular() {
		return fail(ErrFormat, "%q is not a regular file; copy what it stands for", name)
	}
	if err := f.admit(name, info.Size()); err != nil {
		return err
	}
	b, err := readRegular(root, name, info)
	if err != nil {
		var e *Error
		if errors.As(err, &e) {
			return err
		}
		return fail(ErrFiles, "%v", err)
	}
	return f.put(name, b)
}

// readRegular reads a file that was looked at before. Opening a pipe would wait for its other end, so it is opened without
// waiting, and the open file is looked at again, since the name may mean another by then.
func readRegular(root *os.Root, name string, info fs.FileInfo) ([]byte, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if now, err := file.Stat(); err != nil || !os.SameFile(info, now) {
		return nil, fmt.Errorf("%s changed while it was read", name)
	}
	b, err := readBounded(file, info.Size(), "file "+name)
	if err == nil && int64(len(b)) != info.Size() {
		err = fmt.Errorf("%s changed while it was read", name)
	}
	return b, err
}
