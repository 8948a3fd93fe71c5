package transpile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

func TestFrames(t *testing.T) {
	var stream []byte
	for _, payload := range []string{"a", "", "bc"} {
		stream = appendFrame(stream, payload)
	}
	r, buf := bytes.NewReader(stream), new(bytes.Buffer)
	for _, want := range []string{"a", "", "bc"} {
		got, err := readFrame(r, buf, 2)
		if err != nil || string(got) != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if _, err := readFrame(r, buf, 2); err != io.EOF {
		t.Errorf("at the end: got %v, want io.EOF", err)
	}
	for stream, want := range map[string]error{
		"\x00":                 io.ErrUnexpectedEOF,
		"\x00\x00\x00\x02a":    io.ErrUnexpectedEOF,
		"\x00\x00\x00\x02":     io.ErrUnexpectedEOF,
		"\x00\x00\x00\x03abc":  errFrameTooLarge,
		"\xff\xff\xff\xffabcd": errFrameTooLarge,
	} {
		if _, err := readFrame(strings.NewReader(stream), buf, 2); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", stream, err, want)
		}
	}
}

// TestDeclaredSizeAllocatesNothing: a header that promises much costs nothing
// until it comes.
func TestDeclaredSizeAllocatesNothing(t *testing.T) {
	header := binary.BigEndian.AppendUint32(nil, 1<<30)
	var buf bytes.Buffer
	if _, err := readFrame(bytes.NewReader(header), &buf, 1<<30); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want io.ErrUnexpectedEOF", err)
	}
	if buf.Cap() > 1<<16 {
		t.Errorf("a header made a buffer of %d bytes", buf.Cap())
	}
	payload := append([]byte{byte(replyOK)}, binary.AppendUvarint(nil, maxOutputBytes)...)
	if out, _, malformed := decodeReply(payload); malformed == nil {
		t.Errorf("a length made a text of %d bytes", len(out.Code))
	}
}

func TestReplies(t *testing.T) {
	out := &Output{Code: "a\n", Map: NewLineMap([]Mapping{
		{Position{1, 1}, Position{9, 9}},
		{Position{1, 5}, Position{2, 300}},
		{Position{70000, 2}, Position{math.MaxInt32, 1}},
		{Position{math.MaxInt32, math.MaxInt32}, Position{1, math.MaxInt32}},
	})}
	long := strings.Repeat("中", 1000)
	for name, c := range map[string]struct {
		out  *Output
		err  error
		most int
		want any
	}{
		"output":       {out, nil, 1000, out},
		"empty":        {&Output{Map: NewLineMap(nil)}, nil, 1000, &Output{Map: NewLineMap(nil)}},
		"too large":    {out, nil, 8, ErrOutputTooLarge},
		"code alone":   {out, nil, 2, ErrOutputTooLarge},
		"syntax":       {nil, &SyntaxError{Message: "m", Position: Position{3, 4}, LineText: "l"}, 1000, &SyntaxError{Message: "m", Position: Position{3, 4}, LineText: "l"}},
		"long syntax":  {nil, &SyntaxError{Message: long, LineText: long}, 1000, &SyntaxError{Message: plaintext.Head(long, maxMessage), Position: Position{1, 1}, LineText: plaintext.Head(long, maxLineText)}},
		"module":       {nil, &ModuleAccessError{Syntax: syntaxMeta, Position: Position{5, 6}}, 1000, &ModuleAccessError{Syntax: syntaxMeta, Position: Position{5, 6}}},
		"internal":     {nil, ErrInternal, 1000, ErrInternal},
		"other":        {nil, io.EOF, 1000, ErrInternal},
		"as too large": {nil, ErrOutputTooLarge, 1000, ErrOutputTooLarge},
	} {
		got, outcome, malformed := decodeReply(encodeReply(nil, c.out, c.err, c.most))
		if malformed != nil {
			t.Errorf("%s: %v", name, malformed)
			continue
		}
		switch want := c.want.(type) {
		case *Output:
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(LineMap{}, segment{})); diff != "" || outcome != nil {
				t.Errorf("%s: %v (-want +got)\n%s", name, outcome, diff)
			}
		case error:
			if wantIs := errors.Is(outcome, want); !wantIs && cmp.Diff(want, outcome) != "" || got != nil {
				t.Errorf("%s: got %v, %#v, want %#v", name, got, outcome, want)
			}
		}
	}
}

func TestHello(t *testing.T) {
	h := hello{nonce: newNonce(), memory: 512 << 20, maxSource: 1 << 20, maxOutput: 8 << 20}
	got, err := decodeHello(h.encode())
	if err != nil || got != h {
		t.Errorf("got %+v, %v, want %+v", got, err, h)
	}
	if n, err := decodeGreeting(encodeGreeting(h.nonce)); err != nil || n != h.nonce {
		t.Errorf("got %x, %v, want %x", n, err, h.nonce)
	}
	newer := h.encode()
	newer[len(helloMagic)]++
	unbounded := h
	unbounded.memory = math.MaxInt64
	for name, b := range map[string][]byte{
		"empty": nil, "short": h.encode()[1:], "long": append(h.encode(), 0), "newer": newer, "unbounded": unbounded.encode(),
		"magic": bytes.Replace(h.encode(), []byte("cloister"), []byte("monastic"), 1),
	} {
		if _, err := decodeHello(b); !errors.Is(err, errMalformed) {
			t.Errorf("%s: got %v, want errMalformed", name, err)
		}
	}
}

// FuzzParentReads is the parent's side: a stream from a child that may be
// anything, read as Transform reads it.
func FuzzParentReads(f *testing.F) {
	for _, stream := range []string{
		"\x00\x00\x00\x00",                        // no payload
		"\x00\x00\x00\x03\x03xx",                  // more than the reply says
		"\x00\x00\x00\x08\x00\xff\xff\xff\x1fabc", // a text longer than the payload
	} {
		f.Add([]byte(stream))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		var buf bytes.Buffer
		r := bytes.NewReader(stream)
		for {
			payload, err := readFrame(r, &buf, 1<<16)
			if err != nil {
				return
			}
			_, _ = decodeGreeting(payload) // must not panic; the rest is checked below
			out, outcome, malformed := decodeReply(payload)
			switch {
			case malformed != nil:
				if out != nil || outcome != nil {
					t.Errorf("%q is malformed and has %v, %v", payload, out, outcome)
				}
			case (out == nil) == (outcome == nil):
				t.Errorf("%q has %v and %v", payload, out, outcome)
			case out != nil:
				checkOrder(t, out.Map)
				// What was understood can be said again.
				again, _, err := decodeReply(encodeReply(nil, out, nil, math.MaxInt))
				if diff := cmp.Diff(out, again, cmp.AllowUnexported(LineMap{}, segment{})); diff != "" || err != nil {
					t.Errorf("%v (-first +again)\n%s", err, diff)
				}
			}
		}
	})
}

// checkOrder holds what the look-up in a LineMap rests on.
func checkOrder(t *testing.T, m LineMap) {
	t.Helper()
	for i, s := range m.segs {
		if i > 0 && m.segs[i-1].compare(s) > 0 {
			t.Errorf("segment %d, %+v, lies before the one in front of it", i, s)
		}
		if min(s.genLine, s.genCol, s.srcLine, s.srcCol) < 1 {
			t.Errorf("segment %d, %+v, is no place", i, s)
		}
	}
}

// FuzzChildReads is the child's side: a stream from a parent that may be
// anything, first the hello and then what serve takes for sources.
func FuzzChildReads(f *testing.F) {
	f.Fuzz(func(t *testing.T, stream []byte) {
		r := bytes.NewReader(stream)
		var n nonce
		copy(n[:], "0123456789abcdef")
		h, err := receiveHello(n, r)
		if err != nil {
			h = hello{maxSource: 100, maxOutput: 100}
			r.Reset(stream)
		}
		if h.maxSource > maxSourceBytes || h.maxOutput > maxOutputBytes || h.memory > maxMemory {
			t.Errorf("limits %+v", h)
		}
		code := serve(r, io.Discard, h, func(source string) (*Output, error) {
			if len(source) > h.maxSource {
				t.Errorf("a source of %d bytes, at most %d", len(source), h.maxSource)
			}
			return &Output{Code: source}, nil
		})
		if code != exitDone && code != exitProtocol {
			t.Errorf("exit %d", code)
		}
	})
}

// TestFuzzCorpora: each fuzz target of this package has seeds.
func TestFuzzCorpora(t *testing.T) {
	for _, target := range []string{"FuzzDecodeMappings", "FuzzParentReads", "FuzzChildReads", "FuzzTransform", "FuzzReturns"} {
		seeds, err := os.ReadDir("testdata/fuzz/" + target)
		if err != nil || len(seeds) == 0 {
			t.Errorf("%s has no seeds: %v", target, err)
		}
	}
}
