package trust

import (
	"errors"

	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/bundle"
	"github.com/cloister-wasm/cloister/plugins/lock"
)

// Classify says at which step loading a plugin failed, and how, for errors of bundle, this package, plugins and lock. Nil is
// nil. What it does not know is an internal error at the step load: never unsigned, and never a plugin's own fault. The error
// given lies below the result.
func Classify(err error) *Error {
	if err == nil {
		return nil
	}
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	e := &Error{Step: StepLoad, State: StateInternal, Detail: err.Error(), cause: err}
	var ofBundle *bundle.Error
	var ofPlugin *plugins.PluginError
	switch {
	case errors.As(err, &ofBundle):
		e.Step, e.State = bundleStep(ofBundle)
	case errors.As(err, &ofPlugin):
		e.Plugin = ofPlugin.Plugin
		if ofPlugin.Detail != "" {
			e.Detail = ofPlugin.Detail
		}
		e.Step, e.State = pluginStep(ofPlugin)
	case errors.Is(err, plugins.ErrManifest):
		e.Step, e.State = StepManifest, StateInvalid
	case errors.Is(err, lock.ErrDrift):
		e.Step, e.State = StepLock, StateInvalid
	case errors.Is(err, lock.ErrInvalid):
		e.Step = StepLock // the file's fault: nothing is known about the plugin
	case errors.Is(err, ErrPolicy), errors.Is(err, ErrNoPolicy):
		e.Step = StepPolicy
	}
	return e
}

func bundleStep(e *bundle.Error) (Step, State) {
	switch e.Step {
	case bundle.StepBounds:
		return StepBounds, StateInvalid
	case bundle.StepDigests:
		return StepDigests, StateInvalid
	case bundle.StepFormat:
		return StepFormat, StateInvalid
	default: // files and registries fail without any plugin being at fault
		return StepLoad, StateInternal
	}
}

func pluginStep(e *plugins.PluginError) (Step, State) {
	switch e.Kind {
	case plugins.ErrUnsigned:
		return StepSignature, StateUnsigned
	case plugins.ErrManifest:
		return StepManifest, StateInvalid
	case plugins.ErrConflict:
		return StepOwnership, StateNotOwned
	case plugins.ErrModule, plugins.ErrImport, plugins.ErrExport, plugins.ErrPermission, plugins.ErrLimit:
		return StepImports, StateInvalid
	default:
		return StepLoad, StateInternal
	}
}
