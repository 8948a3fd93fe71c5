package spans

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/api"
	"github.com/google/go-cmp/cmp"
)

// collected is a Stream whose ended spans are kept as texts.
type collected struct {
	*Stream
	began, ended int
	texts        []string
	now          time.Time
}

func newCollected(maxOpen int) *collected {
	c := &collected{now: time.Unix(1000, 0)}
	c.Stream = NewStream(StreamOptions{
		Identify: func(*Span) (id [8]byte) {
			c.began++
			binary.BigEndian.PutUint64(id[:], uint64(c.began))
			return id
		},
		Ended: func(s *Span) {
			c.ended++
			c.texts = append(c.texts, spanText(s))
		},
		MaxOpen: maxOpen, TTL: time.Minute, MaxText: 64, Now: func() time.Time { return c.now },
	})
	return c
}

// spanText writes a span down with its number among those that began, and its parent's.
func spanText(s *Span) string {
	ms := func(t time.Time) int64 { return t.Sub(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)).Milliseconds() }
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d", s.Name, s.ID[7])
	if s.Parent != nil {
		fmt.Fprintf(&b, " in %d", s.Parent.ID[7])
	}
	fmt.Fprintf(&b, " %d-%d", ms(s.Start), ms(s.End))
	if s.Status != "" {
		b.WriteString(" " + s.Status)
	}
	b.WriteString(marks(s))
	if s.Notes != nil {
		for _, n := range s.Notes.List {
			fmt.Fprintf(&b, " +%s", n.Name)
			if n.Count > 0 {
				fmt.Fprintf(&b, "×%d", n.Count)
			}
		}
	}
	return b.String()
}

func (c *collected) addAll(t testing.TB, lines ...string) {
	t.Helper()
	for line := range strings.Lines(linesOf(t, lines...)) {
		e, err := Decode([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		c.Add(e)
	}
}

func TestStream(t *testing.T) {
	for _, test := range []struct {
		name      string
		lines     []string
		want, end []string // what has ended, and what Close ends
	}{
		{"a span is handed on when it ends, its children before it", []string{
			`@0 "event":"exec.start","runId":"r","callId":"e"`,
			`@1 "event":"search","runId":"r","parentId":"e"`,
			`@10 "event":"call.start","runId":"r","callId":"a","parentId":"e","tool":"a"`,
			`@12 "event":"call.start","runId":"r","callId":"a.1","parentId":"a","tool":"n"`,
			`@13 "event":"describe","runId":"r","parentId":"a.1"`,
			`@14 "event":"call.end","runId":"r","callId":"a.1","status":"tool_failed"`,
			`@15 "event":"call.end","runId":"r","callId":"a","status":"ok"`,
			`@40 "event":"exec.end","runId":"r","callId":"e","status":"completed"`,
		}, []string{"n 3 in 2 12-14 tool_failed bad +describe", "a 2 in 1 10-15 ok", "exec 1 0-40 completed +search"}, nil},
		{"a call outlives its exec and its caller", []string{
			`@0 "event":"exec.start","runId":"r","callId":"e"`,
			`@1 "event":"call.start","runId":"r","callId":"a","tool":"a"`,
			`@2 "event":"call.start","runId":"r","callId":"b","parentId":"a","tool":"b"`,
			`@3 "event":"exec.end","runId":"r","callId":"e","status":"waiting"`,
			`@4 "event":"call.end","runId":"r","callId":"a","status":"ok"`,
			`@5 "event":"wait.start","runId":"r","callId":"w"`,
			`@6 "event":"call.end","runId":"r","callId":"b","status":"ok"`,
		}, []string{"exec 1 0-3 waiting", "a 2 in 1 1-4 ok", "b 3 in 2 2-6 ok"}, []string{"wait 4 5-6 open"}},
		{"approvals: asked, answered before, not answered", []string{
			`@0 "event":"call.start","runId":"r","callId":"a","tool":"a"`,
			`@1 "event":"approval.asked","runId":"r","callId":"a"`,
			`@2 "event":"approval.asked","runId":"r","callId":"a"`,
			`@5 "event":"approval.decided","runId":"r","callId":"a","status":"denied","durationMs":4`,
			`@6 "event":"approval.decided","runId":"r","callId":"a","status":"approved"`,
			`@7 "event":"approval.asked","runId":"r","callId":"a"`,
			`@9 "event":"call.end","runId":"r","callId":"a","status":"cancelled"`,
		}, []string{"approval 2 in 1 1-5 denied bad", "approval 3 in 1 6-6 approved", "approval 4 in 1 7-9 unanswered", "a 1 0-9 cancelled bad"}, nil},
		{"a denial of an open call is a mark, any other a moment", []string{
			`@0 "event":"call.denied","runId":"r","callId":"a","tool":"a","rule":"x"`,
			`@1 "event":"call.start","runId":"r","callId":"a","tool":"a"`,
			`@2 "event":"call.denied","runId":"r","callId":"a","tool":"a","rule":"x"`,
			`@3 "event":"call.end","runId":"r","callId":"a","status":"refused"`,
		}, []string{"a 1 0-0 denied", "a 2 1-3 refused denied"}, nil},
		{"calls without a cell are runs of their own, with those of their plugins", []string{
			`@0 "event":"call.start","runId":"","callId":"a","tool":"a"`,
			`@1 "event":"call.start","runId":"","callId":"b","parentId":"a","tool":"b"`,
			`@2 "event":"call.start","runId":"","callId":"c","tool":"c"`,
			`@3 "event":"call.end","runId":"","callId":"a","status":"ok"`,
			`@4 "event":"call.end","runId":"","callId":"b","parentId":"a","status":"ok"`,
			`@5 "event":"namespace.refused","runId":"","tool":"p"`,
		}, []string{"a 1 0-3 ok", "b 2 in 1 1-4 ok", "namespace.refused 4 5-5 denied"}, []string{"c 3 2-2 open"}},
		{"an end without a start, and a start twice", []string{
			`@20 "event":"call.end","runId":"r","callId":"a","tool":"a","status":"ok","durationMs":5`,
			`@21 "event":"call.start","runId":"r","callId":"a","tool":"a"`,
			`@22 "event":"call.start","runId":"r","callId":"a","tool":"b"`,
			`@30 "event":"exec.end","runId":"r","status":"failed","durationMs":10`,
		}, []string{"a 1 15-20 ok [no start]", "a 2 21-22 open", "exec 4 20-30 failed bad"}, []string{"b 3 22-30 open"}},
		{"a clock that steps back", []string{
			`@1000 "event":"exec.start","runId":"r","callId":"e"`,
			`@500 "event":"call.start","runId":"r","callId":"a","tool":"a"`,
			`@400 "event":"call.end","runId":"r","callId":"a","status":"ok","durationMs":3`,
			`@450 "event":"exec.end","runId":"r","callId":"e","status":"completed","durationMs":7`,
		}, []string{"a 2 in 1 500-503 ok [ends before it starts]", "exec 1 1000-1007 completed [ends before it starts]"}, nil},
		{"events that stand for many", []string{
			`@0 "event":"exec.start","runId":"r","callId":"e"`,
			`@1 "event":"search","runId":"r","parentId":"e","count":40`,
			`@2 "event":"calls.more","runId":"r","parentId":"e","count":7`,
			`@3 "event":"call.denied","runId":"r","tool":"a","count":3`,
			`@4 "event":"exec.end","runId":"r","callId":"e","status":"completed"`,
			`@5 "event":"calls.more","runId":"r","count":2`,
		}, []string{"a 2 in 1 3-3 denied ×3", "exec 1 0-4 completed +search×40 +calls.more×7", "calls.more 3 5-5 ×2"}, nil},
		{"what ends a run from outside is a moment", []string{
			`@0 "event":"expire","runId":"r"`,
			`@1 "event":"later","runId":"r","status":"s"`,
		}, []string{"expire 1 0-0 expired bad", "later 2 1-1 s"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCollected(100)
			c.addAll(t, test.lines...)
			if diff := cmp.Diff(test.want, c.texts); diff != "" {
				t.Errorf("ended (-want +got):\n%s", diff)
			}
			c.texts = nil
			c.Close()
			if diff := cmp.Diff(test.end, c.texts); diff != "" {
				t.Errorf("closed (-want +got):\n%s", diff)
			}
			checkEmpty(t, c)
		})
	}
}

// checkEmpty fails if a Stream in which nothing is open holds on to anything.
func checkEmpty(t *testing.T, c *collected) {
	t.Helper()
	if n := c.Open() + len(c.runs) + len(c.direct) + c.quiet.Len(); n > 0 || c.began != c.ended {
		t.Errorf("%d spans are open, %d runs and %d calls are known; %d began, %d ended", c.Open(), len(c.runs), len(c.direct), c.began, c.ended)
	}
}

func TestStreamExpire(t *testing.T) {
	c := newCollected(100)
	c.addAll(t, `@0 "event":"exec.start","runId":"r","callId":"e"`)
	c.now = c.now.Add(time.Minute / 2)
	c.addAll(t, `@1 "event":"exec.start","runId":"q","callId":"e"`, `@2 "event":"search","runId":"q"`)
	c.now = c.now.Add(time.Minute / 2)
	c.Expire(c.now)
	if diff := cmp.Diff([]string{"exec 1 0-0 open"}, c.texts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	c.Expire(c.now.Add(time.Minute))
	checkEmpty(t, c)
}

// Calls, execs and approvals that never end: no more is kept than MaxOpen allows.
func TestStreamIsBounded(t *testing.T) {
	const most = 1000
	events := 20_000
	if testing.Short() {
		events /= 10
	}
	for name, event := range map[string]func(i int) Event{
		"runs":    func(i int) Event { return Event{Event: api.EventCallStart, RunID: fmt.Sprint(i), CallID: "c"} },
		"one run": func(i int) Event { return Event{Event: api.EventCallStart, RunID: "r", CallID: fmt.Sprint(i)} },
		"without cell": func(i int) Event {
			return Event{Event: api.EventCallStart, CallID: fmt.Sprint(i), ParentID: fmt.Sprint(i - 1)}
		},
		"approvals": func(i int) Event { return Event{Event: api.EventApprovalAsked, RunID: "r", CallID: fmt.Sprint(i)} },
		"execs":     func(i int) Event { return Event{Event: api.EventExecStart, RunID: "r", CallID: fmt.Sprint(i)} },
		"notes": func(i int) Event {
			if i == 0 {
				return Event{Event: api.EventExecStart, RunID: "r"}
			}
			return Event{Event: api.EventSearch, RunID: "r"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ended := 0
			s := NewStream(StreamOptions{
				Identify: func(*Span) [8]byte { return [8]byte{} }, Ended: func(*Span) { ended++ }, MaxOpen: most, TTL: time.Hour, MaxText: 64, Now: time.Now,
			})
			for i := range events {
				e := event(i)
				e.Time = time.UnixMilli(int64(i))
				s.Add(&e)
				if n := len(s.runs); s.Open() > most || n > most || len(s.direct) > most || s.quiet.Len() != n {
					t.Fatalf("after %d events %d spans are open in %d runs", i, s.Open(), n)
				}
			}
			open := s.Open()
			s.Close()
			if s.Open() != 0 || ended < open {
				t.Errorf("%d spans are open after Close, %d ended", s.Open(), ended)
			}
		})
	}
}

// A chain of calls, each made by the one before, which ends then: what has ended is not
// kept by what it called.
func TestStreamKeepsNoChain(t *testing.T) {
	longest := 0
	s := NewStream(StreamOptions{
		Identify: func(*Span) [8]byte { return [8]byte{} }, MaxOpen: 10, TTL: time.Hour, MaxText: 64, Now: time.Now,
		Ended: func(s *Span) {
			n := 0
			for p := s.Parent; p != nil; p = p.Parent {
				n++
			}
			longest = max(longest, n)
		},
	})
	for i := range 1000 {
		id := func(n int) string { return fmt.Sprint("c", n) }
		s.Add(&Event{Event: api.EventCallStart, RunID: "r", CallID: id(i), ParentID: id(i - 1)})
		s.Add(&Event{Event: api.EventCallEnd, RunID: "r", CallID: id(i - 1)})
	}
	if longest != 1 {
		t.Errorf("a span that ends has %d spans above it", longest)
	}
}
