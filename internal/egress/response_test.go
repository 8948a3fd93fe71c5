package egress

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/textproto"
	"strings"
	"testing"
	"time"
)

// get asks http://api.example.com/ of a world in which that name is served.
func (w *world) get(r *Request) (*Response, error) {
	w.t.Helper()
	if r.URL == "" {
		r.URL = "http://api.example.com/"
	}
	return w.client.Do(w.t.Context(), rulesFor("api.example.com"), r)
}

// TestHostileResponses: servers that answer with too much, too long, or with something else. None takes more than its
// bound; each ends with the right kind.
func TestHostileResponses(t *testing.T) {
	endless := func(head, piece string) func(net.Conn) {
		return func(c net.Conn) {
			chunk := bytes.Repeat([]byte(piece), 1+4096/len(piece))
			if _, err := io.WriteString(c, head); err != nil {
				return
			}
			for {
				if _, err := c.Write(chunk); err != nil {
					return
				}
			}
		}
	}
	say := func(s string) func(net.Conn) {
		return func(c net.Conn) { _, _ = io.WriteString(c, s) } // the client may have left
	}
	for _, tt := range []struct {
		name   string
		answer func(net.Conn)
		kind   error
	}{
		{"a body without an end", endless("HTTP/1.1 200 OK\r\n\r\n", "x"), ErrTooLarge},
		{"chunks without an end", endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "10\r\n0123456789abcdef\r\n"), ErrTooLarge},
		{"tiny chunks with large extensions", endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1;"+strings.Repeat("e", 2000)+"\r\nx\r\n"), ErrNetwork},
		{"a chunk of a huge size", say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx"), ErrNetwork},
		{"a chunk size without an end", endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "0"), ErrNetwork},
		{"a declared size over the bound", say("HTTP/1.1 200 OK\r\nContent-Length: 1099511627776\r\n\r\nx"), ErrTooLarge},
		{"a declared size that lies", say("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nx"), ErrNetwork},
		{"a negative size", say("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx"), ErrNetwork},
		{"two sizes", say("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx"), ErrNetwork},
		{"headers without an end", endless("HTTP/1.1 200 OK\r\n", "X-Flood: xxxxxxxxxxxxxxxxxxxxxxx\r\n"), ErrTooLarge},
		{"one header without an end", endless("HTTP/1.1 200 OK\r\nX: ", "y"), ErrTooLarge},
		{"a status line without an end", endless("HTTP/1.1 200 ", "O"), ErrTooLarge},
		{"no line at all", endless("", "z"), ErrTooLarge},
		{"informational answers without an end", endless("", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"), ErrTooLarge},
		{"continue without an end", endless("", "HTTP/1.1 100 Continue\r\n\r\n"), ErrTooLarge},
		{"trailers without an end", endless("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n0\r\n", "X: y\r\n"), ErrNetwork},
		{"another protocol", say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: ws\r\nConnection: Upgrade\r\n\r\n"), ErrNetwork},
		{"not HTTP", say("220 mail.example ESMTP\r\n"), ErrNetwork},
		{"HTTP/2", say("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), ErrNetwork},
		{"nothing", func(net.Conn) {}, ErrNetwork},
		{"half a status line", say("HTTP/1.1 20"), ErrNetwork},
		{"a header with a NUL in its name", say("HTTP/1.1 200 OK\r\nX\x00Y: z\r\n\r\n"), ErrNetwork},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, &Options{MaxResponseBytes: 64 << 10})
			w.raw("api.example.com", tt.answer)
			resp, err := w.get(&Request{})
			if err == nil {
				t.Fatalf("got %d with %d bytes, want %v", resp.Status, len(resp.Body), tt.kind)
			}
			if kindOf(err) != tt.kind {
				t.Errorf("got %v, want %v", err, tt.kind)
			}
			for _, word := range []string{"127.0.0.1", "93.184", "read tcp"} {
				if strings.Contains(err.Error(), word) {
					t.Errorf("the text names an address: %v", err)
				}
			}
		})
	}
}

// TestTraceOfTheCaller: net/http lifts its bound on informational answers for callers who watch them.
func TestTraceOfTheCaller(t *testing.T) {
	w := newWorld(t, nil)
	w.raw("api.example.com", func(c net.Conn) {
		for {
			if _, err := io.WriteString(c, "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"); err != nil {
				return
			}
		}
	})
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(int, textproto.MIMEHeader) error { return nil },
	})
	_, err := w.client.Do(ctx, rulesFor("api.example.com"), &Request{URL: "http://api.example.com/", Timeout: 10 * time.Second})
	wantKind(t, err, ErrTooLarge)
}

func TestResponseBoundIsExact(t *testing.T) {
	const most = 1000
	for size, ok := range map[int]bool{0: true, most - 1: true, most: true, most + 1: false} {
		for _, declared := range []bool{true, false} {
			w := newWorld(t, &Options{MaxResponseBytes: most})
			w.serve("http", "api.example.com", func(rw http.ResponseWriter, _ *http.Request) {
				if !declared {
					rw.(http.Flusher).Flush()
				}
				_, _ = rw.Write(make([]byte, size)) // the client may have left
			})
			resp, err := w.get(&Request{})
			if (err == nil) != ok || ok && len(resp.Body) != size {
				t.Errorf("%d bytes, declared %v: %v", size, declared, err)
			}
			if !ok {
				wantKind(t, err, ErrTooLarge)
			}
		}
	}
}

// TestDecompressionBomb: content encodings are not undone, so that there is nothing to blow up.
func TestDecompressionBomb(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	if _, err := z.Write(make([]byte, 10<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, &Options{MaxResponseBytes: 64 << 10})
	w.serve("http", "api.example.com", func(rw http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Accept-Encoding"); got != "identity" {
			t.Errorf("the request accepts %q", got)
		}
		rw.Header().Set("Content-Encoding", "gzip")
		_, _ = rw.Write(bomb.Bytes()) // the client may have left
	})
	resp, err := w.get(&Request{})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(resp.Body, bomb.Bytes()) || resp.Headers["content-encoding"] != "gzip" {
		t.Errorf("got %d bytes, want the %d that were sent", len(resp.Body), bomb.Len())
	}
}

func TestHeadResponse(t *testing.T) {
	w := newWorld(t, &Options{MaxResponseBytes: 10})
	w.serve("http", "api.example.com", func(rw http.ResponseWriter, _ *http.Request) { rw.Header().Set("Content-Length", "1000000") })
	resp, err := w.get(&Request{Method: "HEAD"})
	if err != nil || len(resp.Body) != 0 || resp.Headers["content-length"] != "1000000" {
		t.Errorf("got %v, %v", resp, err)
	}
}

func TestResponseHeaders(t *testing.T) {
	w := newWorld(t, nil)
	w.raw("api.example.com", func(c net.Conn) {
		_, _ = io.WriteString(c, "HTTP/1.1 418 Teapot\r\nX-One: a\r\nx-one: b\r\nX-Bytes: \xff\xfe\r\nContent-Length: 2\r\n\r\nhi") // the client may have left
	})
	resp, err := w.get(&Request{})
	if err != nil {
		t.Fatal(err)
	}
	if resp.Status != 418 || string(resp.Body) != "hi" || resp.Headers["x-one"] != "a, b" || resp.Headers["x-bytes"] != "\uFFFD" || resp.URL != "http://api.example.com/" {
		t.Errorf("got %#v", resp)
	}
}

// TestTimeouts: servers that stop at any point of the exchange. The client's bound ends each of them.
func TestTimeouts(t *testing.T) {
	hold := func(first string) func(net.Conn) {
		return func(c net.Conn) {
			_, _ = io.WriteString(c, first) // the client may have left
			_, _ = io.Copy(io.Discard, c)   // until the client leaves
		}
	}
	drip := func(first, drop string) func(net.Conn) {
		return func(c net.Conn) {
			_, err := io.WriteString(c, first)
			for err == nil {
				time.Sleep(time.Millisecond) // a drip, not a wait for something
				_, err = io.WriteString(c, drop)
			}
		}
	}
	for name, answer := range map[string]func(net.Conn){
		"before the status":    hold(""),
		"in the headers":       hold("HTTP/1.1 200 OK\r\nX: "),
		"in the body":          hold("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx"),
		"dripping headers":     drip("HTTP/1.1 200 OK\r\nX: ", "y"),
		"dripping information": drip("", "HTTP/1.1 100 Continue\r\n\r\n"),
		"dripping body":        drip("HTTP/1.1 200 OK\r\n\r\n", "x"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			w.raw("api.example.com", answer)
			_, err := w.get(&Request{Timeout: 30 * time.Millisecond})
			wantKind(t, err, ErrTimeout)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v is not a deadline", err)
			}
		})
	}
}

// TestTimeoutCoversAllHops: a server that redirects slowly does not get the time anew for each hop.
func TestTimeoutCoversAllHops(t *testing.T) {
	w := newWorld(t, &Options{MaxRedirects: 1 << 20, Timeout: 50 * time.Millisecond})
	w.serve("http", "api.example.com", redirectTo("/", 302))
	_, err := w.get(&Request{Timeout: time.Hour}) // more than the client's, which counts
	wantKind(t, err, ErrTimeout)
}

// TestTimeoutOfHandshake: the server takes the connection and never says a word of TLS.
func TestTimeoutOfHandshake(t *testing.T) {
	w := newWorld(t, nil)
	w.raw("api.example.com", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }) // until the client leaves
	_, err := w.get(&Request{URL: "https://api.example.com/", Timeout: 30 * time.Millisecond})
	wantKind(t, err, ErrTimeout)
}

type stuckResolver struct{ asked chan struct{} }

func (r stuckResolver) LookupNetIP(ctx context.Context, _, _ string) (addrs []netip.Addr, err error) {
	close(r.asked)
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestTimeoutOfLookup(t *testing.T) {
	c := New(&Options{Resolver: stuckResolver{make(chan struct{})}, Timeout: 10 * time.Millisecond})
	_, err := c.Do(t.Context(), rulesFor("api.example.com"), &Request{URL: "https://api.example.com/"})
	wantKind(t, err, ErrTimeout)
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := stuckResolver{make(chan struct{})}
	go func() { <-r.asked; cancel() }()
	_, err := New(&Options{Resolver: r}).Do(ctx, rulesFor("api.example.com"), &Request{URL: "https://api.example.com/"})
	if e := wantKind(t, err, ErrCanceled); !errors.Is(err, context.Canceled) || e.Code() != "cancelled" {
		t.Errorf("got %v with code %s", err, e.Code())
	}

	n := everywhere{}
	_, err = New(&Options{Resolver: &n}).Do(ctx, rulesFor("api.example.com"), &Request{URL: "https://api.example.com/"})
	if wantKind(t, err, ErrCanceled); n.asked != 0 {
		t.Error("a call that had ended looked a name up")
	}
}

func TestCancelDuringTheBody(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := newWorld(t, nil)
	w.raw("api.example.com", func(c net.Conn) {
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx") // the client may have left
		cancel()
		_, _ = io.Copy(io.Discard, c) // until the client leaves
	})
	_, err := w.client.Do(ctx, rulesFor("api.example.com"), &Request{URL: "http://api.example.com/"})
	wantKind(t, err, ErrCanceled)
}

func TestDeadlineOfTheCaller(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := New(&Options{Resolver: stuckResolver{make(chan struct{})}}).Do(ctx, rulesFor("api.example.com"), &Request{URL: "https://api.example.com/"})
	if wantKind(t, err, ErrTimeout); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// TestNothingIsShared: no connection, cookie or TLS session survives a request.
func TestNothingIsShared(t *testing.T) {
	w := newWorld(t, nil)
	w.serve("https", "api.example.com", func(rw http.ResponseWriter, r *http.Request) {
		http.SetCookie(rw, &http.Cookie{Name: "c", Value: "d"})
		fmt.Fprint(rw, r.RemoteAddr, r.TLS.DidResume, r.Header.Get("Cookie"), r.Proto, r.Close)
	})
	seen := map[string]bool{}
	for range 5 {
		resp, err := w.get(&Request{URL: "https://api.example.com/"})
		if err != nil {
			t.Fatal(err)
		}
		body := string(resp.Body)
		if seen[body] || !strings.HasSuffix(body, "falseHTTP/1.1true") {
			t.Errorf("the server saw %s", body)
		}
		seen[body] = true
	}
	if got := len(w.dials.all()); got != 5 {
		t.Errorf("%d connections for 5 requests", got)
	}
}

// TestSecondAddress: one that does not answer is followed by the next.
func TestSecondAddress(t *testing.T) {
	w := newWorld(t, nil)
	s := w.serve("http", "api.example.com", okHandler)
	w.names.answers["api.example.com"] = [][]netip.Addr{parseAddrs("93.184.215.99", public.String())}
	if resp, err := w.get(&Request{}); err != nil || string(resp.Body) != "ok" || s.requests.Load() != 1 {
		t.Errorf("got %v", err)
	}
	w.names.answers["api.example.com"] = [][]netip.Addr{parseAddrs(repeat("93.184.215.99", 20)...)}
	before := len(w.dials.all())
	_, err := w.get(&Request{})
	wantKind(t, err, ErrNetwork)
	if n := len(w.dials.all()) - before; n != maxDials {
		t.Errorf("%d addresses were tried", n)
	}
}
