package bundle

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Credentials go to the registry, not along its redirects.
func TestHostileRedirectTakesNoCredentials(t *testing.T) {
	a := signed(t)
	elsewhere := &hostile{a: a}
	elsewhere.override = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Authorization") == "" && r.URL.Query().Has("challenge") {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(401)
			return true
		}
		return false
	}
	target := serve(t, elsewhere)
	for _, challenge := range []string{"", "?challenge"} {
		h := &hostile{a: a}
		h.override = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("user:secret")) {
				w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
				w.WriteHeader(401)
				return true
			}
			kind, _ := pathEnd(r)
			if kind == "blobs" {
				http.Redirect(w, r, "http://"+target+r.URL.Path+challenge, http.StatusTemporaryRedirect)
			}
			return kind == "blobs"
		}
		host := serve(t, h)
		r := anonymous()
		r.Credentials = StaticCredentials(host, Credential{User: "user", Password: "secret"})
		got, err := r.Pull(t.Context(), host+"/acme/hello:1")
		if challenge == "" {
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, a)
		} else {
			wantError(t, err, ErrAuth, "status 401")
		}
	}
	elsewhere.mu.Lock()
	defer elsewhere.mu.Unlock()
	if len(elsewhere.seen) == 0 {
		t.Error("the redirect was not followed")
	}
	for _, r := range elsewhere.seen {
		if r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" {
			t.Errorf("%s got credentials", r.URL)
		}
	}
}

func TestHostileRedirectLoop(t *testing.T) {
	h := &hostile{a: signed(t)}
	h.override = func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, r.URL.Path+"?again", http.StatusFound)
		return true
	}
	_, err := anonymous().Pull(t.Context(), serve(t, h)+"/acme/hello:1")
	wantError(t, err, ErrRegistry, "redirects more than")
	if n := h.requests.Load(); n > 10 {
		t.Errorf("%d requests", n)
	}
}

// Uploads go where they were sent.
func TestHostileUpload(t *testing.T) {
	other := &hostile{a: signed(t)}
	elsewhere := serve(t, other)
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"location": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://"+elsewhere+"/v2/upload")
			w.WriteHeader(http.StatusAccepted)
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://"+elsewhere+r.URL.Path, http.StatusTemporaryRedirect)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := &hostile{a: signed(t)}
			h.override = func(w http.ResponseWriter, r *http.Request) bool {
				switch r.Method {
				case http.MethodHead:
					w.WriteHeader(404)
				case http.MethodPost:
					answer(w, r)
				default:
					return false
				}
				return true
			}
			_, err := anonymous().Push(t.Context(), serve(t, h)+"/acme/hello:1", signed(t))
			wantError(t, err, ErrRegistry, elsewhere)
		})
	}
	if n := other.requests.Load(); n != 0 {
		t.Errorf("%d requests to another host", n)
	}
}

// A TLS registry cannot send anybody to a place without TLS, or to this machine.
func TestHostileDowngrade(t *testing.T) {
	g := newGuard("registry.example", false, nil)
	for target, text := range map[string]string{
		"http://registry.example/v2/":       "nobody can tell",
		"http://other.example/v2/":          "nobody can tell",
		"ftp://registry.example/v2/":        "nobody can tell",
		"file:///etc/hosts":                 "nobody can tell",
		"https://127.0.0.1/v2/":             "this machine",
		"https://localhost:2375/v2/":        "this machine",
		"https://[::1]/v2/":                 "this machine",
		"https://[::ffff:127.9.9.9]:80/v2/": "this machine",
	} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
		_, err := g.RoundTrip(req)
		wantError(t, err, ErrRegistry, text)
	}
	g = newGuard("registry.internal:5000", true, nil)
	for target, ok := range map[string]bool{
		"http://registry.internal:5000/v2/": true,
		"http://registry.internal:5001/v2/": true,
		"https://storage.example/x":         true,
		"http://storage.example/x":          false,
		"http://127.0.0.1/x":                false,
	} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
		if err := g.check(req.URL); (err == nil) != ok {
			t.Errorf("%s: %v", target, err)
		}
	}
}
