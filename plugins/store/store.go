package store

import (
	"path/filepath"
	"time"
)

// Names in a store's folder. NB: part of the format.
const (
	currentFile = "current"
	lockName    = "lock"
	turnName    = "turn"
	genDir      = "generations"
	blobDir     = "blobs/sha256"
	tmpDir      = "tmp"
)

// Options are the choices of a store. The zero value is good.
type Options struct {
	// Now is the clock for the times in generations; nil is time.Now.
	Now func() time.Time
}

// Store is a folder of installed plugins. It holds nothing open between calls, needs no closing, and is safe for
// concurrent use, by other processes too.
type Store struct {
	dir  string
	now  func() time.Time
	step func(name string) // for tests: told of each step of a change; nil otherwise
}

// Open opens the store in the folder dir, which is made if it does not exist. Nil options are the zero value. The folder
// must belong to this user alone (0700): what lies in it will run. Otherwise the error is ErrDir.
func Open(dir string, o *Options) (*Store, error) {
	if o == nil {
		o = &Options{}
	}
	s := &Store{now: o.Now}
	if s.now == nil {
		s.now = time.Now
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fail(ErrDir, "%v", err)
	}
	s.dir = abs
	f, err := s.open(true)
	if err != nil {
		return nil, err
	}
	return s, f.close()
}

// Dir is the store's folder, absolute.
func (s *Store) Dir() string { return s.dir }

func (s *Store) stepped(name string) {
	if s.step != nil {
		s.step(name)
	}
}

// time is now, as generations keep it.
func (s *Store) time() time.Time { return s.now().UTC().Truncate(time.Second) }
