package mcp

import (
	"context"
	"log/slog"
	"time"

	"github.com/cloister-wasm/cloister/host"
)

// Server is the configuration of one MCP server: either Command, for one that is
// started and spoken to over its standard input and output, or URL, for one that
// is reached by streamable HTTP.
type Server struct {
	// Name is the owner of the server's tools: a letter, digit or "_", then up to 63
	// of these and "." and "-". "core" is taken.
	Name string

	// Command is the program, Args its arguments, Dir where it starts (the host's own
	// working folder if empty).
	Command string
	Args    []string
	Dir     string
	// Env is added to the environment. InheritEnv names variables of the host that the
	// server gets beside the few that it always gets; see the package documentation.
	Env        map[string]Value
	InheritEnv []string

	// URL is the MCP endpoint. http:// is for this machine, and for what AllowPrivate opens.
	URL string
	// Headers are sent to the origin of URL and to no other.
	Headers map[string]Value
	// OAuth, if set, gets tokens from the server's authorization server.
	OAuth *OAuth
	// AllowPrivate says that the server is in a private network: URL may be http://, and
	// the addresses of its authorization server may be private.
	AllowPrivate bool

	// Approval says when calls need approval. Empty: ask for tools whose annotations say
	// that they are destructive, never for others.
	Approval host.Approval
	// Allow and Deny are patterns over tool names, with * and ?. A tool that Deny names is
	// left out, and so is every tool that Allow does not name: nil allows all, an empty list none.
	Allow, Deny []string
	// Idempotent are patterns over names of tools that may be sent again when the
	// connection was lost before their answer. The server's own annotations do not count.
	Idempotent []string
	// Disabled keeps the server in the configuration and out of use.
	Disabled bool
	// Limits bound what the server can do.
	Limits Limits
}

// Limits bound one server. Zero values are the defaults.
type Limits struct {
	// ConnectTimeout bounds start, handshake and listing. 30 seconds.
	ConnectTimeout time.Duration
	// CallTimeout bounds one call, the wait for its turn included. 10 minutes.
	CallTimeout time.Duration
	// MaxTools bounds the tools of the list. 1000.
	MaxTools int
	// MaxConcurrent bounds calls at the same time; others wait. 16.
	MaxConcurrent int
	// MaxMessageBytes bounds one message of the server. 16 MiB.
	MaxMessageBytes int
	// MaxPages bounds the pages of one list. 100.
	MaxPages int
	// MaxUnaskedPerSecond bounds what the server says without being asked: notifications,
	// requests of its own, lines of standard error. 1000 messages a second, each of which counts
	// as one more for 4 KiB, after 20 seconds' worth that may come at once. Over it the server is
	// read no faster than that, and after 10 seconds the connection is ended (ErrFlood).
	MaxUnaskedPerSecond int
}

func (l Limits) withDefaults() Limits {
	fill(&l.ConnectTimeout, 30*time.Second)
	fill(&l.CallTimeout, 10*time.Minute)
	fill(&l.MaxTools, 1000)
	fill(&l.MaxConcurrent, 16)
	fill(&l.MaxMessageBytes, 16<<20)
	fill(&l.MaxPages, 100)
	fill(&l.MaxUnaskedPerSecond, 1000)
	return l
}

func fill[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// OAuth is how tokens are had for an HTTP server.
type OAuth struct {
	// Grant is "authorization_code" (the default: a person consents in a browser, see
	// Options.Authorize) or "client_credentials" (ClientID and ClientSecret only).
	Grant string
	// ClientID and ClientSecret are of a client that is registered already. Without
	// ClientID the client registers itself (RFC 7591), if the authorization server lets it.
	ClientID     string
	ClientSecret Value
	// ClientMetadataURL is the address of a client ID metadata document, in place of ClientID.
	ClientMetadataURL string
	// Scopes are asked for in place of those that the server names.
	Scopes []string
	// Redirect is where the browser comes back to; "http://127.0.0.1/callback" if empty.
	Redirect string
}

// Authorization is what came back to OAuth.Redirect: the query parameters code,
// state and iss.
type Authorization struct{ Code, State, Issuer string }

// Options are what a Manager works with. Nil and zero values are allowed.
type Options struct {
	// Cache is a folder for tool lists and for which servers failed lately, which is made with mode 0700 if it is not there.
	// Empty: none, and Load starts every server.
	Cache string
	// OnChange is called, debounced, after tools or states changed; never twice at the
	// same time, and not after Close returned. It may use the Manager, but for Close,
	// which waits for it.
	OnChange func(*Manager)
	// Logger gets what the operator may want to know. Nil discards it.
	Logger *slog.Logger
	// Stderr gets the lines that stdio servers write to standard error, cleaned of control
	// characters and cut to 2000 bytes, and lines of standard output that are no messages.
	// It is called by one goroutine per server.
	Stderr func(server, line string)
	// Authorize asks a person to open url and gives what came back. Nil: servers that need
	// it fail with ErrAuthorization. [ListenCallback] waits for a browser on this machine.
	Authorize func(ctx context.Context, server, url string) (*Authorization, error)
	// Tokens keeps OAuth tokens between runs. Nil: they are kept in memory.
	Tokens TokenStore
	// Name and Version are what servers are told of the client; "cloister" and "0" if empty.
	Name, Version string
}

// TokenStore keeps a server's OAuth token, which is a secret. It must be safe for
// concurrent use.
type TokenStore interface {
	// Load gives what was saved under the key last, nil if nothing was.
	Load(key string) ([]byte, error)
	// Save keeps data; nil removes what is there.
	Save(key string, data []byte) error
}

// State is what a server's connection is doing.
type State string

// States.
const (
	StateIdle       State = "idle"       // not started; it starts with the first call
	StateConnecting State = "connecting" // starting, shaking hands, listing
	StateReady      State = "ready"
	StateFailed     State = "failed" // see Status.Err; tried again with a growing pause
	StateDisabled   State = "disabled"
)

// Status is what is known of one server now.
type Status struct {
	Name  string
	State State
	// Since is when State began.
	Since time.Time
	// Tools is the number of tools offered, Cached says that they are from the cache,
	// Skipped are those left out and why.
	Tools   int
	Cached  bool
	Skipped []Skipped
	// Protocol, ServerName and ServerVersion are as the server said, cleaned and cut.
	Protocol, ServerName, ServerVersion string
	// Restarts counts connections after the first.
	Restarts int
	// Err is the last failure, nil after a success. It holds no secret.
	Err error
}

// Skipped is a tool that the server lists and the host does not offer.
type Skipped struct{ Tool, Reason string }

// Report is the result of Manager.Test.
type Report struct {
	Status
	// List is all tools that would be offered.
	List []host.MCPTool
	// Resources, Templates and Prompts count what the server lists.
	Resources, Templates, Prompts int
	// HasResources and HasPrompts say that the server says that it has such, whether it lists any now or not.
	HasResources, HasPrompts bool
	// Notes say what the server has and could not list, and what in its tools cannot be used as it stands.
	Notes []string
	// Instructions is the server's text for a model, cleaned and cut.
	Instructions string
	// Connected is the time until the handshake was over.
	Connected time.Duration
}
