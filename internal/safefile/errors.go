package safefile

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

var (
	// ErrLocked: somebody else has the lock.
	ErrLocked = errors.New("locked by another process")
	// ErrMoreLines reports that what should hold one line, such as a secret, holds more.
	ErrMoreLines = errors.New("there is more than one line")
	// ErrNotRegular reports a pipe, a socket, a device or a folder where a file should be.
	// Nothing was read of it, and nobody waited for its other end.
	ErrNotRegular = errors.New("is not a regular file")
	// errFolder is the ErrNotRegular that people make.
	errFolder = notRegular("is a folder, not a file")
	// ErrTooLarge reports a file that has more bytes than may be read of it.
	ErrTooLarge = errors.New("has more bytes than are read")
	// ErrChanged reports that a name meant another file when it was opened than when it was
	// looked at.
	ErrChanged = errors.New("changed while it was read")
	// ErrForeign reports a file, a link or a folder of somebody who is neither this user nor
	// root.
	ErrForeign = errors.New("belongs to another user")
	// ErrWritable reports a file or a folder that others can change.
	ErrWritable = errors.New("can be changed by other users")
	// ErrReadable reports a secret that others can read.
	ErrReadable = errors.New("holds a secret that other users can read")
	// ErrLinks reports symbolic links that go around in a circle, or too many of them.
	ErrLinks = errors.New("is reached by too many symbolic links")
)

// notRegular is ErrNotRegular that says what is there instead.
type notRegular string

func (e notRegular) Error() string      { return string(e) }
func (notRegular) Is(target error) bool { return target == ErrNotRegular }

// FileError reports a file that is not used because of what it is, or of who could have
// written it. Its text names the file, says why, and how to mend it.
type FileError struct {
	// Path is the file or the folder at fault. It is that of the reader but where a link led
	// on, or where the fault is the folder's.
	Path string
	// Mode is the permissions that were found; 0 where they are not the fault.
	Mode fs.FileMode
	// Owner is the number of the user whose file it is, where that is the fault.
	Owner int
	// Mend is a command that mends it, for a shell; empty where there is none. One that
	// changes an owner or permissions leaves the content as somebody may have changed it.
	Mend string
	// Err says what is wrong: one of the errors of this package.
	Err error
}

func (e *FileError) Error() string {
	text := e.Path + " " + e.Err.Error()
	switch {
	case errors.Is(e.Err, ErrForeign):
		text += fmt.Sprintf(" (uid %d)", e.Owner)
	case e.Mode != 0:
		text += fmt.Sprintf(" (mode %04o)", octal(e.Mode))
	}
	switch {
	case e.Mend == "":
	case errors.Is(e.Err, ErrReadable):
		text += "; if somebody may have read it, renew it; then: " + e.Mend
	default:
		text += "; make sure that nobody changed what it says, then: " + e.Mend
	}
	return text
}

// Unwrap gives Err.
func (e *FileError) Unwrap() error { return e.Err }

// octal is a mode as chmod has it, with the sticky bit.
func octal(m fs.FileMode) uint32 {
	n := uint32(m.Perm())
	if m&fs.ModeSticky != 0 {
		n |= 0o1000
	}
	return n
}

// forShell quotes a path for a command that somebody may paste.
func forShell(path string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("/._-+,:@%=", c)
	}
	if path != "" && path[0] != '-' && strings.IndexFunc(path, func(c rune) bool { return !plain(c) }) < 0 {
		return path
	}
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
