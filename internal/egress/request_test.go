package egress

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
)

// TestHostileHeaders: names and values that control the connection, split the request, or go behind the rules.
func TestHostileHeaders(t *testing.T) {
	type headers = map[string]string
	for _, h := range []headers{
		{"Host": "evil.example"}, {"host": "evil.example"}, {"HOST": "x"},
		{"Connection": "close"}, {"connection": "X-Token"}, {"Keep-Alive": "x"},
		{"Transfer-Encoding": "chunked"}, {"transfer_encoding": "chunked"}, {"TE": "trailers"}, {"Trailer": "X"},
		{"Content-Length": "0"}, {"Content_Length": "5"}, {"Upgrade": "websocket"}, {"HTTP2-Settings": "x"}, {"Expect": "100-continue"},
		{"Proxy-Authorization": "x"}, {"Proxy-Connection": "x"}, {"proxy_x": "x"}, {"Accept-Encoding": "gzip"},
		{"X-Forwarded-For": "127.0.0.1"}, {"X-Forwarded-Host": "x"}, {"Forwarded": "for=127.0.0.1"}, {"Via": "x"}, {"X-Real-IP": "127.0.0.1"},
		{"X-HTTP-Method-Override": "DELETE"}, {"X_HTTP_Method": "DELETE"}, {"X-Method-Override": "DELETE"},
		{"X-Original-URL": "/admin"}, {"X-Rewrite-URL": "/admin"}, {"X-Host": "x"},
		{"X-Original-Host": "x"}, {"X-Original-Method": "DELETE"}, {"X-Original-Path": "/admin"}, {"X_Original_Uri": "/admin"},
		{"X-Host-Override": "x"}, {"X-HTTP-Path-Override": "/admin"}, {"X-HTTP-Host-Override": "x"}, {"X-Override-URL": "/admin"},
		{"X-Backend-Host": "x"}, {"X-HTTP-DestinationURL": "x"}, {"X-Proxy-URL": "x"}, {"Request-URI": "/admin"},
		{"X-Envoy-Original-Path": "/admin"}, {"X-Envoy-Retry-On": "5xx"}, {"Destination": "/admin"},
		{"Client-IP": "127.0.0.1"}, {"Client_IP": "127.0.0.1"}, {"X-Client-IP": "127.0.0.1"}, {"X-Cluster-Client-IP": "127.0.0.1"},
		{"X-Originating-IP": "127.0.0.1"}, {"Fastly-Client-IP": "127.0.0.1"}, {"X-Azure-ClientIP": "127.0.0.1"}, {"X-Azure-SocketIP": "127.0.0.1"},
		{"True-Client-IP": "127.0.0.1"}, {"CF-Connecting-IP": "127.0.0.1"}, {"CF-Connecting-IPv6": "::1"}, {"WL-Proxy-Client-IP": "127.0.0.1"},
		{"X-Remote-Addr": "127.0.0.1"}, {"X-AppEngine-Remote-Addr": "127.0.0.1"}, {"X-Forward-For": "127.0.0.1"}, {"X-Forwarded": "127.0.0.1"},
		{"Remote-User": "root"}, {"X-Remote-User": "root"}, {"X-Forwarded-User": "root"}, {"X-SSL-Client-Verify": "SUCCESS"},
		{"X-Goog-Authenticated-User-Email": "root"}, {"X-MS-Client-Principal-Name": "root"},
		{"": "x"}, {"A B": "x"}, {"A:": "x"}, {"A\r\nB": "x"}, {"A\n": "x"}, {" A": "x"}, {"A ": "x"}, {"A\x00": "x"}, {"É": "x"}, {"A\tB": "x"}, {"A(": "x"},
		{strings.Repeat("a", maxHeaderName+1): "x"},
		{"X": "a\r\nHost: evil"}, {"X": "a\nb"}, {"X": "a\rb"}, {"X": "a\x00b"}, {"X": "\x7f"}, {"X": "\x1b[0m"}, {"X": "é"}, {"X": "\xff"},
		{"X": " a"}, {"X": "a\t"}, {"X": "\u010a"},
		{"X-A": "1", "x-a": "2"},
	} {
		for _, secret := range []bool{false, true} {
			r := &Request{URL: "http://api.example.com/", Headers: h}
			if secret {
				r.Headers, r.Secrets = nil, map[string]Secret{}
				for name, value := range h {
					r.Secrets[name] = Secret{Value: value}
				}
			}
			n := everywhere{}
			c := New(&Options{Resolver: &n})
			c.dial = (&dials{}).dial
			_, err := c.Do(t.Context(), rulesFor("api.example.com"), r)
			if kindOf(err) != ErrRequest || n.asked != 0 {
				t.Errorf("%q (secret: %v): got %v", h, secret, err)
			}
			if err != nil && strings.ContainsAny(err.Error(), "\r\n\x00") {
				t.Errorf("%q: the text has control characters", h)
			}
		}
	}
}

// TestHostileRequests: everything else that a plugin may get wrong on purpose.
func TestHostileRequests(t *testing.T) {
	many := map[string]string{}
	for i := range maxHeaders + 1 {
		many[fmt.Sprintf("X-%d", i)] = "x"
	}
	big := map[string]string{"X-A": strings.Repeat("a", maxHeaderBytes/2), "X-B": strings.Repeat("b", maxHeaderBytes/2)}
	for name, tt := range map[string]struct {
		r    Request
		kind error
	}{
		"method in small letters": {Request{Method: "get"}, ErrRequest},
		"method with a line":      {Request{Method: "GET / HTTP/1.1\r\nX:"}, ErrRequest},
		"method with a blank":     {Request{Method: "GET "}, ErrRequest},
		"CONNECT":                 {Request{Method: "CONNECT"}, ErrRequest},
		"TRACE":                   {Request{Method: "TRACE"}, ErrRequest},
		"long method":             {Request{Method: strings.Repeat("A", 100)}, ErrRequest},
		"other method":            {Request{Method: "PATCH"}, ErrNotAllowed},
		"GET with a body":         {Request{Body: []byte("DELETE /x")}, ErrRequest},
		"HEAD with a body":        {Request{Method: "HEAD", Body: []byte("x")}, ErrRequest},
		"large body":              {Request{Method: "POST", Body: make([]byte, 11)}, ErrTooLarge},
		"many headers":            {Request{Headers: many}, ErrRequest},
		"large headers":           {Request{Headers: big}, ErrTooLarge},
		"negative timeout":        {Request{Timeout: -1}, ErrRequest},
		"header and secret":       {Request{Headers: map[string]string{"x-token": "a"}, Secrets: map[string]Secret{"X-Token": {Value: "b"}}}, ErrRequest},
		"empty secret":            {Request{Secrets: map[string]Secret{"X-Token": {Prefix: "Bearer "}}}, ErrRequest},
		"prefix with a line":      {Request{Secrets: map[string]Secret{"X-Token": {Value: "hunter2", Prefix: "a\r\nB: "}}}, ErrRequest},
		"secret with a line":      {Request{Secrets: map[string]Secret{"X-Token": {Value: "hunter2\r\n"}}}, ErrRequest},
		"secret without a host":   {Request{Secrets: map[string]Secret{"X-Token": {Value: "hunter2-hunter2"}}}, ErrNotAllowed},
		"secret of another host":  {Request{Secrets: map[string]Secret{"X-Token": {Value: "hunter2-hunter2", Hosts: []string{"b.example.com"}}}}, ErrNotAllowed},
		"secret of another port":  {Request{Secrets: map[string]Secret{"X-Token": {Value: "hunter2-hunter2", Hosts: []string{"api.example.com:8443"}}}}, ErrNotAllowed},
		"secret below a host":     {Request{Secrets: map[string]Secret{"X-Token": {Value: "hunter2-hunter2", Hosts: []string{"*.api.example.com"}}}}, ErrNotAllowed},
		"one secret is not for it": {Request{Secrets: map[string]Secret{
			"X-A": {Value: "hunter2-hunter2", Hosts: []string{"api.example.com"}}, "X-B": {Value: "hunter2-hunter2", Hosts: []string{"b.example.com"}}}}, ErrNotAllowed},
		"secret for every host":   {Request{Secrets: map[string]Secret{"X-Token": {Value: "hunter2-hunter2", Hosts: []string{"*"}}}}, ErrRule},
		"secret in a range":       {Request{Secrets: map[string]Secret{"Range": {Value: "1-2,3-4,5-6", Prefix: "bytes=", Hosts: []string{"api.example.com"}}}}, ErrRequest},
		"secret in Azure's range": {Request{Secrets: map[string]Secret{"X_Ms_Range": {Value: "1-2,3-4,5-6", Hosts: []string{"api.example.com"}}}}, ErrRequest},
		"secret as host":          {Request{Secrets: map[string]Secret{"Host": {Value: "hunter2"}}}, ErrRequest},
	} {
		n := everywhere{}
		c := New(&Options{Resolver: &n, MaxRequestBytes: 10})
		tt.r.URL = "https://api.example.com/"
		_, err := c.Do(t.Context(), rulesFor("api.example.com"), &tt.r)
		if kindOf(err) != tt.kind || n.asked != 0 {
			t.Errorf("%s: got %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the text names the secret: %v", name, err)
		}
	}
}

// TestOnTheWire holds every byte of a request.
func TestOnTheWire(t *testing.T) {
	for _, tt := range []struct {
		r    Request
		want []string
	}{
		{
			Request{URL: "http://API.example.com:80/a%20b/?q=%2F"},
			[]string{"GET /a%20b/?q=%2F HTTP/1.1", "Host: api.example.com", "User-Agent: cloister-plugin", "Connection: close", "Accept-Encoding: identity", "", ""},
		},
		{
			Request{Method: "POST", URL: "http://api.example.com", Headers: map[string]string{"x-a": "b\tc", "user-agent": "mine"}, Body: []byte("data")},
			[]string{"POST / HTTP/1.1", "Host: api.example.com", "User-Agent: mine", "Connection: close", "Content-Length: 4", "Accept-Encoding: identity", "X-A: b\tc", "", "data"},
		},
		{
			Request{Method: "POST", URL: "http://api.example.com/?"},
			[]string{"POST /? HTTP/1.1", "Host: api.example.com", "User-Agent: cloister-plugin", "Connection: close", "Content-Length: 0", "Accept-Encoding: identity", "", ""},
		},
	} {
		w := newWorld(t, nil)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan string, 1)
		go func() {
			defer l.Close()
			conn, err := l.Accept()
			if err != nil {
				got <- err.Error()
				return
			}
			defer conn.Close()
			want := len(strings.Join(tt.want, "\r\n"))
			buf := make([]byte, want)
			n, err := io.ReadFull(conn, buf)
			_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n") // the client may have left
			more, _ := io.ReadAll(conn)                                    // until the client leaves
			got <- fmt.Sprint(string(buf[:n])+string(more), err)
		}()
		w.place("api.example.com", l.Addr().String())
		_, err = w.get(&tt.r)
		if s, want := <-got, fmt.Sprint(strings.Join(tt.want, "\r\n"), nil); s != want || err != nil {
			t.Errorf("got %q, %v\nwant %q", s, err, want)
		}
	}
}

// lateConn answers as soon as it has a request's head, and takes the body only when it is released, closed or not: a
// write that was under way when the exchange ended.
type lateConn struct {
	net.Conn // nil: what is not below is not called
	head     chan struct{}
	release  chan struct{}
	wrote    chan []byte
	reads    int
}

func (c *lateConn) Write(p []byte) (int, error) {
	if strings.HasPrefix(string(p), "POST") {
		close(c.head)
		return len(p), nil
	}
	<-c.release
	c.wrote <- append([]byte(nil), p...)
	return len(p), nil
}

func (c *lateConn) Read(p []byte) (int, error) {
	<-c.head
	if c.reads++; c.reads > 1 {
		return 0, io.EOF
	}
	return copy(p, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"), nil
}

func (c *lateConn) Close() error { return nil }

// TestTheRequestIsCopied: what the caller does with its memory after Do is not seen by a write that is still under way.
func TestTheRequestIsCopied(t *testing.T) {
	conn := &lateConn{head: make(chan struct{}), release: make(chan struct{}), wrote: make(chan []byte, 1000)}
	c := New(&Options{Resolver: &everywhere{}})
	c.dial = func(context.Context, netip.AddrPort) (net.Conn, error) { return conn, nil }
	body := bytes.Repeat([]byte("a"), DefaultMaxRequestBytes)
	resp, err := c.Do(t.Context(), rulesFor("api.example.com"), &Request{Method: "POST", URL: "http://api.example.com/", Body: body})
	if err != nil || resp.Status != 413 {
		t.Fatalf("got %v", err)
	}
	clear(body)
	close(conn.release)
	for range 3 { // the first piece was read before, the next ones after clear
		p := <-conn.wrote
		if len(p) == 0 || bytes.IndexByte(p, 0) >= 0 {
			t.Fatal("the caller's memory was read after Do")
		}
	}
}
