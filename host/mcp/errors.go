package mcp

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cloister-wasm/cloister/host"
)

// ConfigError lists every fault of a configuration. It unwraps to host.ErrConfig.
type ConfigError = host.ConfigError

var (
	// ErrClosed reports use of a Manager, or of a server that the configuration no longer has.
	ErrClosed = errors.New("the connection to the MCP server was closed")
	// ErrUnknownServer reports a name that the configuration does not have.
	ErrUnknownServer = errors.New("no MCP server of that name is configured")
	// ErrUnavailable reports a server that cannot be started, reached or listed now.
	ErrUnavailable = errors.New("the MCP server is not available")
	// ErrStartTimeout reports a server that gave no answer within Limits.ConnectTimeout. It comes with ErrUnavailable.
	ErrStartTimeout = errors.New("the MCP server took too long to start")
	// ErrProtocol reports a server that broke the protocol: bytes that are no strict
	// JSON-RPC, an answer to nothing, a list without an end. Its connection is closed.
	ErrProtocol = errors.New("the MCP server broke the protocol")
	// ErrFlood reports a server that went on saying more than it was asked for after it was slowed
	// down, see Limits.MaxUnaskedPerSecond. Its connection is closed.
	ErrFlood = errors.New("the MCP server said too much that it was not asked for")
	// ErrSecret reports a secret that could not be had. Its text never holds the secret.
	ErrSecret = errors.New("secret not available")
	// ErrAuthorization reports an HTTP server that wants other credentials, or a person's consent.
	ErrAuthorization = errors.New("the MCP server refuses the credentials")
	// ErrSelf reports a server that is the program which would start it. It is not started.
	ErrSelf = errors.New("the MCP server is this program itself, which would start itself again and again")
	// ErrDepth reports a program that was started as a server by one that was started as a
	// server, and so on: see MaxDepth.
	ErrDepth = errors.New("MCP servers that start MCP servers are nested too deep")
	// ErrDenied reports an authorization server that did not agree, in a [Callback].
	ErrDenied = errors.New("the authorization server did not agree")
	// ErrCallback reports that a [Callback] cannot wait for the browser: its address is not one of this machine, or taken.
	ErrCallback = errors.New("the browser has no way back")
	// ErrRedirect reports an HTTP redirect that is not followed.
	ErrRedirect = errors.New("redirect refused")
)

// because says what ErrUnavailable is about, and the cause behind it, which may be nil.
func because(text string, cause error) error { return &unavailable{text: text, cause: cause} }

type unavailable struct {
	text  string
	cause error
	// kind is a sentinel that says more, or nil. It adds no text.
	kind error
}

// Error does not say twice that the server is not available.
func (e *unavailable) Error() string {
	text := ErrUnavailable.Error() + ": " + e.text
	if e.cause != nil {
		text += ": " + strings.TrimPrefix(e.cause.Error(), ErrUnavailable.Error()+": ")
	}
	return text
}

func (e *unavailable) Unwrap() []error {
	list := []error{ErrUnavailable}
	for _, err := range []error{e.kind, e.cause} {
		if err != nil {
			list = append(list, err)
		}
	}
	return list
}

// protocolError is a violation by a server.
func protocolError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrProtocol, fmt.Sprintf(format, args...))
}

// callError is a failed call: what a guest reads, and what happened.
type callError struct {
	tool  *host.ToolError
	cause error
}

// Error gives the text for the host's own log.
func (e *callError) Error() string {
	if e.cause == nil {
		return e.tool.Error()
	}
	return e.tool.Error() + ": " + e.cause.Error()
}

// Unwrap makes the *host.ToolError and the cause reachable.
func (e *callError) Unwrap() []error {
	if e.cause == nil {
		return []error{e.tool}
	}
	return []error{e.tool, e.cause}
}

func failed(code host.ToolErrorCode, cause error, format string, args ...any) error {
	return &callError{tool: &host.ToolError{Message: fmt.Sprintf(format, args...), Code: code}, cause: cause}
}

// Codes of the *host.ToolError of a failed call.
const (
	// CodeChanged: the tool is no longer what the caller saw of it.
	CodeChanged = "mcp_tool_changed"
	// CodeUnavailable: the server cannot be reached; the call was not sent.
	CodeUnavailable = "mcp_unavailable"
	// CodeLost: the connection ended before the answer; whether the tool ran is not known.
	CodeLost = "mcp_connection_lost"
	// CodeTimeout: no answer within Limits.CallTimeout.
	CodeTimeout = "mcp_timeout"
	// CodeRefused: the server answered with a JSON-RPC error.
	CodeRefused = "mcp_error"
	// CodeInput: the server asked for input of a person or a model, which is off.
	CodeInput = "mcp_input_required"
	// CodeBadResult: the answer is not what the protocol says.
	CodeBadResult = "mcp_bad_result"
	// CodeAuthorization: the server refuses the credentials.
	CodeAuthorization = "mcp_unauthorized"
	// CodeBusy: the server says that there are too many requests.
	CodeBusy = "mcp_busy"
)
