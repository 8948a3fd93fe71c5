package gateway

import (
	"errors"
	"fmt"
)

var (
	// ErrClosed reports use of a Gateway after Close, or of a session that has ended.
	ErrClosed = errors.New("the gateway is closed")
	// ErrOptions reports options that cannot be used; its text says which and why.
	ErrOptions = errors.New("gateway options refused")
	// ErrUnauthorized is what HTTPOptions.Verify gives for a token that is not valid.
	// The client is answered with 401; other errors of Verify are answered with 503.
	ErrUnauthorized = errors.New("token refused")
	// ErrTooManySessions reports that the bound on sessions is reached.
	ErrTooManySessions = errors.New("too many sessions")
	// ErrMessage reports a JSON-RPC message that is not let through to the server: no strict JSON, a batch, a
	// member twice in different case, an id of a wrong type.
	ErrMessage = errors.New("message refused")

	// errPrincipalFull reports that a principal has all sessions that it may have.
	errPrincipalFull = fmt.Errorf("%w: this token has as many as it may", ErrTooManySessions)
	// errForged reports a requestState that this gateway did not write for this request.
	errForged = errors.New("requestState is not one for this request: call again without it")
	// errCannotAsk reports that a client did not put a question to its user.
	errCannotAsk = errors.New("the client did not ask its user")
)
