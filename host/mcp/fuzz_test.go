package mcp

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/schema"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// FuzzFrames reads anything as the output of a stdio server. What comes out is a line of
// the input that is strict JSON-RPC, and an answer is one to an open request.
func FuzzFrames(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}` + "\n"))
	f.Add([]byte("noise\r\n" + `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1e3}}` + "\n{"))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"a","method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"x"}}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		w := newWire(false, func() {}, func(string, string) {})
		for range 2 {
			w.last++
			w.pending[w.last] = &exchange{method: methodToolsCall, call: &call{}}
		}
		r := newFrames(bytes.NewReader(data), 1<<10, func(line string) {
			if strings.HasPrefix(strings.TrimLeft(line, " \t"), "{") {
				t.Errorf("a message was skipped: %q", line)
			}
		})
		answers := map[any]bool{}
		for {
			line, err := r.next()
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, ErrProtocol) {
					t.Errorf("got %v", err)
				}
				return
			}
			if len(line) > 1<<10 || !bytes.Contains(data, line) {
				t.Fatalf("%d bytes that are not in the input", len(line))
			}
			msg, err := w.incoming(line)
			if err != nil {
				if !errors.Is(err, ErrProtocol) {
					t.Errorf("got %v", err)
				}
				return
			}
			if schema.Check(line) != nil {
				t.Errorf("%q is no strict JSON", line)
			}
			if a, ok := msg.(*jsonrpc.Response); ok {
				if id := a.ID.Raw(); answers[id] || id != int64(1) && id != int64(2) {
					t.Errorf("an answer to %v", id)
				} else {
					answers[id] = true
				}
			}
			if msg != nil {
				if _, err := jsonrpc.EncodeMessage(msg); err != nil {
					t.Errorf("it cannot be written: %v", err)
				}
			}
		}
	})
}

// FuzzCache reads anything as a file of the cache. What is taken can be written, and is
// the same when it is read again.
func FuzzCache(f *testing.F) {
	f.Add([]byte(`{"version":1,"key":"k","tools":[` + oneTool + `]}`))
	f.Add([]byte(`{"version":1,"key":"k","tools":[{"name":"a","title":"T","description":"<d>","inputSchema":{"type":"object","properties":{"x":{"const":1.0}}},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}],"resources":true,"instructions":"Use it.\n\u202eWell.","skipped":[{"Tool":"b","Reason":"c"}]}`))
	for _, c := range lenientSchemas {
		f.Add([]byte(`{"version":1,"key":"k","tools":[{"name":"t","inputSchema":` + c.input + `,"annotations":{"destructiveHint":"no"}}]}`))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := decodeCache(data, "k", 10)
		if err != nil {
			return
		}
		if len(l.Tools) > 10 {
			t.Fatalf("%d tools", len(l.Tools))
		}
		for _, tool := range l.Tools {
			input := tool.Parameters
			if tool.Checked != nil {
				input = tool.Checked
			}
			if _, err := schema.Compile(input); err != nil {
				t.Errorf("parameters of %q: %v", tool.Name, err)
			}
		}
		out, err := encodeCache(l, "k")
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeCache(out, "k", 10)
		if err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		l.Notes, again.Notes = nil, nil // hints are made good once
		if diff := cmp.Diff(l, again); diff != "" {
			t.Error(diff)
		}
	})
}

// FuzzResult reads anything as the result of a call.
func FuzzResult(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"x"},{"type":"image","data":"AAAA","mimeType":"image/png"}],"structuredContent":{"a":1}}`))
	f.Add([]byte(`{"content":[{"type":"resource","resource":{"uri":"a","blob":"AA=="}},{"type":"resource_link","uri":"b"}],"isError":true}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if schema.Check(data) != nil {
			return // the wire lets nothing else through
		}
		r, err := decodeCallResult("s", data, strings.ToUpper)
		if err != nil {
			var e *host.ToolError
			if !errors.As(err, &e) {
				t.Errorf("got %v", err)
			}
			return
		}
		for _, c := range r.Content {
			if schema.Check(c.JSON) != nil || (c.Data != nil) != (c.Kind != "") && len(c.Data) > 0 {
				t.Errorf("got %+v", c)
			}
		}
	})
}

// FuzzEvents reads anything as a stream of events.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("id: 1\nretry: 5\ndata: " + `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}` + "\n\n"))
	f.Add([]byte(": c\r\n\r\nevent: x\ndata: y\n\ndata:{\ndata:}\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := New([]Server{{Name: "s", URL: "https://example.com/"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := &session{u: m.all()[0], secrets: &secrets{}, cancel: func(error) {}}
		s.wire = newWire(true, func() {}, func(string, string) {})
		s.wire.last = 1
		s.wire.pending[1] = &exchange{method: methodToolsCall, call: &call{}}
		e := newEvents(&web{s: s}, io.NopCloser(bytes.NewReader(data)), 1, true)
		out, err := io.ReadAll(e)
		if err != nil && !errors.Is(err, ErrProtocol) {
			t.Errorf("got %v", err)
		}
		for _, line := range strings.Split(string(out), "\n") {
			if text, ok := strings.CutPrefix(line, "data: "); ok && schema.Check([]byte(text)) != nil {
				t.Errorf("%q is no strict JSON", text)
			}
			if strings.ContainsAny(line, "\r\x00") {
				t.Errorf("control characters in %q", line)
			}
		}
	})
}
