package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/internal/spans"
)

// traceOf builds the tree of lines in which @N stands for a time N ms after
// midnight.
func traceOf(t *testing.T, lines ...string) *spans.File {
	t.Helper()
	var b strings.Builder
	for _, line := range lines {
		var ms int
		var rest string
		if _, err := fmt.Sscanf(line, "@%d", &ms); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		_, rest, _ = strings.Cut(line, " ")
		fmt.Fprintf(&b, `{"time":"2026-03-01T%02d:%02d:%02d.%03dZ",%s}`+"\n", ms/3600000, ms/60000%60, ms/1000%60, ms%1000, rest)
	}
	tr, err := readTrace(t.Context(), strings.NewReader(b.String()), "test", "")
	if err != nil {
		t.Fatal(err)
	}
	if tr.Damaged > 0 {
		t.Fatalf("damaged: %+v", tr.Damage)
	}
	return tr
}

const someEvent = `{"time":"2026-03-01T00:00:00Z","event":"a","runId":"r"}`

// forever repeats a text.
type forever struct{ text string }

func (f forever) Read(p []byte) (int, error) {
	if len(p) < len(f.text) {
		return copy(p, f.text), nil
	}
	n := 0
	for n+len(f.text) <= len(p) {
		n += copy(p[n:], f.text)
	}
	return n, nil
}

func TestTraceBounds(t *testing.T) {
	refused := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) || codeOf(err) != exitUsage {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	_, err := readTrace(t.Context(), forever{strings.Repeat("x", 4096)}, "f", "")
	refused(err, "f has more than 64 MiB")
	file := filepath.Join(t.TempDir(), "large")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, spans.MaxBytes+1)); err != nil {
		t.Fatal(err)
	}
	_, _, err = new(app).readTraceFile(t.Context(), &traceFlags{}, file)
	refused(err, "more than 64 MiB")
}

func TestTraceInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := readTrace(ctx, forever{"\n"}, "f", ""); !errors.Is(err, errInterrupted) {
		t.Errorf("error %v", err)
	}
}

// A chain of calls as deep as it goes, in an order in which no parent is known
// when its child is read, and closed to a ring.
func TestTraceDeep(t *testing.T) {
	const n = 20_000
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, `{"time":"2026-03-01T00:00:00Z","event":"call.start","runId":"r","callId":"%d","parentId":"%d","tool":"t"}`+"\n", i, (i+1)%n)
	}
	tr, err := readTrace(t.Context(), &b, "f", "")
	if err != nil {
		t.Fatal(err)
	}
	if spans := tr.Runs[0].Spans; len(spans) != n || spans[n-1].Depth != n-1 {
		t.Errorf("%d spans, the last one %d deep", len(spans), spans[n-1].Depth)
	}
	var out, scratch bytes.Buffer
	if err := writeTraceText(t.Context(), &out, terminal(&scratch, 80, false), tr, false); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(out.String(), "\n"); lines != n+2 || out.Len() > lines*200 {
		t.Errorf("%d lines in %d bytes", lines, out.Len())
	}
}

func TestTraceFuzzCorpus(t *testing.T) {
	files, err := os.ReadDir("testdata/fuzz/FuzzTraceShow")
	if err != nil || len(files) == 0 {
		t.Errorf("FuzzTraceShow has a corpus of %d files (%v)", len(files), err)
	}
}
