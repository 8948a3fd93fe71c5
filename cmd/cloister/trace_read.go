package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// Bounds of a trace that is read.
const (
	maxTraceBytes  = 64 << 20
	maxTraceEvents = 1_000_000
	maxTraceLine   = 64 << 10
	maxShownDamage = 5   // damaged lines that are named
	maxShownText   = 300 // bytes of a name, a status or a rule
)

// damagedLine is a line of a trace that is no event.
type damagedLine struct {
	line int // from 1
	why  string
}

// readTrace reads a trace and builds its tree. Unless it is empty, only names the
// one run to keep.
func readTrace(ctx context.Context, r io.Reader, name, only string) (*trace, error) {
	return readBounded(ctx, r, name, only, maxTraceEvents)
}

// readBounded is readTrace with another bound of events, for tests.
func readBounded(ctx context.Context, r io.Reader, name, only string, maxEvents int) (*trace, error) {
	t := newTrace(name)
	lines := bufio.NewReaderSize(&boundedReader{r: r, left: maxTraceBytes}, maxTraceLine)
	events := 0
	for number := 1; ; number++ {
		if interrupted(ctx, number) {
			return nil, errInterrupted
		}
		line, err := traceLine(lines)
		switch {
		case errors.Is(err, io.EOF):
			t.finish()
			return t, nil
		case errors.Is(err, errTraceBytes):
			return nil, traceTooLarge(name, fmt.Sprintf("%d MiB", maxTraceBytes>>20))
		case errors.Is(err, errTraceLine):
			t.refuse(number, err.Error())
			continue
		case err != nil:
			return nil, usageError(fmt.Errorf("trace: %w", err), "")
		}
		if blank(line) {
			continue
		}
		if events++; events > maxEvents {
			return nil, traceTooLarge(name, fmt.Sprintf("%d events", maxEvents))
		}
		e, err := traceEvent(line)
		if err != nil {
			t.refuse(number, err.Error())
			continue
		}
		if only != "" && e.RunID != only {
			t.leftOut = true
			t.otherRun = cmp.Or(t.otherRun, e.RunID)
			continue
		}
		t.add(e)
	}
}

// traceEvent reads one line. Members that this version does not know are none of
// its business; the ones that it does know must be right.
func traceEvent(line []byte) (*host.TraceEvent, error) {
	var e host.TraceEvent
	if err := schema.DecodeInto(line, &e, &schema.DecodeOptions{AllowUnknown: true}); err != nil {
		return nil, err
	}
	switch {
	case e.Event == "":
		return nil, errors.New("event is missing")
	case e.Time.IsZero():
		return nil, errors.New("time is missing")
	case e.InputBytes < 0 || e.OutputBytes < 0:
		return nil, errors.New("a size is negative")
	}
	return &e, nil
}

// refuse counts a damaged line and remembers the first few.
func (t *trace) refuse(line int, why string) {
	if t.damaged++; t.damaged <= maxShownDamage {
		t.damage = append(t.damage, damagedLine{line, why})
	}
}

var (
	errTraceBytes = errors.New("the trace is too large")
	errTraceLine  = fmt.Errorf("the line has more than %d KiB", maxTraceLine>>10)
)

// traceLine gives the next line, valid until the next call. What is too long is
// passed over to its end.
func traceLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	switch {
	case err == nil, errors.Is(err, io.EOF) && len(line) > 0:
		return line, nil
	case !errors.Is(err, bufio.ErrBufferFull):
		return nil, err
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = r.ReadSlice('\n')
	}
	if err == nil || errors.Is(err, io.EOF) {
		return nil, errTraceLine
	}
	return nil, err
}

// blank reports a line of nothing but JSON's white space.
func blank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return false
		}
	}
	return true
}

// boundedReader fails, rather than ends, where there is more than it may give.
type boundedReader struct {
	r    io.Reader
	left int
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if len(p) > b.left+1 {
		p = p[:b.left+1] // one more tells whether there is more
	}
	n, err := b.r.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, errTraceBytes
	}
	return n, err
}

// cutText bounds a text that is shown, without holding on to the rest of it.
func cutText(s string) string {
	if len(s) <= maxShownText {
		return s
	}
	return strings.Clone(cutBytes(s, maxShownText)) + "…"
}
