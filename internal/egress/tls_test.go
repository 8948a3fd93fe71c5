package egress

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// TestTLS: the name of the address is what SNI, the certificate and the Host header are about, whatever the connection
// goes to.
func TestTLS(t *testing.T) {
	w := newWorld(t, nil)
	s := w.serve("https", "api.example.com", func(rw http.ResponseWriter, r *http.Request) { fmt.Fprint(rw, r.Host) })
	resp, err := w.get(&Request{URL: "https://API.example.com:443/"})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.sni.Load(); got != "api.example.com" || string(resp.Body) != "api.example.com" || resp.URL != "https://api.example.com/" {
		t.Errorf("SNI %v, host %s, url %s", got, resp.Body, resp.URL)
	}
}

func TestTLSOfLiterals(t *testing.T) {
	for name, host := range map[string]string{"93.184.215.14": "93.184.215.14", "2606:2800:21f:cb07::1": "[2606:2800:21f:cb07::1]"} {
		w := newWorld(t, nil)
		s := w.serve("https", name, func(rw http.ResponseWriter, r *http.Request) { fmt.Fprint(rw, r.Host) })
		w.dials.to[netip.MustParseAddr(name)] = s.Listener.Addr().String()
		resp, err := w.client.Do(t.Context(), rulesFor(host), &Request{URL: "https://" + host + "/"})
		if err != nil || string(resp.Body) != host || s.sni.Load() != "" {
			t.Errorf("%s: %v, SNI %v", host, err, s.sni.Load())
		}
	}
}

// TestBadCertificates: servers that are not who they should be. Nothing in Options.TLS turns the check off.
func TestBadCertificates(t *testing.T) {
	w := newWorld(t, nil)
	other := w.serve("https", "other.example.com", okHandler)
	w.place("api.example.com", other.Listener.Addr().String())
	_, err := w.get(&Request{URL: "https://api.example.com/"})
	if e := wantKind(t, err, ErrNetwork); !strings.Contains(e.Error(), "other names") {
		t.Errorf("got %v", e)
	}

	stranger := newWorld(t, nil).serve("https", "api.example.com", okHandler)
	w = newWorld(t, nil)
	w.place("api.example.com", stranger.Listener.Addr().String())
	_, err = w.get(&Request{URL: "https://api.example.com/"})
	if e := wantKind(t, err, ErrNetwork); !strings.Contains(e.Error(), "authority") {
		t.Errorf("got %v", e)
	}

	c := New(&Options{Resolver: w.names, TLS: &tls.Config{InsecureSkipVerify: true, RootCAs: w.roots, ServerName: "other.example.com"}})
	c.dial = w.dials.dial
	_, err = c.Do(t.Context(), rulesFor("api.example.com"), &Request{URL: "https://api.example.com/"})
	wantKind(t, err, ErrNetwork)

	w = newWorld(t, nil)
	w.serve("http", "api.example.com", okHandler)
	_, err = w.get(&Request{URL: "https://api.example.com/"})
	if e := wantKind(t, err, ErrNetwork); !strings.Contains(e.Error(), "does not speak TLS") {
		t.Errorf("got %v", e)
	}
}

// TestOldTLS is refused.
func TestOldTLS(t *testing.T) {
	w := newWorld(t, nil)
	cert := w.certificate("api.example.com")
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			err = conn.(*tls.Conn).Handshake()
			conn.Close()
		}
		done <- err
	}()
	w.place("api.example.com", l.Addr().String())
	_, err = w.get(&Request{URL: "https://api.example.com/"})
	wantKind(t, err, ErrNetwork)
	if err := <-done; err == nil {
		t.Error("the handshake with TLS 1.1 succeeded")
	}
}

// TestRealDialer goes the whole way of an embedder who opened loopback: real dialer, real sockets.
func TestRealDialer(t *testing.T) {
	w := newWorld(t, &Options{AllowPrivate: loopback})
	w.client.dial = w.client.dialChecked
	s := w.serve("https", "api.example.com", okHandler)
	w.names.answers["api.example.com"] = [][]netip.Addr{parseAddrs("127.0.0.1")}
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	host := "api.example.com:" + port
	resp, err := w.client.Do(t.Context(), rulesFor(host), &Request{URL: "https://" + host + "/"})
	if err != nil || string(resp.Body) != "ok" {
		t.Errorf("got %v", err)
	}
	s.Close()
	_, err = w.client.Do(t.Context(), rulesFor(host), &Request{URL: "https://" + host + "/"})
	if e := wantKind(t, err, ErrNetwork); strings.Contains(e.Error(), "127.0.0.1") || !strings.Contains(e.Error(), "refuses connections") {
		t.Errorf("got %v", e)
	}
}

// TestSearchDomains: the system's resolver is asked for absolute names only.
func TestSearchDomains(t *testing.T) {
	c := New(nil)
	if c.resolver != Resolver(net.DefaultResolver) {
		t.Fatal("the default is not the system's resolver")
	}
	n := newNames()
	c.resolver = n
	_, err := c.Do(t.Context(), rulesFor("api.example.com"), &Request{URL: "http://api.example.com/"})
	if e := wantKind(t, err, ErrNetwork); n.count("api.example.com") != 0 || strings.Contains(e.Error(), "10.9.8.7") || !strings.Contains(e.Error(), "does not exist") {
		t.Errorf("got %v", e)
	}
	n.add("api.example.com.", "10.0.0.1")
	_, err = c.Do(t.Context(), rulesFor("api.example.com"), &Request{URL: "http://api.example.com/"})
	wantKind(t, err, ErrAddress)
}
