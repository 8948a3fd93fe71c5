//go:build linux || darwin || freebsd || netbsd || openbsd

package safefile

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks is how many symbolic links are followed, as many as Linux does.
const maxLinks = 40

// openChecked opens a file that ReadTrusted or ReadSecret may read.
func openChecked(path string, secret bool) (*os.File, error) {
	for at, n := path, 0; n < maxLinks; n++ {
		f, next, err := openEntry(at, secret)
		if err != nil || f != nil {
			return f, err
		}
		at = next
	}
	return nil, &FileError{Path: path, Err: ErrLinks}
}

// openEntry opens a file in its folder, which is open meanwhile, or says where a link
// leads. Nothing is opened before it is known to be a regular file: opening a device may
// already do something.
func openEntry(path string, secret bool) (f *os.File, next string, err error) {
	dir, name := splitName(path)
	folder, err := openFolder(dir)
	if err != nil {
		return nil, "", err
	}
	defer unix.Close(folder) // nothing was written
	var st unix.Stat_t
	if err := retry(func() error { return unix.Fstatat(folder, name, &st, unix.AT_SYMLINK_NOFOLLOW) }); err != nil {
		return nil, "", &fs.PathError{Op: "open", Path: path, Err: err}
	}
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFREG:
		f, err := openRegular(folder, name, path)
		if err != nil {
			return nil, "", err
		}
		if err := checkFile(f, path, secret); err != nil {
			return nil, "", errors.Join(err, f.Close())
		}
		return f, "", nil
	case unix.S_IFLNK:
		if !ours(st.Uid) {
			return nil, "", foreign(path, st.Uid, true)
		}
		next, err := readLink(folder, name)
		if errors.Is(err, unix.EINVAL) { // it is no link any more
			return nil, "", &FileError{Path: path, Err: ErrChanged}
		}
		if err != nil {
			return nil, "", &fs.PathError{Op: "readlink", Path: path, Err: err}
		}
		if !strings.HasPrefix(next, "/") {
			next = dir + next
		}
		return nil, next, nil
	}
	if uint32(st.Mode)&unix.S_IFMT == unix.S_IFDIR {
		return nil, "", &FileError{Path: path, Err: errFolder}
	}
	return nil, "", &FileError{Path: path, Err: ErrNotRegular}
}

// splitName splits a path at its last slash. It does not clean the rest, where ".." after
// a link means what the system takes it for.
func splitName(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/') + 1
	if dir, name = path[:i], path[i:]; name == "" {
		name = "."
	}
	return dir, name
}

// openFolder opens a folder to look names up in it, and checks who can put names there.
// dir ends with a slash, or is empty for the working folder.
func openFolder(dir string) (int, error) {
	shown := strings.TrimSuffix(dir, "/")
	switch {
	case dir == "":
		dir, shown = ".", "."
	case shown == "":
		shown = "/"
	}
	fd := -1
	err := retry(func() (err error) {
		fd, err = unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC|lookOnly, 0)
		return err
	})
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: shown, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return -1, errors.Join(&fs.PathError{Op: "stat", Path: shown, Err: err}, unix.Close(fd))
	}
	mode := uint32(st.Mode)
	switch {
	case !ours(st.Uid):
		err = foreign(shown, st.Uid, false)
	case mode&0o022 != 0 && mode&unix.S_ISVTX == 0:
		err = &FileError{Path: shown, Mode: fs.FileMode(mode & 0o777), Mend: "chmod go-w " + forShell(shown), Err: ErrWritable}
	default:
		return fd, nil
	}
	return -1, errors.Join(err, unix.Close(fd))
}

// openRegular opens what was a regular file a moment ago. What has taken its place is not
// followed and not waited for, and checkFile sees it.
func openRegular(folder int, name, path string) (*os.File, error) {
	fd := -1
	err := retry(func() (err error) {
		fd, err = unix.Openat(folder, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		return err
	})
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.EMLINK): // a link; FreeBSD says EMLINK
		return nil, &FileError{Path: path, Err: ErrChanged}
	case err != nil:
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// checkFile looks at the open file, whose name may mean another by now.
func checkFile(f *os.File, path string, secret bool) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	mode := uint32(st.Mode)
	wrong := &FileError{Path: path, Mode: fs.FileMode(mode & 0o777)}
	switch {
	case mode&unix.S_IFMT != unix.S_IFREG:
		return &FileError{Path: path, Err: ErrChanged}
	case !ours(st.Uid):
		return foreign(path, st.Uid, false)
	case mode&0o022 != 0 && !secret:
		wrong.Err, wrong.Mend = ErrWritable, "chmod go-w "+forShell(path)
		return wrong
	case mode&0o022 != 0:
		wrong.Err, wrong.Mend = ErrWritable, "chmod 600 "+forShell(path)
		return wrong
	case secret && mode&secretBits(int(st.Uid), os.Geteuid()) != 0:
		wrong.Err, wrong.Mend = ErrReadable, "chmod 600 "+forShell(path)
		return wrong
	}
	return nil
}

// secretBits are the permissions that a secret must not have, by its owner and who reads
// it. One of root's may be readable for the group that the reader is in.
func secretBits(owner, reader int) uint32 {
	if owner == 0 && reader != 0 {
		return 0o037
	}
	return 0o077
}

// ours says whether a user is this one, or root, who can do everything anyway.
func ours(uid uint32) bool { return uid == 0 || int(uid) == os.Geteuid() }

func foreign(path string, uid uint32, link bool) *FileError {
	chown := "chown "
	if link {
		chown = "chown -h "
	}
	return &FileError{Path: path, Owner: int(uid), Mend: chown + strconv.Itoa(os.Geteuid()) + " " + forShell(path), Err: ErrForeign}
}

func readLink(folder int, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n := 0
	err := retry(func() (err error) {
		n, err = unix.Readlinkat(folder, name, buf)
		return err
	})
	if err == nil && n >= len(buf) {
		err = unix.ENAMETOOLONG
	}
	return string(buf[:max(n, 0)]), err
}

// retry calls again what a signal interrupted.
func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
