package main

import (
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"
)

// The time for a header, which no handler sees the want of, is the server's to bound, and
// so is the time of a connection on which nothing is asked.
func TestListenersBoundHeaders(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &service{log: slog.New(slog.DiscardHandler)}
	s.listen(l, http.NotFoundHandler())
	t.Cleanup(func() { _ = s.close() }) // what it gives is of a service with more in it
	server := s.servers[0]
	if d := server.ReadHeaderTimeout; d <= 0 || d > 10*time.Second {
		t.Errorf("a header has %s", d)
	}
	if d := server.IdleTimeout; d <= 0 || d > 2*time.Minute {
		t.Errorf("a connection without a request has %s", d)
	}
	if n := server.MaxHeaderBytes; n <= 0 || n > 64<<10 {
		t.Errorf("a header has %d bytes", n)
	}
	if server.WriteTimeout != 0 || server.ReadTimeout != 0 {
		t.Error("streams that are hours long are cut")
	}
}
