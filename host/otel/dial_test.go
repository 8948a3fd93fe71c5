package otel

import (
	"strings"
	"testing"
)

// TestLocalMeansLocal connects to another machine's address by the transport for http:
// a name that looks local may lead anywhere.
func TestLocalMeansLocal(t *testing.T) {
	tr := transport(true)
	for _, address := range []string{"192.0.2.1:4318", "[2001:db8::1]:4318", "0.0.0.0:4318"} {
		conn, err := tr.DialContext(t.Context(), "tcp", address)
		if err == nil || !strings.Contains(err.Error(), "another machine") {
			t.Errorf("%s: %v, %v", address, conn, err)
		}
	}
	if tr.Proxy != nil {
		t.Error("http to this machine goes by a proxy")
	}
}
