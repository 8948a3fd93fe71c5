package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"syscall"
	"time"
)

// folder is a store's folder, open. All names are relative to it and cannot lead out of it.
type folder struct {
	*os.Root
}

func (f folder) close() error { return f.Close() }

// open opens the folder and makes sure that only we can write to it.
func (s *Store) open(create bool) (folder, error) {
	if create {
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			return folder{}, fmt.Errorf("%w: %w", ErrDir, err)
		}
	}
	named, err := os.Lstat(s.dir)
	switch {
	case err != nil:
		return folder{}, fmt.Errorf("%w: %w", ErrDir, err)
	case !named.IsDir():
		return folder{}, fail(ErrDir, "%s is not a directory, or a symbolic link to one", s.dir)
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return folder{}, fmt.Errorf("%w: %w", ErrDir, err)
	}
	f := folder{root}
	if err := f.trusted(s.dir, named); err != nil {
		return folder{}, errors.Join(err, f.close())
	}
	if create {
		for _, dir := range []string{genDir, blobDir, tmpDir} {
			if err := f.MkdirAll(dir, 0o700); err != nil {
				return folder{}, errors.Join(fmt.Errorf("%w: %w", ErrDir, err), f.close())
			}
		}
	}
	return f, nil
}

// trusted checks the folder that was opened, not the name: the name may mean another by now.
func (f folder) trusted(dir string, named fs.FileInfo) error {
	info, err := f.Stat(".")
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDir, err)
	}
	if !os.SameFile(named, info) {
		return fail(ErrDir, "%s changed while it was opened", dir)
	}
	if why := foreign(info); why != "" {
		return fail(ErrDir, "%s %s; make it yours alone (chmod 700), or name another", dir, why)
	}
	return nil
}

// read reads a regular file of at most most bytes. The name is looked at before it is opened, since opening a pipe waits for
// its other end, and the open file again, since the name may mean another by then.
func (f folder) read(name string, most int64) ([]byte, error) {
	info, err := f.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("it is not a regular file")}
	}
	if info.Size() > most {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("it has more than %d bytes", most)}
	}
	file, err := f.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if now, err := file.Stat(); err != nil || !now.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("it changed while it was read")}
	}
	data := make([]byte, 0, info.Size()+512) // a real file's size, bounded above
	data, err = readAll(io.LimitReader(file, most+1), data)
	if err == nil && int64(len(data)) > most {
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("it has more than %d bytes", most)}
	}
	return data, err
}

// readAll is io.ReadAll into a buffer that has the right size already.
func readAll(r io.Reader, b []byte) ([]byte, error) {
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
}

// write writes a file whole: under another name first, then renamed. Whoever reads sees the old bytes or the new ones. The
// rename lasts through a loss of power once the directory was synced.
func (f folder) write(name string, data []byte) error {
	tmp := tmpDir + "/" + rand.Text()
	file, err := f.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = f.rename(tmp, name)
	}
	if err != nil {
		_ = f.Remove(tmp) // the first error is the one to report; the next writer removes what stays
	}
	return err
}

// rename retries where an open reader is in the way, which only Windows knows. Readers are done in a moment.
func (f folder) rename(from, to string) error {
	err := f.Rename(from, to)
	for range 100 {
		if err == nil || runtime.GOOS != "windows" {
			return err
		}
		time.Sleep(10 * time.Millisecond)
		err = f.Rename(from, to)
	}
	return err
}

// sync makes the names in a directory last through a loss of power. Windows has no such call and needs none.
func (f folder) sync(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := f.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}

// names lists a directory; a missing one is empty.
func (f folder) names(dir string) ([]string, error) {
	d, err := f.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

// clean removes what killed writers left. Only for who holds the lock: nobody else is writing.
func (f folder) clean() error {
	names, err := f.names(tmpDir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := f.RemoveAll(path.Join(tmpDir, name)); err != nil {
			return err
		}
	}
	return nil
}
