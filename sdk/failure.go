package sdk

import (
	"errors"
	"fmt"

	"github.com/cloister-wasm/cloister/guestabi"
)

// Failure is an error with a name and a code, which the calling cell sees as error.name and error.code. Tools return it,
// most easily by [Fail]; host functions return it with what the host says.
type Failure struct {
	// Name is the kind of error, an identifier such as "RangeError"; empty means "Error".
	Name string
	// Code is for programs: lower-case letters, digits and underscores; empty means "tool_failed".
	Code string
	// Message says what is wrong and how to mend it.
	Message string

	cause error
}

// Fail makes a *[Failure] with a code. The rest is as for [fmt.Errorf], %w included.
func Fail(code, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &Failure{Code: code, Message: err.Error(), cause: errors.Unwrap(err)}
}

func (f *Failure) Error() string { return f.Message }
func (f *Failure) Unwrap() error { return f.cause }

// asData turns any error into the message for the other side.
func asData(err error) *guestabi.PluginFailure {
	data := &guestabi.PluginFailure{Message: err.Error()}
	var f *Failure
	if errors.As(err, &f) {
		data.Name, data.Code = f.Name, f.Code
	}
	if data.Message == "" {
		data.Message = "the plugin failed without a message"
	}
	return data
}

// asFailure is the way back.
func asFailure(data *guestabi.PluginFailure) *Failure {
	return &Failure{Name: data.Name, Code: data.Code, Message: data.Message}
}
