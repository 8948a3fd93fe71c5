package settings

import (
	"errors"
	"fmt"
	"os"

	"github.com/cloister-wasm/cloister/internal/json5"
	"github.com/cloister-wasm/cloister/internal/safefile"
)

// FileName is the file that is read from the working folder where nobody names another.
const FileName = "cloister.json5"

// FileVariable is the variable of the environment that names the file.
const FileVariable = "CLOISTER_CONFIG"

// Options are the choices of Load. The zero value reads what the command line reads.
type Options struct {
	// File is the configuration file, which must be there. Empty: that of the variable
	// CLOISTER_CONFIG, which must be there too, else cloister.json5 in the working folder
	// if there is one, else none.
	File string
	// NoServerList leaves the user's own list of MCP servers out.
	NoServerList bool
	// Places is where this user's files are. The zero value asks the environment.
	Places Places
}

// Locate finds the configuration file as Options.File says: empty where there is none.
// found says that nobody named it.
func Locate(file string) (path string, found bool, err error) {
	if file != "" {
		return file, false, nil
	}
	if env := os.Getenv(FileVariable); env != "" {
		return env, false, nil
	}
	_, err = os.Lstat(FileName)
	if errors.Is(err, os.ErrNotExist) {
		return "", false, nil
	}
	return FileName, err == nil, err
}

// Load reads the configuration file that applies, and the user's own list of MCP
// servers. Nil options are the zero value.
//
// The error is an *Error with every fault, a *json5.SyntaxError, ErrRead for a file that
// cannot be read, or a *ServerListError. A file that was merely found in the working
// folder decides nothing about trust: settings that would are faults (ErrFound). Files
// that others can change are not read: a *FileError.
func Load(o *Options) (*Settings, error) {
	if o == nil {
		o = &Options{}
	}
	s, err := loadFile(o.File)
	if err != nil {
		return nil, err
	}
	s.options, s.Places = *o, o.Places
	if o.NoServerList {
		return s, nil
	}
	return s, s.addServerList()
}

// Reload reads everything anew, with the options of Load. Settings that were parsed and
// not loaded have nothing to be read anew: they are given back.
func (s *Settings) Reload() (*Settings, error) {
	if !s.loaded {
		return s, nil
	}
	return Load(&s.options)
}

// Locate finds the file that Reload would read; empty where there is none.
func (s *Settings) Locate() (string, error) {
	if !s.loaded {
		return s.File, nil
	}
	path, _, err := Locate(s.options.File)
	return path, err
}

// loadFile reads the configuration file that applies.
func loadFile(file string) (*Settings, error) {
	name, found, err := Locate(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRead, err)
	}
	var data []byte
	if name != "" {
		data, err = safefile.ReadTrusted(name, json5.MaxBytes)
		switch {
		case errors.Is(err, safefile.ErrTooLarge):
			return nil, fmt.Errorf("%w: %w: %w", ErrRead, json5.ErrTooLarge, err)
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrRead, err)
		}
	}
	s, err := Parse(name, data)
	if err != nil {
		return nil, err
	}
	s.loaded = true
	// Whoever wrote a folder that the user happens to stand in does not decide that code
	// without a signature is trusted, nor anything else about trust.
	if s.Found = found; found && len(s.trusting) > 0 {
		return nil, &Error{Faults: sorted(s.trusting), found: true}
	}
	return s, nil
}
