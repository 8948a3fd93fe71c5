package plugins

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// Sentinels, for errors.Is.
var (
	// ErrUnsigned: the plugin has no signature and the caller did not ask for unsigned ones.
	ErrUnsigned = errors.New("the plugin is not signed")
	// ErrFiles: the folder or a file of it cannot be used.
	ErrFiles = errors.New("the plugin's files cannot be used")
	// ErrManifest: the manifest has mistakes. A [*ManifestError] below it lists them.
	ErrManifest = errors.New("the plugin manifest has mistakes")
	// ErrModule: plugin.wasm is no module that can be used, a component included.
	ErrModule = errors.New("the plugin's WebAssembly cannot be used")
	// ErrImport: the module imports what is not offered, or not granted.
	ErrImport = errors.New("the plugin imports what is not offered")
	// ErrExport: the module lacks an export that its manifest needs.
	ErrExport = errors.New("the plugin lacks an export")
	// ErrPermission: the plugin asks for more than the host allows.
	ErrPermission = errors.New("the plugin asks for more than it may have")
	// ErrConflict: another plugin has the id or a tool's name already.
	ErrConflict = errors.New("another plugin was there first")
	// ErrUnknownTool: the plugin has no such tool.
	ErrUnknownTool = errors.New("the plugin has no such tool")
	// ErrInput: the input is not a JSON object in the strict sense.
	ErrInput = errors.New("the tool's input is not valid JSON")
	// ErrLimit: input, output or memory is over its bound.
	ErrLimit = errors.New("the plugin went over a limit")
	// ErrProtocol: the plugin's answer is not what the ABI asks for.
	ErrProtocol = errors.New("the plugin's answer cannot be understood")
	// ErrBroken: the plugin trapped, exited or panicked. Its instance is finished.
	ErrBroken = errors.New("the plugin broke")
	// ErrMemory: it broke after it was refused more memory. Also ErrBroken.
	ErrMemory = errors.New("the plugin ran out of memory")
	// ErrStopped: the call was ended by its context or its time. Also context.DeadlineExceeded or context.Canceled.
	ErrStopped = errors.New("the plugin call was stopped")
	// ErrFinished: an earlier call cost the instance.
	ErrFinished = errors.New("the plugin instance is finished")
	// ErrHost: this host cannot run plugins as it is set up: the cache directory or the environment.
	ErrHost = errors.New("this host cannot run plugins")
	// ErrUnknownNamespace: the plugin has no such namespace, or one of another kind.
	ErrUnknownNamespace = errors.New("the plugin has no such namespace")
	// ErrScope: the plugin computed a scope that breaks a rule.
	ErrScope = errors.New("the plugin's scope cannot be used")
	// ErrBusy: the plugin was called by a call that it is part of.
	ErrBusy = errors.New("the plugin is busy with the call that called it")
	// ErrKVFull: a [KVStore] has no room for the entry.
	ErrKVFull = errors.New("the plugin's store is full")
	// ErrClosed: the plugin or the instance was closed.
	ErrClosed = errors.New("the plugin is closed")
)

// PluginError is a fault of a plugin or a refusal by the host. It is for the host: it may name files.
type PluginError struct {
	// Plugin is the plugin's id, or its folder while the id is not known.
	Plugin string
	// Tool is the tool being called, or "".
	Tool string
	// Kind is one of the sentinels.
	Kind error
	// Detail is one bounded line that says what is wrong and, where there is a way, how to mend it. It may be "".
	Detail string
	// Diagnostics is what a log should keep: the stack and the end of the plugin's own output. It may be "".
	Diagnostics string

	cause error
}

// Error is "plugin ID: tool NAME: kind: detail".
func (e *PluginError) Error() string {
	var b strings.Builder
	b.WriteString("plugin " + plaintext.Line(e.Plugin, 200))
	if e.Tool != "" {
		b.WriteString(": tool " + plaintext.Line(e.Tool, 80))
	}
	b.WriteString(": " + e.Kind.Error())
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	return b.String()
}

// Unwrap gives the sentinel and what lies below it.
func (e *PluginError) Unwrap() []error {
	if e.cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.cause}
}

// ToolError is a tool's own failure: data for the program that called it. The plugin is fine and its instance goes on.
type ToolError struct {
	// Name is an identifier, "Error" by default.
	Name string
	// Message is the tool's text: valid UTF-8, at most 4 KiB.
	Message string
	// Code is of lower-case letters, digits and underscores, "tool_failed" by default.
	Code string
}

// Error is the name and the message.
func (e *ToolError) Error() string { return e.Name + ": " + e.Message }

// Problem is one mistake in a manifest.
type Problem struct {
	// Path is the JSON pointer of the place.
	Path string
	// Message says what is wrong.
	Message string
	// Suggestion says how to mend it; it may be "".
	Suggestion string
}

// String is one line.
func (p Problem) String() string {
	path := p.Path
	if path == "" {
		path = "(the whole file)"
	}
	s := path + ": " + p.Message
	if p.Suggestion != "" {
		s += "; " + p.Suggestion
	}
	return plaintext.Line(s, 800)
}

// ManifestError lists all mistakes of a manifest, in order of their places. It is ErrManifest.
type ManifestError struct {
	Problems []Problem
	// More is set when the list was cut off at [MaxProblems].
	More bool
}

// Error has a line for each mistake.
func (e *ManifestError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v:", ErrManifest)
	for _, p := range e.Problems {
		b.WriteString("\n  " + p.String())
	}
	if e.More {
		b.WriteString("\n  and more")
	}
	return b.String()
}

// Unwrap gives ErrManifest.
func (e *ManifestError) Unwrap() error { return ErrManifest }
