package mcp

import (
	"errors"
	"fmt"
	"net"
	"net/http"
)

// neverSent says that no connection was made.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// httpError is an HTTP status that is no success.
type httpError struct {
	status int
	retry  string
	kind   error
}

func statusError(status int, retry string) error {
	e := &httpError{status: status, retry: retry, kind: ErrUnavailable}
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		e.kind = ErrAuthorization
	}
	return e
}

func (e *httpError) when() string {
	if e.retry == "" {
		return ""
	}
	return "; try again after " + e.retry + " s"
}

// Error says what to do about it.
func (e *httpError) Error() string {
	text := fmt.Sprintf("%v: HTTP status %d %s", e.kind, e.status, http.StatusText(e.status))
	switch e.status {
	case http.StatusUnauthorized:
		text += "; set headers.Authorization or oauth for it"
	case http.StatusForbidden:
		text += "; the credentials do not allow this"
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		text += "; is the url that of a streamable HTTP endpoint?"
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		text += e.when()
	}
	return text
}

func (e *httpError) Unwrap() error { return e.kind }
