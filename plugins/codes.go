package plugins

import (
	"context"
	"errors"

	"github.com/cloister-wasm/cloister/guestabi"
)

// Codes of the errors that host functions answer with. call_tool and interrupt pass on the code of a [*ToolError]; http has
// besides these "not_allowed", "address_refused", "redirect_refused", "cancelled" and "network".
const (
	CodeNotGranted     = "not_granted"     // the manifest's permissions do not have it
	CodeInvalidInput   = "invalid_input"   // the request is malformed or breaks a rule
	CodeUnsupportedABI = "unsupported_abi" // the request is of another version
	CodeUnavailable    = "unavailable"     // this host, or this run, does not have it; or it failed there
	CodeTooLarge       = "too_large"       // a bound would be broken
	CodeStoreFull      = "store_full"      // the key-value store has no room
	CodeTimeout        = "timeout"         // it took longer than it may
	CodeAborted        = "aborted"         // the call ended meanwhile
	CodeFailed         = "failed"          // it was tried and did not work
)

// failure makes an answer. Messages say how to mend it and never hold a path, an address inside of the host's network or a
// secret.
func failure(code, message string) *guestabi.PluginFailure {
	return &guestabi.PluginFailure{Name: names[code], Code: code, Message: message}
}

// names are what a guest language would throw; missing ones are "Error".
var names = map[string]string{
	CodeInvalidInput: "TypeError", CodeTooLarge: "RangeError", CodeStoreFull: "RangeError",
	CodeNotGranted: "PermissionError", CodeTimeout: "TimeoutError",
}

// ended says how a context ended, or nil while it has not.
func ended(ctx context.Context) *guestabi.PluginFailure {
	switch {
	case ctx.Err() == nil:
		return nil
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return failure(CodeTimeout, "the call's time is up")
	default:
		return failure(CodeAborted, "the call was ended")
	}
}
