package safefile

import (
	"fmt"
	"os"
)

// ReadTrusted reads a regular file, at most most bytes, that decides something: what is
// trusted, started or allowed. What it says counts only if nobody else can have said it,
// so it is refused, with a *FileError that says how to mend it, unless
//
//   - it is a regular file: pipes, sockets and devices are neither opened nor waited for,
//   - it belongs to the user of this process or to root,
//   - neither its group nor others can write to it,
//   - the same holds for the folder that it is in; one that others can write to has to have
//     the sticky bit, by which they cannot replace what is not theirs, such as /tmp.
//
// Symbolic links are followed, one at a time, and each has to be of this user or root, in
// such a folder: where secrets are mounted and dotfiles managed, such files are links. What
// was checked is the open file and the open folder, not a name that may mean another by
// then. Folders further up are not looked at: whoever can rename one of them can only put
// another folder of this user's in its place.
//
// On Windows, and where owners cannot be told, only kind and size are checked: a user's
// profile is private there by default, and access lists are not read.
//
// A file that is not there is fs.ErrNotExist.
func ReadTrusted(path string, most int64) ([]byte, error) { return readChecked(path, most, false) }

// ReadSecret is ReadTrusted for a file that holds a secret: others cannot read it either,
// nor its group, but for a file of root's, which is how a secret is given to a service that
// runs as somebody else.
func ReadSecret(path string, most int64) ([]byte, error) { return readChecked(path, most, true) }

func readChecked(path string, most int64, secret bool) ([]byte, error) {
	f, err := openChecked(path, secret)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read from: nothing is lost
	return readAll(f, path, most)
}

// OpenSecret opens what ReadSecret would read. Whoever reads it bounds what is read.
func OpenSecret(path string) (*os.File, error) { return openChecked(path, true) }

// ReadSecretLine is ReadSecret and ReadLine: the one line of a secret's file.
func ReadSecretLine(path string, most int64) ([]byte, error) {
	f, err := openChecked(path, true)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read from: nothing is lost
	line, err := ReadLine(f, most)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return line, nil
}
