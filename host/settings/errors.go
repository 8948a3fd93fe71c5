package settings

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/safefile"
)

var (
	// ErrFound reports settings that only a file which somebody named may have, in one
	// that was merely found in the working folder.
	ErrFound = errors.New("the configuration was merely found in the working folder")
	// ErrRead reports a configuration file that cannot be read.
	ErrRead = errors.New("configuration")
	// ErrNoDataFolder reports that the system names no folder for data.
	ErrNoDataFolder = errors.New("there is no folder for data")
	// ErrNoConfigFolder reports that the system names no folder for the trust policy.
	ErrNoConfigFolder = errors.New("there is no trust policy")
)

// Fault is one thing wrong with a configuration file.
type Fault struct {
	// File is the name that was given to Parse or Load.
	File string
	// Line and Column begin at 1. Line 0 means the file as a whole.
	Line, Column int
	// Key is the path of the setting, such as "tools.codeMode.timeoutMs"; empty for the
	// whole file.
	Key string
	// Message says what is wrong and what is expected. It quotes no secret.
	Message string
}

func (f Fault) String() string {
	place := f.File
	if f.Line > 0 {
		place = fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
	}
	if f.Key == "" {
		return place + ": " + f.Message
	}
	return place + ": " + f.Key + ": " + f.Message
}

// Error lists every fault of a configuration, in the order of the file. It unwraps to
// host.ErrConfig, and to ErrFound where the faults are about that.
type Error struct {
	Faults []Fault
	found  bool
}

// Error gives one line for each fault.
func (e *Error) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// Unwrap makes errors.Is(err, host.ErrConfig) true.
func (e *Error) Unwrap() []error {
	if e.found {
		return []error{host.ErrConfig, ErrFound}
	}
	return []error{host.ErrConfig}
}

// FileError reports a file that is not used because of what it is or who could have
// written it: no regular file, one of another user, one that others can change, or a
// secret that others can read. It names the file, or its folder, and the command that
// mends it. Errors of files that decide, of this package and of those that it calls,
// unwrap to one.
type FileError = safefile.FileError

// ServerListError reports that the user's own list of MCP servers cannot be used.
type ServerListError struct {
	// File is the list.
	File string
	// Err is what kept it from being read, or what is wrong with its text.
	Err error
	// read says that the file could not be read at all.
	read bool
}

func (e *ServerListError) Error() string {
	if e.read {
		return "the list of MCP servers: " + e.Err.Error()
	}
	return "the list of MCP servers is not usable\n" + e.Err.Error()
}

// Unwrap gives Err.
func (e *ServerListError) Unwrap() error { return e.Err }

// WriteError reports that a file could not be changed, though what was to be written was
// good.
type WriteError struct {
	// File is the file.
	File string
	// Busy says that another process is changing it.
	Busy bool
	Err  error
}

func (e *WriteError) Error() string { return e.Err.Error() }

// Unwrap gives Err.
func (e *WriteError) Unwrap() error { return e.Err }

// ServerError reports an MCP server that cannot be used by its name.
type ServerError struct {
	Name string
	// Near is a name that may be meant, if there is one.
	Near string
	// Disabled says that the server is there, and disabled.
	Disabled bool
}

func (e *ServerError) Error() string {
	if e.Disabled {
		return fmt.Sprintf("the MCP server %s is disabled", e.Name)
	}
	text := fmt.Sprintf("there is no MCP server %q", e.Name)
	if e.Near != "" {
		text += "; did you mean " + e.Near + "?"
	}
	return text
}
