package gateway

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// HTTPOptions configures Handler.
type HTTPOptions struct {
	// Tokens are the bearer tokens of clients by the name of the principal. A token has
	// at least MinTokenBytes bytes.
	Tokens map[string]string
	// Verify checks tokens in another way, in place of Tokens, and gives the principal.
	// ErrUnauthorized refuses; any other error refuses as well, with 503.
	Verify func(ctx context.Context, token string) (principal string, err error)
	// NoAuth asks clients for no token. Requests that did not come to a loopback
	// address are refused then, whatever the listener is.
	NoAuth bool
	// ApprovalTokens are the bearer tokens for /approvals and /status, by the name of who decides.
	// None may be among Tokens: a client must not approve what its own model asks for.
	// Without any these endpoints do not exist.
	ApprovalTokens map[string]string
	// AllowedOrigins are the origins, such as "https://app.example", from which browsers
	// may call. Requests without Origin header are no matter of this.
	AllowedOrigins []string
	// AllowedHosts are the values of the Host header that are taken, with or without a
	// port. Nil means the names of loopback: localhost, 127.0.0.1 and [::1].
	AllowedHosts []string
}

// MinTokenBytes is the least length of a token.
const MinTokenBytes = 16

// httpServer is the handler of a Gateway.
type httpServer struct {
	g         *Gateway
	o         HTTPOptions
	clients   []tokenHash
	approvers []tokenHash
	slots     chan struct{} // one for each request
	requests  *places       // of those that are authenticated, at /mcp
	mcp       *mcpEndpoint
}

// maxHTTPRequests bounds requests of all clients that are open at once, event
// streams included.
const maxHTTPRequests = 4096

// Handler gives the HTTP side: /mcp (streamable HTTP), /healthz, /approvals, and /status. The
// server that it is put into must have a ReadHeaderTimeout and no WriteTimeout:
// answers are streams, whose writes the handler bounds itself.
func (g *Gateway) Handler(o HTTPOptions) (http.Handler, error) {
	h := &httpServer{g: g, o: o, slots: make(chan struct{}, g.httpRequests)}
	if err := h.check(); err != nil {
		return nil, err
	}
	h.requests = newPlaces(g.httpRequests, g.httpRequests)
	if h.many() {
		h.requests.share(g.httpRequests / 2)
		g.shareOut()
	}
	h.mcp = newMCPEndpoint(h)
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", h.mcp.serve)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		// A client that is gone does not hear that all is well.
		_, _ = w.Write([]byte("ok\n"))
	})
	if len(h.approvers) > 0 {
		mux.HandleFunc("GET /approvals", h.listApprovals)
		mux.HandleFunc("POST /approvals/{id}", h.decideApproval)
		mux.HandleFunc("GET /status", h.showStatus)
	}
	return h.guard(mux), nil
}

// check checks the options.
func (h *httpServer) check() error {
	o := &h.o
	ways := 0
	for _, has := range []bool{len(o.Tokens) > 0, o.Verify != nil, o.NoAuth} {
		if has {
			ways++
		}
	}
	if ways != 1 {
		return fmt.Errorf("%w: give exactly one of Tokens, Verify and NoAuth", ErrOptions)
	}
	if len(o.ApprovalTokens) > 0 && h.g.o.Approvals == nil {
		return fmt.Errorf("%w: ApprovalTokens need Options.Approvals", ErrOptions)
	}
	var err error
	if h.clients, err = hashTokens("Tokens", o.Tokens); err != nil {
		return err
	}
	if h.approvers, err = hashTokens("ApprovalTokens", o.ApprovalTokens); err != nil {
		return err
	}
	for _, a := range h.approvers {
		if slices.ContainsFunc(h.clients, func(c tokenHash) bool { return c.sum == a.sum }) {
			return fmt.Errorf("%w: the approval token %q is a client's token as well; a client must not approve its own calls", ErrOptions, a.name)
		}
	}
	for _, origin := range o.AllowedOrigins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme == "" || u.Host == "" || origin != u.Scheme+"://"+u.Host {
			return fmt.Errorf("%w: %q is no origin, such as https://app.example", ErrOptions, origin)
		}
	}
	if o.AllowedHosts == nil {
		o.AllowedHosts = []string{"localhost", "127.0.0.1", "[::1]"}
	}
	return nil
}

// tokenHash is a token with its name. Hashes are compared, so that a comparison says
// nothing about length or content.
type tokenHash struct {
	name string
	sum  [sha256.Size]byte
}

func hashTokens(what string, tokens map[string]string) ([]tokenHash, error) {
	var list []tokenHash
	for name, token := range tokens {
		if len(token) < MinTokenBytes || strings.TrimSpace(token) != token {
			return nil, fmt.Errorf("%w: the token %q in %s is shorter than %d bytes, or has white space around it", ErrOptions, name, what, MinTokenBytes)
		}
		h := tokenHash{name, sha256.Sum256([]byte(token))}
		for _, other := range list {
			if other.sum == h.sum {
				return nil, fmt.Errorf("%w: %q and %q in %s are the same token", ErrOptions, other.name, name, what)
			}
		}
		list = append(list, h)
	}
	return list, nil
}

// match finds a token's name. It takes the same time for all tokens.
func match(list []tokenHash, token string) (name string, ok bool) {
	sum := sha256.Sum256([]byte(token))
	found := -1
	for i := range list {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], list[i].sum[:]), i, found)
	}
	if found < 0 {
		return "", false
	}
	return list[found].name, true
}

// bearer gives the token of a request, "" if there is none.
func bearer(r *http.Request) string {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return ""
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// authenticate gives the principal of a client, or answers the request.
func (h *httpServer) authenticate(w http.ResponseWriter, r *http.Request) (principal string, ok bool) {
	if principal, ok = h.principal(w, r); ok {
		admit(w)
	}
	return principal, ok
}

// principal is authenticate without what follows from it.
func (h *httpServer) principal(w http.ResponseWriter, r *http.Request) (principal string, ok bool) {
	if h.o.NoAuth {
		return "", true
	}
	token := bearer(r)
	if token == "" {
		unauthorized(w, false)
		return "", false
	}
	if h.o.Verify == nil {
		if principal, ok = match(h.clients, token); !ok {
			unauthorized(w, true)
		}
		return principal, ok
	}
	principal, err := h.o.Verify(r.Context(), token)
	switch {
	case err == nil && principal != "":
		return principal, true
	case err == nil || errors.Is(err, ErrUnauthorized):
		unauthorized(w, true)
	default:
		h.g.log.Error("verifying a token", "error", err)
		busy(w, http.StatusServiceUnavailable, "the token could not be verified")
	}
	return "", false
}

func unauthorized(w http.ResponseWriter, wrong bool) {
	challenge := `Bearer realm="cloister"`
	if wrong {
		challenge += `, error="invalid_token"`
	}
	w.Header().Set("WWW-Authenticate", challenge)
	http.Error(w, "give a valid bearer token", http.StatusUnauthorized)
}

// busy answers that there is no room now.
func busy(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Retry-After", "5")
	http.Error(w, text, status)
}
