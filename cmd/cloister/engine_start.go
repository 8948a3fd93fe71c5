package main

import (
	"errors"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/quickjs"
)

// engineFor looks the engine up before anything is started for cells: a command that
// cannot run any says so at once, not a model at its first program. The host takes
// the bytes that were found.
func engineFor(o *host.Options) error {
	found, err := quickjs.FindEngine()
	if err != nil {
		return err
	}
	o.EngineWasm = found.Wasm
	return nil
}

// withoutEngine is the result of a cell whose engine was not found, as a host gives
// it; nil for another error.
func withoutEngine(err error) *host.Result {
	if !errors.Is(err, quickjs.ErrEngineUnavailable) {
		return nil
	}
	return &host.Result{
		Status: guestabi.StatusFailed, Error: err.Error(),
		Code: guestabi.CodeRuntimeUnavailable, Reason: guestabi.ReasonRuntimeUnavailable,
	}
}
