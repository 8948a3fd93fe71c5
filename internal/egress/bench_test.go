package egress

import (
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
)

// benchServer is a world whose client dials as an embedder's does.
func benchServer(b *testing.B, scheme string) (*world, string) {
	b.Helper()
	w := newWorld(b, &Options{AllowPrivate: loopback})
	w.client.dial = w.client.dialChecked
	s := w.serve(scheme, "api.example.com", okHandler)
	w.names.answers["api.example.com"] = [][]netip.Addr{parseAddrs("127.0.0.1")}
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	return w, "api.example.com:" + port
}

// BenchmarkDo is a whole request to a server on loopback. BenchmarkPlain is the same by net/http alone, with a new
// connection for each request too: the difference is what this package costs.
func BenchmarkDo(b *testing.B) {
	for _, scheme := range []string{"http", "https"} {
		b.Run(scheme, func(b *testing.B) {
			w, host := benchServer(b, scheme)
			rules := append(rulesFor("a.example.com", "*.b.example.com"), Rule{Host: host, Paths: []string{"/x/", "/v1"}, Insecure: true})
			r := &Request{URL: scheme + "://" + host + "/v1/repos?page=2", Headers: map[string]string{"accept": "application/json"}, Secrets: map[string]Secret{"authorization": {Value: "0123456789abcdef", Prefix: "Bearer ", Hosts: []string{host}}}}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.client.Do(b.Context(), rules, r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPlain(b *testing.B) {
	for _, scheme := range []string{"http", "https"} {
		b.Run(scheme, func(b *testing.B) {
			w, host := benchServer(b, scheme)
			_, port, err := net.SplitHostPort(host)
			if err != nil {
				b.Fatal(err)
			}
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			if scheme == "https" {
				tr := client.Transport.(*http.Transport)
				tr.TLSClientConfig = w.tlsFor("api.example.com")
			}
			b.ReportAllocs()
			for b.Loop() {
				resp, err := client.Get(scheme + "://127.0.0.1:" + port + "/v1/repos?page=2")
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadAll(resp.Body); err != nil {
					b.Fatal(err)
				}
				resp.Body.Close()
			}
		})
	}
}

// BenchmarkCheck is everything before the first packet: rules, address, headers.
func BenchmarkCheck(b *testing.B) {
	c := New(nil)
	r := &Request{URL: "https://api.example.com/v1/repos/a%20b?page=2", Headers: map[string]string{"accept": "application/json"}}
	for b.Loop() {
		set, err := parseRules(attackRules)
		if err != nil {
			b.Fatal(err)
		}
		h, err := c.firstHop(r)
		if err != nil {
			b.Fatal(err)
		}
		if err := set.allow(h.method, h.target); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAddress is the decision about a public address.
func BenchmarkAddress(b *testing.B) {
	g := newAddressGuard(loopback)
	for b.Loop() {
		if why := g.refuse(public); why != "" {
			b.Fatal(why)
		}
	}
}

// BenchmarkRedact is a body of 1 MiB without the secret.
func BenchmarkRedact(b *testing.B) {
	body := string(make([]byte, 1<<20))
	secrets := map[string]Secret{"authorization": {Value: "0123456789abcdef", Prefix: "Bearer "}}
	b.SetBytes(1 << 20)
	for b.Loop() {
		if Redact(body, secrets) != body {
			b.Fatal("changed")
		}
	}
}
