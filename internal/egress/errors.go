package egress

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// Sentinels, for errors.Is. Each error of [Client.Do] is an [*Error] of one of these kinds; a refused redirect matches
// ErrRedirect and what the refusal was for.
var (
	// ErrNotAllowed: no rule fits the request's host, scheme, method or path.
	ErrNotAllowed = errors.New("the plugin's permissions do not allow this request")
	// ErrAddress: the host's name resolves to an address that plugins may not reach.
	ErrAddress = errors.New("the address is refused")
	// ErrRedirect: a redirect leads where the rules do not, or there are too many.
	ErrRedirect = errors.New("the redirect is refused")
	// ErrTooLarge: the request's body, or the response, is larger than its bound.
	ErrTooLarge = errors.New("the message is too large")
	// ErrTimeout: the whole exchange took too long. The caller's deadline matches context.DeadlineExceeded too.
	ErrTimeout = errors.New("the request timed out")
	// ErrCanceled: the caller's context was cancelled. Matches context.Canceled too.
	ErrCanceled = errors.New("the request was cancelled")
	// ErrRequest: the request is malformed; nothing was sent.
	ErrRequest = errors.New("the request is malformed")
	// ErrNetwork: the server could not be reached, or did not speak HTTP.
	ErrNetwork = errors.New("the request failed")
	// ErrRule: a rule cannot be used. From [ParseRule] always a [*RuleError].
	ErrRule = errors.New("the host permission cannot be used")
)

// codes are what plugins see. They are part of the plugin contract and must not change.
var codes = []struct {
	kind error
	code string
}{
	{ErrNotAllowed, "not_allowed"},
	{ErrAddress, "address_refused"},
	{ErrRedirect, "redirect_refused"},
	{ErrTooLarge, "too_large"},
	{ErrTimeout, "timeout"},
	{ErrCanceled, "cancelled"},
	{ErrRequest, "invalid_input"},
	{ErrNetwork, "network"},
	{ErrRule, "invalid_rule"},
}

// Error is why a request was refused or failed. Its text is fit for a plugin: it names no resolved address and no
// secret. What it wraps beside Kind is for the host's own log.
type Error struct {
	// Kind is one of the sentinels.
	Kind error
	// Detail says what is wrong and how to mend it, in one bounded line.
	Detail string

	cause error
}

// Error is one line: what and why.
func (e *Error) Error() string { return plaintext.Clip(e.Kind.Error()+": "+e.Detail, maxErrorText) }

// Unwrap gives the sentinel and, where there is one, the error behind it.
func (e *Error) Unwrap() []error {
	if e.cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.cause}
}

// Code names the kind for programs: "not_allowed", "address_refused", "redirect_refused", "too_large", "timeout",
// "cancelled", "invalid_input", "network" or "invalid_rule". The codes are stable.
func (e *Error) Code() string {
	for _, c := range codes {
		if e.Kind == c.kind { // the kind itself, not what it wraps
			return c.code
		}
	}
	return "network"
}

// Problem is one mistake in a [Rule].
type Problem struct {
	// Path is the JSON pointer of the value within the rule: "/host", "/methods/0", "/paths/2".
	Path string
	// Message says what is wrong and how to mend it.
	Message string
}

// RuleError lists all mistakes of a rule. It is ErrRule.
type RuleError struct {
	// Problems has at least one entry.
	Problems []Problem
}

// Error is one bounded line with all problems.
func (e *RuleError) Error() string {
	parts := make([]string, 0, len(e.Problems))
	for _, p := range e.Problems {
		parts = append(parts, p.Path+": "+p.Message)
	}
	return plaintext.Clip(ErrRule.Error()+": "+strings.Join(parts, "; "), maxErrorText)
}

// Unwrap gives ErrRule.
func (e *RuleError) Unwrap() error { return ErrRule }

// fail makes an error of a kind. Arguments that a plugin or a server chose are to be quoted.
func fail(kind error, format string, args ...any) *Error {
	return &Error{Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// Bounds of texts.
const (
	maxErrorText = 1 << 10
	maxQuoted    = 80
)

// quote makes foreign text fit for a message.
func quote(s string) string { return fmt.Sprintf("%+q", plaintext.Clip(s, maxQuoted)) }
