package plugins

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/guestabi"
)

const testSecret = "s3cr3t-token-value"

// server answers what a test asks for, on loopback.
func server(t *testing.T) (host string, hits *[]string) {
	t.Helper()
	var seen []string
	mux := http.NewServeMux()
	mux.HandleFunc("/repos/", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		seen = append(seen, fmt.Sprint(r.Method, " ", r.URL.Path, " ", r.Header.Get("Authorization"), " ", r.Header.Get("X-Plain"), " ", string(body)))
		fmt.Fprint(w, "<ok & fine>")
	})
	mux.HandleFunc("/repos/echo", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Seen", r.Header.Get("Authorization"))
		fmt.Fprintf(w, "you sent %q, in base64 %s", r.Header.Get("Authorization"), base64.StdEncoding.EncodeToString([]byte(testSecret)))
	})
	mux.HandleFunc("/repos/binary", func(w http.ResponseWriter, _ *http.Request) {
		if _, err := w.Write([]byte{0xff, 0, 1}); err != nil {
			t.Error(err)
		}
	})
	mux.HandleFunc("/repos/out", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/private", http.StatusFound) })
	mux.HandleFunc("/repos/large", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 5000)) })
	mux.HandleFunc("/private", func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed out of the permissions") })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://"), &seen
}

func httpPlugin(t *testing.T, host string, change func(*LoadOptions)) *Instance {
	t.Helper()
	o := devOptions()
	o.Services.HTTP = &HTTPOptions{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, MaxResponseBytes: 4000}
	o.Services.Secrets = func(_ context.Context, plugin, name string) (string, error) {
		if plugin != "tests.forward" {
			t.Errorf("a secret for %s was asked for", plugin)
		}
		switch name {
		case "token":
			return testSecret, nil
		case "short":
			return "abc", nil
		case "basic":
			return base64.StdEncoding.EncodeToString([]byte("somebody:abc")), nil
		}
		return "", errors.New("vault at 10.0.0.7 says: no such secret")
	}
	if change != nil {
		change(o)
	}
	perms := map[string]any{
		"hosts":   []any{map[string]any{"host": host, "methods": []any{"GET", "POST"}, "paths": []any{"/repos"}, "insecure": true}},
		"secrets": []any{"token", "short", "basic", "missing"},
	}
	return instanceOf(t, forwards(t, o, perms, guestabi.HostHTTP), nil)
}

func TestHTTP(t *testing.T) {
	host, hits := server(t)
	i := httpPlugin(t, host, nil)
	request := func(path, more string) string { return `{"abi":1,"url":"http://` + host + path + `"` + more + `}` }
	auth := func(name string) string {
		return `,"secretHeaders":{"authorization":{"secret":"` + name + `","prefix":"Bearer "}}`
	}

	got := ask(t, i, guestabi.HostHTTP, request("/repos/a", `,"method":"POST","body":"hi","headers":{"X-Plain":"p"}`+auth("token")))
	var res guestabi.HTTPResponse
	if err := json.Unmarshal([]byte(got), &res); err != nil || res.Status != 200 || res.Body != "<ok & fine>" || res.URL != "http://"+host+"/repos/a" {
		t.Errorf("http = %s", got)
	}
	if strings.Contains(got, `\u003c`) {
		t.Errorf("the body is escaped for HTML: %s", got)
	}
	if want := "POST /repos/a Bearer " + testSecret + " p hi"; len(*hits) != 1 || (*hits)[0] != want {
		t.Errorf("the server saw %q, want %q", *hits, want)
	}
	got = ask(t, i, guestabi.HostHTTP, request("/repos/b", `,"method":"POST","bodyBase64":true,"body":"AAE="`))
	if !strings.HasPrefix(got, `{"status":200`) || !strings.HasSuffix((*hits)[1], " \x00\x01") {
		t.Errorf("a body in base64: %s, the server saw %q", got, (*hits)[1])
	}
	got = ask(t, i, guestabi.HostHTTP, request("/repos/binary", ""))
	if !strings.Contains(got, `"body":"/wAB","bodyBase64":true`) {
		t.Errorf("a body of bytes: %s", got)
	}

	// What a server sends back does not hand the secret to the plugin.
	got = ask(t, i, guestabi.HostHTTP, request("/repos/echo", auth("token")))
	if !strings.Contains(got, "you sent") || strings.Contains(got, testSecret) || strings.Contains(got, base64.RawStdEncoding.EncodeToString([]byte(testSecret))[:16]) {
		t.Errorf("the secret comes back: %s", got)
	}

	for _, tt := range []struct{ name, request, want string }{
		{"path", request("/admin", ""), "!not_allowed: "},
		{"dots", request("/repos/../private", ""), "!invalid_input: "},
		{"encoded dots", request("/repos/%2e%2e/private", ""), "!invalid_input: "},
		{"method", request("/repos/a", `,"method":"DELETE"`), "!not_allowed: "},
		{"redirect out", request("/repos/out", auth("token")), "!redirect_refused: "},
		{"large", request("/repos/large", ""), "!too_large: "},
		{"other host", `{"abi":1,"url":"http://localhost/repos/a"}`, "!not_allowed: "},
		{"short secret", request("/repos/a", auth("short")), `!unavailable: the secret "short" is too short`},
		{"short password", request("/repos/a", auth("basic")), `!unavailable: the password in the secret "basic" is too short`},
		{"missing secret", request("/repos/a", auth("missing")), `!unavailable: the secret "missing" is not to be had; ask the host's operator to set it`},
		{"foreign secret", request("/repos/a", auth("aws")), `!not_granted: the secret "aws"`},
		{"secret behind a line break", request("/repos/a", `,"secretHeaders":{"x":{"secret":"token","prefix":"a\r\nb: "}}`), "!invalid_input: "},
		{"header twice", request("/repos/a", `,"headers":{"Authorization":"x"}`+auth("token")), "!invalid_input: "},
	} {
		before := len(*hits)
		got := ask(t, i, guestabi.HostHTTP, tt.request)
		if !strings.HasPrefix(got, tt.want) || strings.Contains(got, testSecret) || strings.Contains(got, "10.0.0.7") {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if len(*hits) != before {
			t.Errorf("%s reached the server", tt.name)
		}
	}
}

// Without the operator's word no plugin reaches what is behind the host, whatever its manifest names.
func TestHTTPPrivateAddresses(t *testing.T) {
	host, hits := server(t)
	i := httpPlugin(t, host, func(o *LoadOptions) { o.Services.HTTP = nil })
	got := ask(t, i, guestabi.HostHTTP, `{"abi":1,"url":"http://`+host+`/repos/a"}`)
	if !strings.HasPrefix(got, "!address_refused: ") || len(*hits) != 0 {
		t.Errorf("http = %s, the server saw %q", got, *hits)
	}
}

// A secret goes to the hosts that the manifest gives it, not to whatever other host the plugin may ask.
func TestSecretsGoToTheirHosts(t *testing.T) {
	theirs, hits := server(t)
	others, strays := server(t)
	o := devOptions()
	o.Services.HTTP = &HTTPOptions{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	o.Services.Secrets = func(context.Context, string, string) (string, error) { return testSecret, nil }
	permitted := func(host string) map[string]any { return map[string]any{"host": host, "insecure": true} }
	i := instanceOf(t, forwards(t, o, map[string]any{"hosts": []any{permitted(theirs), permitted(others)}, "secrets": []any{secret("token", theirs)}}, guestabi.HostHTTP), nil)
	get := func(host, more string) string {
		return ask(t, i, guestabi.HostHTTP, `{"abi":1,"url":"http://`+host+`/repos/a"`+more+`}`)
	}
	const auth = `,"secretHeaders":{"authorization":{"secret":"token"}}`
	if got := get(theirs, auth); !strings.HasPrefix(got, `{"status":200`) || len(*hits) != 1 || !strings.Contains((*hits)[0], testSecret) {
		t.Errorf("its own host: %s, the server saw %q", got, *hits)
	}
	if got, want := get(others, auth), "!not_allowed: the plugin's permissions do not allow this request: secret: that of the header \"authorization\" is not for "+others; !strings.HasPrefix(got, want) || len(*strays) != 0 {
		t.Errorf("another host: %s, the server saw %q", got, *strays)
	}
	if got := get(others, ""); !strings.HasPrefix(got, `{"status":200`) {
		t.Errorf("another host without the secret: %s", got)
	}
}
