package gateway

import (
	"net"
	"net/http"
	"slices"
	"strings"
)

// guard checks what holds for all paths: the Host and Origin headers, how many
// requests are open, that those without a body have none, and that a stalled client
// holds nothing up.
func (h *httpServer) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(conn http.ResponseWriter, r *http.Request) {
		w := newAnswer(&h.g.patience, conn, r)
		defer w.done()
		select {
		case h.slots <- struct{}{}:
			defer func() { <-h.slots }()
		default:
			busy(w, http.StatusServiceUnavailable, "too many requests are open")
			return
		}
		if !h.hostAllowed(r.Host) {
			http.Error(w, "this Host is not served here; see AllowedHosts", http.StatusForbidden)
			return
		}
		if bodiless(r.Method) && hasBody(r) {
			http.Error(w, "a "+r.Method+" has no body here; send it without Content-Length and Transfer-Encoding", http.StatusBadRequest)
			return
		}
		if !h.origin(w, r) {
			return
		}
		if h.o.NoAuth && !toLoopback(r) {
			http.Error(w, "without tokens only loopback is served", http.StatusForbidden)
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

func (h *httpServer) hostAllowed(host string) bool {
	name := host
	if bare, _, err := net.SplitHostPort(host); err == nil {
		name = bare
		if strings.Contains(bare, ":") {
			name = "[" + bare + "]"
		}
	}
	return slices.ContainsFunc(h.o.AllowedHosts, func(a string) bool { return strings.EqualFold(a, host) || strings.EqualFold(a, name) })
}

// origin checks the Origin header and answers a browser's preflight. It says whether
// to go on.
func (h *httpServer) origin(w http.ResponseWriter, r *http.Request) bool {
	values := r.Header.Values("Origin")
	if len(values) == 0 {
		return true
	}
	if len(values) > 1 || !slices.Contains(h.o.AllowedOrigins, values[0]) {
		http.Error(w, "this Origin is not allowed; see AllowedOrigins", http.StatusForbidden)
		return false
	}
	head := w.Header()
	head.Set("Access-Control-Allow-Origin", values[0])
	head.Add("Vary", "Origin")
	head.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate, Retry-After, ETag")
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		head.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
		head.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, If-None-Match, Last-Event-ID, Mcp-Session-Id, Mcp-Protocol-Version, Mcp-Method, Mcp-Name")
		head.Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
		return false
	}
	return true
}

// toLoopback says whether a request came to a loopback address or a local socket.
// What is not known to is not.
func toLoopback(r *http.Request) bool {
	switch addr := r.Context().Value(http.LocalAddrContextKey).(type) {
	case *net.TCPAddr:
		return addr.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	}
	return false
}
