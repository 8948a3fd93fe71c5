package egress

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/internal/redact"
)

func TestRedact(t *testing.T) {
	const value = `s3cr<t"&/+ value`
	secrets := map[string]Secret{"Authorization": {Value: value, Prefix: "Bearer "}}
	quoted, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"plain":       "got Bearer " + value + "!",
		"twice":       value + value,
		"JSON":        `{"token":` + string(quoted) + `}`,
		"JSON, plain": `{"token":"s3cr<t\"&/+ value"}`,
		"query":       "?t=" + url.QueryEscape(value),
		"path":        "/" + url.PathEscape(value),
		"hex":         hex.EncodeToString([]byte(value)),
		"HEX":         strings.ToUpper(hex.EncodeToString([]byte(value))),
	} {
		if got := Redact(text, secrets); strings.Contains(got, "s3cr") || strings.Contains(got, "7333") || !strings.Contains(got, redact.Known) {
			t.Errorf("%s: %q is left of %q", name, got, text)
		}
	}
	// Wherever the secret stands in a longer text, in both alphabets.
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding} {
		for before := range 7 {
			for after := range 4 {
				text := enc.EncodeToString([]byte(strings.Repeat("x", before) + "Bearer " + value + strings.Repeat("y", after)))
				got := Redact(text, secrets)
				// What is left between the marks decodes to no more than four bytes of the secret.
				if !strings.Contains(got, redact.Known) || len(got)-len(redact.Known) > len(text)-(len(value)-2)*4/3 {
					t.Errorf("%d before, %d after: %q is left of %q", before, after, got, text)
				}
			}
		}
	}
	for _, text := range []string{"", "harmless", "s3cr", "Bearer "} {
		if got := Redact(text, secrets); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := Redact("abc", nil); got != "abc" {
		t.Errorf("got %q", got)
	}
	if got := Redact("abc", map[string]Secret{"X": {}}); got != "abc" {
		t.Errorf("an empty secret: got %q", got)
	}
}

func TestRedactBasic(t *testing.T) {
	secrets := map[string]Secret{"Authorization": {Value: base64.StdEncoding.EncodeToString([]byte("ada:lovelace")), Prefix: "Basic "}}
	if got := Redact("ada sent ada:lovelace, lovelace and YWRhOmxvdmVsYWNl", secrets); got != "ada sent ***, *** and ***" {
		t.Errorf("got %q", got)
	}
}

// TestRedactLongestFirst: a secret that is part of another leaves nothing of it.
func TestRedactLongestFirst(t *testing.T) {
	secrets := map[string]Secret{"A": {Value: "key"}, "B": {Value: "key-and-more"}}
	if got := Redact("key-and-more key", secrets); got != "*** ***" {
		t.Errorf("got %q", got)
	}
}

// TestEchoes: a server that sends back what it got, in its body, a header, a redirect and an address.
func TestEchoes(t *testing.T) {
	const secret = "sesame-0123456789"
	w := newWorld(t, nil)
	w.serve("https", "api.example.com", func(rw http.ResponseWriter, r *http.Request) {
		token := r.Header.Get("X-Token")
		switch r.URL.Path {
		case "/redirect":
			redirectTo("/echo?token="+token, 302)(rw, r)
		case "/evil":
			redirectTo("https://"+token+".evil.example/", 302)(rw, r)
		default:
			rw.Header().Set("X-Echo", token)
			fmt.Fprintf(rw, "%s %s", token, base64.StdEncoding.EncodeToString([]byte(token)))
		}
	})
	ask := func(path string) (*Response, error) {
		return w.get(&Request{URL: "https://api.example.com" + path, Secrets: map[string]Secret{"X-Token": {Value: secret, Hosts: []string{"api.example.com"}}}})
	}
	resp, err := ask("/redirect")
	if err != nil {
		t.Fatal(err)
	}
	if resp.URL != "https://api.example.com/echo?token=***" || resp.Headers["x-echo"] != "***" || string(resp.Body) != "*** ***" {
		t.Errorf("got %+v with body %s", resp, resp.Body)
	}
	_, err = ask("/evil")
	if e := wantKind(t, err, ErrNotAllowed); strings.Contains(e.Error(), "sesame") || !errors.Is(err, ErrRedirect) {
		t.Errorf("got %v", e)
	}
}
