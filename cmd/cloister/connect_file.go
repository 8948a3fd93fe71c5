package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/cloister-wasm/cloister/internal/clientconfig"
	"github.com/cloister-wasm/cloister/internal/safefile"
)

// recordPath is where is written down what was done to a client's file.
func (f *clientFile) recordPath() (string, error) {
	dir, err := dataDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "connect", f.client.Name+"-"+clientconfig.Sum([]byte(f.path))[:16]+".json"), nil
}

// maxRecordBytes bounds a record: it holds entries of the file.
const maxRecordBytes = 2 * clientconfig.MaxBytes

// record reads what was done to the file, nil if nothing was.
func (f *clientFile) record() (*clientconfig.Record, error) {
	path, err := f.recordPath()
	if err != nil {
		return nil, err
	}
	data, err := safefile.ReadTrusted(path, maxRecordBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, usageError(err, "")
	}
	r := &clientconfig.Record{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, usageError(fmt.Errorf("%s: %w", path, err), "remove it; disconnect --force takes the entry out without it")
	}
	if r.Version != clientconfig.RecordVersion || r.Client != f.client.Name || r.File != f.path {
		return nil, usageError(fmt.Errorf("%s is of version %d, and of %s, not of this file", path, r.Version, r.File), "a newer Cloister may have written it")
	}
	return r, nil
}

// replace writes another text, if the file still has the one that was read; a nil text removes the file. A copy stays beside
// it. What change makes of the record is kept; nil: none.
func (f *clientFile) replace(text []byte, change func(old *clientconfig.Record, backup string) *clientconfig.Record) (backup string, err error) {
	path, err := f.recordPath()
	if err != nil {
		return "", err
	}
	unlock, err := lockFile(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := f.unchanged(); err != nil {
		return "", err
	}
	old, err := f.record()
	if err != nil {
		return "", err
	}
	if !f.missing && text != nil {
		if backup, err = f.backup(); err != nil {
			return "", err
		}
	}
	if f.missing {
		if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
			return "", usageError(err, "")
		}
	}
	// The record comes first: after a crash in between it says of a change that did not happen, which undoing finds undone.
	if err := saveRecord(path, change(old, backup)); err != nil {
		return "", err
	}
	if text == nil {
		err = os.Remove(f.path)
	} else {
		err = safefile.ReplaceBytes(f.path, f.mode, text)
	}
	if err != nil {
		return "", errors.Join(usageError(fmt.Errorf("writing %s: %w", f.path, err), ""), saveRecord(path, old))
	}
	return backup, nil
}

// unchanged compares the file with what was read and shown.
func (f *clientFile) unchanged() error {
	changed := func() error {
		return &exitError{code: exitFailed, err: fmt.Errorf("%s: %w", f.path, errFileChanged), hint: "nothing was written; end the client and run it again"}
	}
	now, err := safefile.Read(f.path, clientconfig.MaxBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.missing:
		return nil
	case err != nil || f.missing || !bytes.Equal(now, f.text):
		return changed()
	}
	if real, err := filepath.EvalSymlinks(f.path); err != nil {
		return changed()
	} else if info, err := os.Lstat(f.path); err != nil || info.Mode()&fs.ModeSymlink != 0 && real != f.path {
		return changed()
	}
	return nil
}

// backup keeps a copy of the file beside it, with its mode. There is one for each change.
func (f *clientFile) backup() (string, error) {
	base := f.path + ".cloister-backup-" + time.Now().UTC().Format("20060102T150405Z")
	for n := 1; n < 100; n++ {
		name := base
		if n > 1 {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", usageError(fmt.Errorf("keeping a copy: %w", err), "nothing was changed")
		}
		_, err = file.Write(f.text)
		if err == nil {
			err = file.Chmod(f.mode)
		}
		if err == nil {
			err = file.Sync()
		}
		if err = errors.Join(err, file.Close()); err != nil {
			return "", usageError(fmt.Errorf("keeping a copy: %w", errors.Join(err, os.Remove(name))), "nothing was changed")
		}
		return name, nil
	}
	return "", usageError(fmt.Errorf("keeping a copy: %s and those after it are there already", base), "nothing was changed; move copies away that you do not need")
}

// saveRecord writes a record for this user alone; nil removes it.
func saveRecord(path string, r *clientconfig.Record) error {
	if r == nil {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &exitError{code: exitInternal, err: err}
		}
		return nil
	}
	if err := safefile.ReplaceBytes(path, 0o600, append(marshalPlain(r), '\n')); err != nil {
		return &exitError{code: exitInternal, err: err}
	}
	return nil
}
