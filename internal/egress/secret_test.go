package egress

import (
	"encoding/base64"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
)

const sesame = "sesame-0123456789"

// TestSecretHosts: a secret goes to its hosts, in every spelling of them, and to no other that the rules allow.
func TestSecretHosts(t *testing.T) {
	w := newWorld(t, nil)
	for _, name := range []string{"api.example.com", "other.example.com", "a.wild.example.com", "wild.example.com"} {
		w.serve("https", name, func(rw http.ResponseWriter, r *http.Request) {
			if got := r.Header.Get("X-Token"); got != "Bearer "+sesame {
				t.Errorf("%s got %q", r.Host, got)
			}
		})
	}
	rules := rulesFor("api.example.com", "api.example.com:8443", "other.example.com", "*.wild.example.com", "wild.example.com", "93.184.215.14")
	for _, tt := range []struct {
		url   string
		hosts []string
		want  error
	}{
		{"https://api.example.com/", []string{"api.example.com"}, nil},
		{"https://API.example.com:443/", []string{"api.Example.com"}, nil},
		{"https://api.example.com/", []string{"other.example.com", "api.example.com:443"}, nil},
		{"https://a.wild.example.com/", []string{"*.wild.example.com"}, nil},
		{"https://api.example.com/", nil, ErrNotAllowed},
		{"https://other.example.com/", []string{"api.example.com"}, ErrNotAllowed},
		{"https://api.example.com:8443/", []string{"api.example.com"}, ErrNotAllowed},
		{"https://api.example.com/", []string{"api.example.com:8443"}, ErrNotAllowed},
		{"https://wild.example.com/", []string{"*.wild.example.com"}, ErrNotAllowed},
		{"https://93.184.215.14/", []string{"api.example.com"}, ErrNotAllowed},           // the address of the name is not the name
		{"https://nowhere.example.com/", []string{"nowhere.example.com"}, ErrNotAllowed}, // they allow nothing by themselves
	} {
		before := len(w.dials.all())
		_, err := w.client.Do(t.Context(), rules, &Request{URL: tt.url, Secrets: map[string]Secret{"X-Token": {Value: sesame, Prefix: "Bearer ", Hosts: tt.hosts}}})
		if kindOf(err) != tt.want {
			t.Errorf("%s with %q: got %v, want %v", tt.url, tt.hosts, err, tt.want)
		}
		if tt.want != nil && len(w.dials.all()) != before {
			t.Errorf("%s with %q: connected", tt.url, tt.hosts)
		}
		if err != nil && strings.Contains(err.Error(), sesame) {
			t.Errorf("%s: the text names the secret: %v", tt.url, err)
		}
	}
}

// TestSecretsOverHTTP: http carries secrets within this machine only. The addresses that are dialled decide.
func TestSecretsOverHTTP(t *testing.T) {
	private := append([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}, loopback...)
	for _, tt := range []struct {
		name  string
		addrs []string
		want  error
	}{
		{"loopback", []string{"127.0.0.1"}, nil},
		{"IPv6's too", []string{"::1", "127.0.0.9"}, nil},
		{"a public address", []string{public.String()}, ErrNotAllowed},
		{"an address of the network", []string{"10.0.0.1"}, ErrNotAllowed},
		{"one of two", []string{"127.0.0.1", "10.0.0.1"}, ErrNotAllowed},
	} {
		w := newWorld(t, &Options{AllowPrivate: private})
		s := w.serve("http", "api.example.com", func(_ http.ResponseWriter, r *http.Request) {
			if got := r.Header.Get("Authorization"); (got == "Bearer "+sesame) != (tt.want == nil) {
				t.Errorf("%s: the server got %q", tt.name, got)
			}
		})
		w.names.answers["api.example.com"] = [][]netip.Addr{parseAddrs(tt.addrs...)}
		for _, a := range parseAddrs(tt.addrs...) {
			w.dials.to[a] = s.Listener.Addr().String()
		}
		secrets := map[string]Secret{"authorization": {Value: sesame, Prefix: "Bearer ", Hosts: []string{"api.example.com"}}}
		_, err := w.get(&Request{Secrets: secrets})
		if kindOf(err) != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
		if tt.want != nil && len(w.dials.all()) != 0 {
			t.Errorf("%s: connected to %v", tt.name, w.dials.all())
		}
		if tt.want == nil {
			continue
		}
		if _, err := w.get(&Request{}); err != nil {
			t.Errorf("%s: without a secret: %v", tt.name, err)
		}
	}
}

// TestSecretsAndRebinding: a name that leads to this machine first and elsewhere at the next hop.
func TestSecretsAndRebinding(t *testing.T) {
	w := newWorld(t, &Options{AllowPrivate: loopback})
	s := w.serve("http", "api.example.com", redirectTo("/next", 302))
	w.names.answers["api.example.com"] = [][]netip.Addr{parseAddrs("127.0.0.1"), {public}}
	w.dials.to[netip.MustParseAddr("127.0.0.1")], w.dials.to[public] = s.Listener.Addr().String(), s.Listener.Addr().String()
	_, err := w.get(&Request{Secrets: map[string]Secret{"authorization": {Value: sesame, Hosts: []string{"api.example.com"}}}})
	wantKind(t, err, ErrNotAllowed)
	if n := s.requests.Load(); kindOf(err) != ErrRedirect || n != 1 {
		t.Errorf("got %v after %d requests", err, n)
	}
}

// TestWholeAnswers: a server that sends back what it got, in the parts that the plugin asks for.
func TestWholeAnswers(t *testing.T) {
	w := newWorld(t, nil)
	w.serve("https", "api.example.com", func(rw http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"Request-Range", "X-Range", "X-Ms-Range"} {
			if part := r.Header.Get(name); part != "" {
				r.Header.Set("Range", part)
			}
		}
		echo := strings.NewReader("you sent " + r.Header.Get("X-Token") + ", did you not?")
		http.ServeContent(rw, r, "echo.txt", time.Time{}, echo)
	})
	ask := func(name, value string, secrets map[string]Secret) *Response {
		t.Helper()
		resp, err := w.get(&Request{URL: "https://api.example.com/", Headers: map[string]string{name: value}, Secrets: secrets})
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	for _, name := range []string{"Range", "range", "RANGE", "Request-Range", "X-Range", "x-ms-range", "X_MS_Range"} {
		secrets := map[string]Secret{"X-Token": {Value: sesame, Hosts: []string{"api.example.com"}}}
		resp := ask(name, "bytes=9-20", secrets)
		if resp.Status != 200 || string(resp.Body) != "you sent ***, did you not?" {
			t.Errorf("%s: %d %q", name, resp.Status, resp.Body)
		}
	}
	if resp := ask("Range", "bytes=0-2", nil); resp.Status != 206 || string(resp.Body) != "you" {
		t.Errorf("without a secret: %d %q", resp.Status, resp.Body)
	}
}

// TestGuessable: what is taken out of answers must not be short, in no form: a server that sends back guesses would tell
// the plugin which of them was right.
func TestGuessable(t *testing.T) {
	basic := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	for value, want := range map[string]string{
		"":                                 "secret",
		"abc":                              "secret",
		"1234567":                          "secret",
		"12345678":                         "",
		basic("a-long-user-name:abc"):      "password in the secret",
		basic("a-long-user-name:1234567"):  "password in the secret",
		basic("a-long-user-name:12345678"): "",
		"Basic " + basic("somebody:abc"):   "password in the secret",
		"basic " + basic("somebody:\xe9"):  "password in the secret",
		base64.URLEncoding.EncodeToString([]byte("somebody?>~:abc")):  "password in the secret",
		base64.RawStdEncoding.EncodeToString([]byte("somebody:abcd")): "password in the secret",
		basic("sk_live_0123456789:"):                                  "", // the key is the user
		basic("short:"):                                               "password in the secret",
		basic("no colon in here"):                                     "",
		"0123456789abcdef":                                            "",
		basic("\x00\x01binary:abc"):                                   "",
	} {
		if got := Guessable(value); got != want {
			t.Errorf("%q: got %q, want %q", value, got, want)
		}
	}
}

// TestRedactCredentials: the parts of credentials are found whatever prefix the plugin chose.
func TestRedactCredentials(t *testing.T) {
	for _, s := range []Secret{
		{Value: base64.StdEncoding.EncodeToString([]byte("ada:lovelace")), Prefix: "Basic "},
		{Value: base64.StdEncoding.EncodeToString([]byte("ada:lovelace"))},
		{Value: "Basic " + base64.StdEncoding.EncodeToString([]byte("ada:lovelace"))},
	} {
		if got := Redact("ada:lovelace is ada with lovelace", map[string]Secret{"A": s}); got != "*** is ada with ***" {
			t.Errorf("%+v: %q", s, got)
		}
	}
	key := Secret{Value: base64.StdEncoding.EncodeToString([]byte("sk_live_0123456789:")), Prefix: "Basic "}
	if got := Redact("unknown key sk_live_0123456789", map[string]Secret{"A": key}); got != "unknown key ***" {
		t.Errorf("a key as the user: %q", got)
	}
}
