package debug_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/host/debug"
)

// FuzzStream sends what a provider or a server may send through everything that looks at it:
// it arrives as it was, the secret is not logged, and the log stays in bounds.
func FuzzStream(f *testing.F) {
	f.Add([]byte("event: a\r\ndata: {\"type\":\"b\"}\r\n\r\ndata: [DONE]\n\n"), uint8(3))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`+"\n"), uint8(1))
	f.Add([]byte(`{"model":"m","tools":[{"type":"function","function":{"name":"`+secret+`"}}]}`), uint8(200))
	f.Fuzz(func(t *testing.T, data []byte, step uint8) {
		for _, kind := range []debug.Settings{
			{Transport: true, Payload: debug.PayloadTools, SSE: debug.SSEEvents},
			{Transport: true, Payload: debug.PayloadFullRedacted, SSE: debug.SSEPeek},
		} {
			d, l := newDebug(kind)
			pieces := func() io.ReadCloser { return io.NopCloser(&piecemeal{data, int(step) + 1}) }
			server := roundTrip(func(r *http.Request) (*http.Response, error) {
				if got, err := io.ReadAll(r.Body); err != nil || !bytes.Equal(got, data) {
					t.Errorf("sent %q, %v", got, err)
				}
				return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: pieces()}, nil
			})
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/", pieces())
			if err != nil {
				t.Fatal(err)
			}
			resp, err := d.Transport(server).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range []io.ReadCloser{resp.Body, d.Reader("peer", pieces())} {
				if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, data) {
					t.Errorf("received %q, %v", got, err)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
			out := l.String()
			if strings.Contains(out, secret) || strings.ContainsAny(out, "\x1b\x00\u202e") {
				t.Errorf("logged %q", out)
			}
			if most := 20_000 + 1000*(1+bytes.Count(data, []byte("\n"))+bytes.Count(data, []byte("\r"))) + 20*len(data); len(out) > most {
				t.Errorf("%d bytes of log for %d of data", len(out), len(data))
			}
		}
	})
}

// piecemeal reads a few bytes at a time.
type piecemeal struct {
	data []byte
	step int
}

// Read implements io.Reader.
func (p *piecemeal) Read(b []byte) (int, error) {
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.step)], p.data)
	p.data = p.data[n:]
	return n, nil
}
