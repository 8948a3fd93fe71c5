package spans

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/cloister-wasm/cloister/api"
)

// A ring of calls, each the parent of the next, in an order in which no parent is known
// when its child is read.
func TestRing(t *testing.T) {
	const n = 50_000
	tree := NewTree(64)
	for i := range n {
		tree.Add(&Event{Time: time.UnixMilli(1), Event: api.EventCallStart, RunID: "r", CallID: fmt.Sprint(i), ParentID: fmt.Sprint((i + 1) % n)})
	}
	tree.Finish()
	spans := tree.Runs[0].Spans
	if len(spans) != n || spans[n-1].Depth != n-1 || spans[0].Odd != OddCycle {
		t.Errorf("%d spans, the last one %d deep; the first is %v", len(spans), spans[n-1].Depth, spans[0].Odd.Texts())
	}
}

// What a million events may cost follows from what one does.
func TestSizes(t *testing.T) {
	if n := unsafe.Sizeof(Span{}); n > 352 {
		t.Errorf("a span has %d bytes", n)
	}
	if n := unsafe.Sizeof(Run{}); n > 256 {
		t.Errorf("a run has %d bytes", n)
	}
}

// Execs and waits that never end are looked through at each end: only the latest few are.
func TestManyPhases(t *testing.T) {
	tree := NewTree(64)
	const n = 20_000
	for i := range n {
		tree.Add(&Event{Time: time.UnixMilli(1), Event: api.EventExecStart, RunID: "r", CallID: fmt.Sprint(i)})
	}
	if len(tree.Runs[0].phases) != maxPhases {
		t.Errorf("%d execs run", len(tree.Runs[0].phases))
	}
	tree.Add(&Event{Time: time.UnixMilli(2), Event: api.EventExecEnd, RunID: "r", CallID: fmt.Sprint(n - 3), Status: "completed"})
	tree.Finish()
	for i, s := range tree.Runs[0].Spans {
		if s.Open != (i != n-3) {
			t.Fatalf("exec %d is open: %t", i, s.Open)
		}
	}
}

// Sums of counts do not turn over.
func TestCounts(t *testing.T) {
	f := fileOf(t,
		`@0 "event":"exec.start","runId":"r","callId":"e"`,
		`@1 "event":"call.denied","runId":"r","tool":"a","count":3`,
		`@2 "event":"calls.more","runId":"r","parentId":"e","count":7,"unsigned":true`,
		`@3 "event":"search","runId":"r","parentId":"e","count":1000`,
		`@4 "event":"call.start","runId":"r","callId":"c","parentId":"e","tool":"c"`)
	if got, want := f.Runs[0].Counts, (Counts{Calls: 11, Denied: 3, Unsigned: 7}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	want := "r \n exec 0-4 open\n  a 1-1 denied ×3\n  calls.more 2-2 unsigned ×7\n  search 3-3 ×1000\n  c 4-4 open\n"
	if got := treeText(f); got != want {
		t.Errorf("got\n%s", got)
	}
	var c Counts
	for range 3 {
		c.add(&Span{Kind: KindCall, Count: math.MaxInt - 1})
	}
	if c.Calls != math.MaxInt {
		t.Errorf("%d calls", c.Calls)
	}
}

func TestDurationsThatAreNone(t *testing.T) {
	for _, ms := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 1e300, MaxDurationMs + 1} {
		s := &Span{}
		if d := s.told(ms); d != 0 || s.Odd != OddDuration {
			t.Errorf("%v ms are %v, %v", ms, d, s.Odd.Texts())
		}
	}
	s := &Span{}
	if d := s.told(1.001); d != 1001*time.Microsecond || s.Odd != 0 {
		t.Errorf("%v", d)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(someEvent + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tr, err := Read(t.Context(), bytes.NewReader(data), nil)
		if err != nil {
			t.Skip("beyond the bounds") // which TestBounds tests
		}
		lines, n := bytes.Count(data, []byte("\n"))+1, 0
		for _, r := range tr.Runs {
			n += len(r.Spans)
			checkTree(t, r)
		}
		if n+tr.Damaged > 2*lines {
			t.Fatalf("%d spans and %d damaged lines of %d lines", n, tr.Damaged, lines)
		}
		c := newCollected(4)
		for line := range bytes.Lines(data) {
			if e, err := Decode(line); err == nil {
				c.Add(e)
			}
			if c.Open() > 4 || len(c.runs) > 4 {
				t.Fatalf("%d spans are open in %d runs", c.Open(), len(c.runs))
			}
		}
		c.Close()
		checkEmpty(t, c)
		if text := strings.Join(c.texts, "\n"); len(text) > 600*lines+10*len(data) {
			t.Fatalf("%d bytes of %d lines", len(text), lines)
		}
	})
}

// checkTree fails if spans are not in the order of their tree, or outside of its times.
func checkTree(t *testing.T, r *Run) {
	t.Helper()
	for i, s := range r.Spans {
		switch {
		case s.Number != i+1 || s.Parent == nil && s.Depth != 0:
			t.Fatalf("span %d is number %d, %d deep", i, s.Number, s.Depth)
		case s.Parent != nil && (s.Parent.Run != r || s.Parent.Number >= s.Number || s.Depth != s.Parent.Depth+1):
			t.Fatalf("span %d is not below its parent", i)
		case s.Start.After(s.End) || s.Start.Before(r.First) || s.End.After(r.Last):
			t.Fatalf("span %d is from %v to %v, of %v to %v", i, s.Start, s.End, r.First, r.Last)
		}
	}
}
