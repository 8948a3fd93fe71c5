package main

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
)

// The browser comes back to this machine with a code, and nothing else is taken for
// it.
func TestAuthorize(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	redirect := "http://" + free.Addr().String() + "/callback"
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ query, code, problem string }{
		{"/callback?code=c1&state=s1&iss=i1", "c1", ""},
		{"/callback?error=access_denied%1b%5b2J&state=s1", "", "access_denied"},
	} {
		shown := &notifier{text: "wants your consent", done: func() {
			go func() {
				for _, path := range []string{"/favicon.ico", "/callback", "/other?code=evil", "/callback?error=evil", "/callback?code=evil&state=evil", test.query} {
					res, err := http.Get(strings.TrimSuffix(redirect, "/callback") + path)
					if err == nil {
						err = res.Body.Close()
					}
					if err != nil {
						t.Error(err)
					}
				}
			}()
		}}
		a := &app{stdout: plainStream(&bytes.Buffer{}), stderr: &stream{Writer: shown, tty: true}}
		auth, err := a.authorize(t.Context(), "s", "https://as.example/authorize?state=s1&x=\u202e", redirect)
		switch {
		case test.code != "" && (err != nil || auth.Code != test.code || auth.State != "s1" || auth.Issuer != "i1"):
			t.Errorf("%s: %+v, %v", test.query, auth, err)
		case test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem) || strings.Contains(err.Error(), "\x1b")):
			t.Errorf("%s: %+v, %v", test.query, auth, err)
		}
		if bytes.Contains(shown.buf.Bytes(), []byte("\u202e")) {
			t.Error("the terminal is shown what it obeys")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := &app{stderr: &stream{Writer: &bytes.Buffer{}, tty: true}}
	if _, err := a.authorize(ctx, "s", "https://as.example?state=s1", redirect); err == nil {
		t.Error("it did not end")
	}
	if _, err := a.authorize(t.Context(), "s", "https://as.example?state=s1", "https://elsewhere.example/"); err == nil {
		t.Error("it waits at another machine")
	}
	if plain := (&app{stderr: plainStream(&bytes.Buffer{})}); plain.authorizer(nil) != nil {
		t.Error("somebody is asked who is not there")
	}
}
