package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cloister-wasm/cloister/internal/egress"
	"github.com/cloister-wasm/cloister/internal/safefile"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// authServer is an authorization server with one user, who always consents.
type authServer struct {
	url       string
	tokens    atomic.Int32 // given so far
	registers atomic.Int32
	grants    atomic.Value // string: the last grant_type
}

func (a *authServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/oauth-authorization-server":
		fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":"%s/authorize","token_endpoint":"%s/token","registration_endpoint":"%s/register",
			"code_challenge_methods_supported":["S256"],"response_types_supported":["code"],"grant_types_supported":["authorization_code","refresh_token","client_credentials"],
			"token_endpoint_auth_methods_supported":["none","client_secret_post"]}`, a.url, a.url, a.url, a.url)
	case "/register":
		a.registers.Add(1)
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"client_id":"dynamic","redirect_uris":["http://127.0.0.1/callback"],"token_endpoint_auth_method":"none"}`) // the test sees
	case "/token":
		if err := r.ParseForm(); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		grant := r.Form.Get("grant_type")
		a.grants.Store(grant)
		if grant == "authorization_code" && (r.Form.Get("code") != "the-code" || r.Form.Get("code_verifier") == "") {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, `{"access_token":"access-%d","token_type":"Bearer","expires_in":3600,"refresh_token":"refresh-1"}`, a.tokens.Add(1))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// protected is an MCP server that wants a token of an authorization server.
func protected(t *testing.T, as string) *httptest.Server {
	server := goodServer(nil)
	inner := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	var s *httptest.Server
	s = serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected-resource"):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"resource":"%s/mcp","authorization_servers":[%q]}`, s.URL, as)
		case r.URL.Path == "/mcp" && strings.HasPrefix(r.Header.Get("Authorization"), "Bearer access-"):
			inner.ServeHTTP(w, r)
		case r.URL.Path == "/mcp":
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+s.URL+`/.well-known/oauth-protected-resource/mcp"`)
			w.WriteHeader(http.StatusUnauthorized)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	return s
}

func startAuth(t *testing.T) *authServer {
	as := &authServer{}
	as.url = serveHTTP(t, as).URL
	return as
}

func TestOAuth(t *testing.T) {
	t.Parallel()
	as := startAuth(t)
	cfg := remote(protected(t, as.url).URL + "/mcp")
	cfg.OAuth = &OAuth{Scopes: []string{"tools"}}
	store := FileTokens{Dir: filepath.Join(t.TempDir(), "tokens")}
	var asked atomic.Int32
	consent := func(_ context.Context, server, address string) (*Authorization, error) {
		asked.Add(1)
		u, err := url.Parse(address)
		if err != nil {
			return nil, err
		}
		q := u.Query()
		if server != "web" || q.Get("scope") != "tools" || q.Get("code_challenge_method") != "S256" || q.Get("client_id") != "dynamic" {
			t.Errorf("asked for %q %s", server, address)
		}
		return &Authorization{Code: "the-code", State: q.Get("state")}, nil
	}

	// Nobody to ask: an error that says so, and no person is needed for that.
	m := open(t, &Options{Tokens: store}, cfg)
	if err := load(t, m)["web"].Err; !errors.Is(err, ErrAuthorization) || !strings.Contains(err.Error(), "consent") {
		t.Errorf("without a person: %v", err)
	}

	m = open(t, &Options{Tokens: store, Authorize: consent}, cfg)
	s := one(t, m)
	if _, err := s.Client.CallTool(testCtx(t), tool(t, s, "add"), json.RawMessage(`{"a":1,"b":1}`), nil); err != nil {
		t.Error(err)
	}
	if asked.Load() != 1 {
		t.Errorf("asked %d times", asked.Load())
	}

	// The next program finds the token, in a file that nobody else can read.
	m = open(t, &Options{Tokens: store}, cfg)
	one(t, m)
	list := files(t, store.Dir)
	if len(list) != 1 {
		t.Fatalf("files %q", list)
	}
	if info, err := os.Stat(list[0]); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	// A token is of one address.
	data, err := store.Load("web\nhttps://other.example/mcp")
	if err != nil || data != nil {
		t.Errorf("another address: %s, %v", data, err)
	}
}

func TestClientCredentials(t *testing.T) {
	t.Parallel()
	as := startAuth(t)
	cfg := remote(protected(t, as.url).URL + "/mcp")
	cfg.OAuth = &OAuth{Grant: "client_credentials", ClientID: "robot", ClientSecret: Value{Text: "s3cret"}}
	m := open(t, nil, cfg)
	one(t, m)
	if g := as.grants.Load(); g != "client_credentials" {
		t.Errorf("grant %v", g)
	}
}

// A person who does not consent, and one whose answer is of another flow.
func TestConsentRefused(t *testing.T) {
	t.Parallel()
	as := startAuth(t)
	cfg := remote(protected(t, as.url).URL + "/mcp")
	cfg.OAuth = &OAuth{}
	for name, f := range map[string]func(context.Context, string, string) (*Authorization, error){
		"no": func(context.Context, string, string) (*Authorization, error) { return nil, errors.New("no") },
		"other state": func(context.Context, string, string) (*Authorization, error) {
			return &Authorization{Code: "the-code", State: "x"}, nil
		},
	} {
		m := open(t, &Options{Authorize: f}, cfg)
		if err := load(t, m)["web"].Err; !errors.Is(err, ErrAuthorization) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if as.tokens.Load() != 0 {
		t.Error("a token was given")
	}
}

// What a public server says about its authorization does not lead into private addresses.
func TestMetadataStaysPublic(t *testing.T) {
	t.Parallel()
	var reached atomic.Bool
	inside := serveHTTP(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	m := open(t, nil, Server{Name: "web", URL: "https://203.0.113.7/mcp", OAuth: &OAuth{}})
	s := &session{u: m.all()[0], secrets: &secrets{}}
	w, err := newWeb(testCtx(t), s)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	client := &http.Client{Transport: &authTransport{w: w, out: authEgress(w)}, CheckRedirect: w.authRedirect}
	for _, address := range []string{
		inside.URL + "/.well-known/oauth-authorization-server", strings.Replace(inside.URL, "127.0.0.1", "localhost", 1),
		"https://169.254.169.254/latest/meta-data", "https://10.0.0.1/", "https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://0x7f.1/", "http://example.com/",
	} {
		req, err := http.NewRequestWithContext(testCtx(t), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err == nil {
			resp.Body.Close()
			t.Errorf("%s was reached", address)
			continue
		}
		var e *egress.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if reached.Load() {
		t.Error("the server inside was reached")
	}
}

// A token that others could have read or planted is not used.
func TestTokensOfOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes of files")
	}
	store := FileTokens{Dir: filepath.Join(t.TempDir(), "tokens")}
	if err := store.Save("key", []byte("secret")); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(store.Dir, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	for mode, want := range map[os.FileMode]error{0o600: nil, 0o644: safefile.ErrReadable, 0o622: safefile.ErrWritable} {
		if err := os.Chmod(files[0], mode); err != nil {
			t.Fatal(err)
		}
		data, err := store.Load("key")
		if !errors.Is(err, want) || (want == nil) != (string(data) == "secret") {
			t.Errorf("%04o: %q, %v", mode, data, err)
		}
	}
}
