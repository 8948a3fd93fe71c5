package scaffold

import "errors"

// Errors of [New] and [Build], for errors.Is.
var (
	// ErrID is an id that is not publisher.name.
	ErrID = errors.New("not a plugin id")
	// ErrLanguage is a language that there is no SDK for, or a folder without sources of one.
	ErrLanguage = errors.New("unknown language")
	// ErrNotEmpty is a folder that holds files already.
	ErrNotEmpty = errors.New("the folder is not empty")
	// ErrMissingTool is a program that building needs and that is not installed.
	ErrMissingTool = errors.New("a tool is missing")
	// ErrBuild is a build that failed; see [BuildError].
	ErrBuild = errors.New("the build failed")
)

// BuildError is a step of a build that failed. It wraps [ErrBuild] and the cause.
type BuildError struct {
	// Step is the command, such as "go build".
	Step string
	// Output is the end of what it wrote, at most 4 KiB.
	Output string

	cause error
}

func (e *BuildError) Error() string {
	text := e.Step + ": " + e.cause.Error()
	if e.Output != "" {
		text += "\n" + e.Output
	}
	return text
}

// Unwrap gives [ErrBuild] and the cause.
func (e *BuildError) Unwrap() []error { return []error{ErrBuild, e.cause} }
