package setup

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cloister-wasm/cloister/host"
)

// Step is a step of making a host.
type Step string

// Steps, in their order.
const (
	StepSettings  Step = "settings"  // reading the configuration
	StepOptions   Step = "options"   // see OptionsError
	StepPolicies  Step = "policies"  // Cedar policies
	StepLock      Step = "lock"      // the lock file
	StepInstalled Step = "installed" // the store of plugins and the trust policy
	StepFolders   Step = "folders"   // development plugins, and conflicts of names
	StepServers   Step = "servers"   // MCP servers
	StepHost      Step = "host"      // host.New
	StepGateway   Step = "gateway"   // gateway.New
)

// Error says at which step a host could not be made. Its text is that of Err, which
// names what it is about.
type Error struct {
	Step Step
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap gives Err.
func (e *Error) Unwrap() error { return e.Err }

// at says at which step an error came up; nil for no error.
func at(step Step, err error) error {
	if err == nil {
		return nil
	}
	return &Error{step, err}
}

// OptionsError lists what is wrong with Options. It unwraps to each of them and to
// host.ErrConfig.
type OptionsError struct{ Errs []error }

func (e *OptionsError) Error() string { return lines(e.Errs) }

// Unwrap gives Errs and host.ErrConfig.
func (e *OptionsError) Unwrap() []error { return append([]error{host.ErrConfig}, e.Errs...) }

// UnsignedError reports folders of plugins, which nobody has signed, where nobody said
// that such plugins are wanted.
type UnsignedError struct{ Dirs []string }

func (e *UnsignedError) Error() string {
	return "plugins of folders are development plugins, which nobody has signed, and are not loaded: " + strings.Join(e.Dirs, ", ")
}

// Unwrap makes errors.Is(err, host.ErrConfig) true.
func (e *UnsignedError) Unwrap() error { return host.ErrConfig }

// FoldersError lists what is wrong with plugins of folders: each error is that of one
// folder.
type FoldersError struct{ Errs []error }

func (e *FoldersError) Error() string { return lines(e.Errs) }

// Unwrap gives Errs.
func (e *FoldersError) Unwrap() []error { return e.Errs }

// LockMissingError reports a lock file that somebody named and that is not there.
type LockMissingError struct {
	Path string
	Err  error
}

func (e *LockMissingError) Error() string {
	return fmt.Sprintf("the lock file is not there: %v", e.Err)
}

// Unwrap gives Err.
func (e *LockMissingError) Unwrap() error { return e.Err }

var (
	// ErrClosed reports a Setup that is closed.
	ErrClosed = errors.New("setup is closed")
	// ErrFixed reports Reload or Watch of a Setup that was made without Options.Follow.
	ErrFixed = errors.New("setup follows no changes; see Options.Follow")
)

// lines puts each error on lines of its own.
func lines(errs []error) string {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "\n")
}
