package gateway

import (
	"encoding/json"
	"testing"
)

// The status is for operators, and comes back to zero.
func TestStatus(t *testing.T) {
	r := newRig(t, true, Options{})
	srv := r.web(t, testHTTP)
	status := func() (s Status) {
		t.Helper()
		res := raw(t, "GET", srv.URL+"/status", "", "Authorization", "Bearer "+decideToken)
		if err := json.Unmarshal([]byte(body(t, res)), &s); err != nil || res.StatusCode != 200 {
			t.Fatalf("%s, %v", res.Status, err)
		}
		return s
	}
	if s := status(); s.Goroutines == 0 || s != (Status{Goroutines: s.Goroutines}) {
		t.Errorf("%+v", s)
	}
	for token, want := range map[string]int{"": 401, "unknown-token-0123456789": 401, aliceToken: 403} {
		if res := raw(t, "GET", srv.URL+"/status", "", "Authorization", "Bearer "+token); res.StatusCode != want {
			t.Errorf("%q: %s", token, res.Status)
		}
	}
	cs := dial(t, httpTransport(srv, aliceToken), oldProtocol, nil)
	end := stuckIn(t, cs)
	eventually(t, "it runs", func() bool { s := status(); return s.Running == 1 && s.Requests == 1 && s.Sessions == 1 })
	end()
	if err := cs.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all is gone", func() bool { s := status(); return s == Status{Goroutines: s.Goroutines} })
	nobody := r.web(t, HTTPOptions{Tokens: testHTTP.Tokens})
	if res := raw(t, "GET", nobody.URL+"/status", "", "Authorization", "Bearer "+aliceToken); res.StatusCode != 404 {
		t.Errorf("without operators: %s", res.Status)
	}
}
