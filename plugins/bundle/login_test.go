package bundle

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// guarded lets only user and secret in.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "user" || password != "secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"who are you"}]}`, http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// dockerConfig is a configuration that has something in it: in an empty one the helper of this machine would be looked
// for.
func dockerConfig(t testing.TB, o DockerOptions) (*Remote, string) {
	t.Helper()
	o.ConfigFile = filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(o.ConfigFile, []byte(`{"auths":{"other.example":{}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := DockerCredentials(&o)
	if err != nil {
		t.Fatal(err)
	}
	return &Remote{Credentials: c, retries: never{}}, o.ConfigFile
}

func TestLogin(t *testing.T) {
	ctx := t.Context()
	host := serve(t, guarded(registries[0].open(t)))
	r, file := dockerConfig(t, DockerOptions{PlaintextUnsafe: true})
	ref := host + "/acme/hello:1"
	a := signed(t, "one")

	_, err := r.Push(ctx, ref, a)
	wantError(t, err, ErrAuth, "log in")
	wantError(t, r.Login(ctx, host, "user", "wrong"), ErrAuth, "status 401")
	if b, err := os.ReadFile(file); err != nil || strings.Contains(string(b), host) {
		t.Fatalf("wrong credentials were kept: %s, %v", b, err)
	}
	if err := r.Login(ctx, host, "user", "secret"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Push(ctx, ref, a); err != nil {
		t.Fatal(err)
	}
	got, err := r.Pull(ctx, ref)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, a)
	if err := r.Logout(ctx, host); err != nil {
		t.Fatal(err)
	}
	_, err = r.Pull(ctx, ref)
	wantError(t, err, ErrAuth, "log in")
	if b, err := os.ReadFile(file); err != nil || strings.Contains(string(b), host) || !strings.Contains(string(b), "other.example") {
		t.Errorf("after the logout: %s, %v", b, err)
	}
}

func TestLoginKeepsNoPlaintext(t *testing.T) {
	host := serve(t, guarded(registries[0].open(t)))
	r, file := dockerConfig(t, DockerOptions{})
	wantError(t, r.Login(t.Context(), host, "user", "secret"), ErrAuth, "no credential helper")
	if b, err := os.ReadFile(file); err != nil || strings.Contains(string(b), host) {
		t.Errorf("%s, %v", b, err)
	}
}

func TestLoginRefuses(t *testing.T) {
	ctx := t.Context()
	r := anonymous()
	for _, registry := range []string{"", "https://ghcr.io", "ghcr.io/acme", "user@ghcr.io", "a b"} {
		wantError(t, r.Login(ctx, registry, "user", "secret"), ErrReference, "is no registry")
		wantError(t, r.Logout(ctx, registry), ErrReference, "is no registry")
	}
	wantError(t, r.Login(ctx, "ghcr.io", "", "secret"), ErrAuth, "empty")
	wantError(t, r.Login(ctx, "ghcr.io", "user", ""), ErrAuth, "empty")
	wantError(t, r.Logout(ctx, "ghcr.io"), ErrAuth, "fixed")
	host := serve(t, registries[0].open(t))
	wantError(t, r.Login(ctx, host, "user", "secret"), ErrAuth, "fixed")
}

func TestDockerConfigIsBroken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := DockerCredentials(&DockerOptions{ConfigFile: file})
	wantError(t, err, ErrAuth, "Docker's configuration")
	t.Setenv("DOCKER_CONFIG", filepath.Dir(file))
	for _, err := range []error{
		(&Remote{}).Login(t.Context(), "ghcr.io", "user", "secret"),
		(&Remote{}).Logout(t.Context(), "ghcr.io"),
	} {
		wantError(t, err, ErrAuth, "Docker's configuration")
	}
	_, err = (&Remote{}).Pull(t.Context(), "ghcr.io/acme/hello:1")
	wantError(t, err, ErrAuth, "Docker's configuration")
}

// The zero Remote uses Docker's configuration.
func TestDockerConfigIsTheDefault(t *testing.T) {
	host := serve(t, guarded(registries[0].open(t)))
	dir := t.TempDir()
	config := fmt.Sprintf(`{"auths":{%q:{"auth":"dXNlcjpzZWNyZXQ="}}}`, host)
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DOCKER_CONFIG", dir)
	var r Remote
	if _, err := r.Push(t.Context(), host+"/acme/hello:1", signed(t)); err != nil {
		t.Fatal(err)
	}
}

// tokens lets in who has a token, which it gives to user and secret.
func tokens(next http.Handler, realm func(r *http.Request) string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/token":
			if user, password, _ := r.BasicAuth(); user != "user" || password != "secret" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			fmt.Fprint(w, `{"token":"t0ken"}`)
		case r.Header.Get("Authorization") != "Bearer t0ken":
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="%s/token",service="x"`, realm(r)))
			w.WriteHeader(http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func TestTokens(t *testing.T) {
	h := tokens(registries[2].open(t), func(r *http.Request) string { return "http://" + r.Host })
	host := serve(t, h)
	r := anonymous()
	ref := host + "/acme/hello:1"
	_, err := r.Pull(t.Context(), ref)
	wantError(t, err, ErrAuth, "401")
	r.Credentials = StaticCredentials(host, Credential{User: "user", Password: "secret"})
	if _, err := r.Push(t.Context(), ref, signed(t, "one")); err != nil {
		t.Fatal(err)
	}
	got, err := r.Pull(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, signed(t, "one"))
}

// A registry behind TLS that names a token service without it gets no password sent there.
func TestTokensWithoutTLS(t *testing.T) {
	asked := false
	elsewhere := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	s := httptest.NewTLSServer(tokens(registries[0].open(t), func(*http.Request) string { return "http://" + elsewhere }))
	defer s.Close()
	host := strings.TrimPrefix(s.URL, "https://")
	r := trusting(s)
	r.Credentials = StaticCredentials(host, Credential{User: "user", Password: "secret"})
	_, err := r.Pull(t.Context(), host+"/acme/hello:1")
	wantError(t, err, ErrRegistry, "http")
	if asked {
		t.Error("the token service was asked")
	}
}

func trusting(s *httptest.Server) *Remote {
	r := anonymous()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	r.TLS = &tls.Config{RootCAs: roots}
	return r
}

func TestTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(registries[0].open(t))
	s.Config.ErrorLog = discard
	s.StartTLS()
	defer s.Close()
	host := strings.TrimPrefix(s.URL, "https://")
	if _, err := trusting(s).Push(t.Context(), host+"/acme/hello:1", signed(t, "one")); err != nil {
		t.Fatal(err)
	}
	unknown := anonymous()
	unknown.TLS = &tls.Config{RootCAs: x509.NewCertPool()}
	_, err := unknown.Pull(t.Context(), host+"/acme/hello:1")
	wantError(t, err, ErrRegistry, "certificate")

	// TLS is not left for a redirect.
	d := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+r.Host+r.URL.Path, http.StatusFound)
	}))
	defer d.Close()
	_, err = trusting(d).Pull(t.Context(), strings.TrimPrefix(d.URL, "https://")+"/acme/hello:1")
	wantError(t, err, ErrRegistry, "nobody can tell")

	// A registry without TLS that is asked with it: the text says what to do.
	plain := anonymous()
	plain.TLS = &tls.Config{}
	_, err = plain.Pull(t.Context(), serve(t, registries[0].open(t))+"/acme/hello:1")
	wantError(t, err, ErrRegistry, "PlainHTTP")
}
