package bundle

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// registryError says what failed and with which of our sentinels. The texts of a registry are bounded and put on one
// line by fail.
func registryError(registryName, what string, err error) error {
	var ours *Error
	if errors.As(err, &ours) {
		return ours
	}
	var resp *errcode.ErrorResponse
	var dial *url.Error
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fail(ErrRegistry, "%s at %s was stopped: %v", what, registryName, err)
	case errors.Is(err, errdef.ErrSizeExceedsLimit), errors.Is(err, errdef.ErrTooManyPages):
		return fail(ErrBounds, "%s at %s: %s", what, registryName, redact(err)).with(err)
	case errors.Is(err, errdef.ErrNotFound):
		return fail(ErrNotFound, "%s at %s: %s", what, registryName, redact(err)).with(err)
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return fail(ErrAuth, "%s at %s: it wants a user and a password; log in first: %v", what, registryName, err)
	case errors.As(err, &resp):
		return responseError(registryName, what, resp)
	case errors.As(err, &dial):
		return dialError(registryName, what, dial.Err)
	default:
		return fail(ErrRegistry, "%s at %s: %s", what, registryName, redact(err)).with(err)
	}
}

var query = regexp.MustCompile(`\?[^\s"']+`)

// redact takes the queries off the addresses in a text: where storage is elsewhere they are its passwords.
func redact(err error) string {
	return query.ReplaceAllString(plaintext.Line(err.Error(), maxDetail), "?…")
}

func responseError(registryName, what string, resp *errcode.ErrorResponse) error {
	text := http.StatusText(resp.StatusCode)
	if len(resp.Errors) > 0 {
		text = resp.Errors.Error()
	}
	text = plaintext.Line(text, maxDetail/2)
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fail(ErrAuth, "%s at %s: status %d, %s; log in to %s with a user who may do this", what, registryName,
			resp.StatusCode, text, registryName).with(resp)
	case http.StatusNotFound:
		return fail(ErrNotFound, "%s at %s: %s; check the name, and log in if it is private", what, registryName, text).with(resp)
	default:
		return fail(ErrRegistry, "%s at %s: status %d, %s", what, registryName, resp.StatusCode, text).with(resp)
	}
}

func dialError(registryName, what string, err error) error {
	hint := ""
	if strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
		hint = "; it speaks HTTP without TLS, which has to be allowed (PlainHTTP)"
	}
	return fail(ErrRegistry, "%s at %s: %v%s", what, registryName, err, hint)
}

// with puts an error below that is not part of the text.
func (e *Error) with(cause error) *Error {
	e.cause = cause
	return e
}
