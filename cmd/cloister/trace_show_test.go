package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/internal/spans"
)

func TestTraceDuration(t *testing.T) {
	for ms, want := range map[float64]string{
		0: "0.00 ms", 0.153: "0.15 ms", 9.994: "9.99 ms", 9.996: "10.0 ms", 99.96: "100 ms", 999.4: "999 ms", 999.6: "1.00 s",
		59_994: "59.99 s", 59_996: "1m00s", 119_600: "2m00s", 3_599_400: "59m59s", 3_599_600: "1h00m", 86_400_000: "24h00m",
		spans.MaxDurationMs: "366 days", 3.2e14: "3703703 days",
	} {
		if got := msText(ms); got != want {
			t.Errorf("msText(%v) = %q, want %q", ms, got, want)
		}
	}
}

func TestTraceBar(t *testing.T) {
	at := func(micros int64) time.Time { return time.UnixMicro(micros) }
	l := &traceLayout{bars: 10, first: at(1000), ms: 0.1}
	for _, test := range []struct {
		name string
		s    spans.Span
		want string
	}{
		{"all", spans.Span{Kind: spans.KindCall, Start: at(1000), End: at(1100)}, "██████████"},
		{"a part", spans.Span{Kind: spans.KindCall, Start: at(1020), End: at(1050)}, "  ███     "},
		{"a moment", spans.Span{Kind: spans.KindCall, Start: at(1051), End: at(1051)}, "     █    "},
		{"the last moment", spans.Span{Kind: spans.KindCall, Start: at(1100), End: at(1100)}, "         █"},
		{"suspended", spans.Span{Kind: spans.KindSuspended, Start: at(1000), End: at(1050)}, "░░░░░     "},
		{"open", spans.Span{Kind: spans.KindCall, Start: at(1070), End: at(1100), Open: true}, "       ██▶"},
		{"open at the end", spans.Span{Kind: spans.KindCall, Start: at(1100), End: at(1100), Open: true}, "         ▶"},
		{"suspended, open", spans.Span{Kind: spans.KindSuspended, Start: at(1080), End: at(1100), Open: true}, "        ░▶"},
		{"event", spans.Span{Kind: spans.KindEvent, Start: at(1000), End: at(1000)}, "◆         "},
		{"denied", spans.Span{Kind: spans.KindCall, Start: at(1040), End: at(1040), Denied: true}, "    ×     "},
		{"far out", spans.Span{Kind: spans.KindCall, Start: at(math.MinInt32), End: at(math.MaxInt32)}, "██████████"},
	} {
		before, bar, after := l.bar(&test.s)
		if got := strings.Repeat(" ", before) + bar + strings.Repeat(" ", after); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
	l.ms = 0
	if before, bar, after := l.bar(&spans.Span{Kind: spans.KindCall, Start: at(1000), End: at(1000)}); before != 0 || bar != "█" || after != 9 {
		t.Errorf("no time at all: %d %q %d", before, bar, after)
	}
}

// colourful is a run with one of everything, and hostile names.
func colourful(t *testing.T) *spans.File {
	return traceOf(t,
		`@0 "event":"exec.start","runId":"r\u001b[2J","callId":"e","inputBytes":100`,
		`@10 "event":"call.start","runId":"r\u001b[2J","callId":"c","parentId":"e","tool":"漢字\u202e:tool\nrun_x  completed","unsigned":true`,
		`@20 "event":"call.denied","runId":"r\u001b[2J","callId":"c.1","parentId":"c","tool":"x","caller":"evil\u009b1m","rule":"denied by rule \"\u001b]0;t\u0007\""`,
		`@30 "event":"call.end","runId":"r\u001b[2J","callId":"c","parentId":"e","status":"broken\r","durationMs":20,"outputBytes":5000`,
		`@40 "event":"exec.end","runId":"r\u001b[2J","callId":"e","status":"waiting","durationMs":40`,
		`@50 "event":"\u2066later\ud83d\ude00","runId":"r\u001b[2J"`)
}

// checkTerminalText fails if text has lines that are too wide or what must not
// reach a terminal.
func checkTerminalText(t *testing.T, text string, width int) {
	t.Helper()
	if r, bad := unsafeIn(text, "\n"); bad {
		t.Errorf("%U reaches the terminal:\n%q", r, text)
	}
	for line := range strings.SplitSeq(text, "\n") {
		if n := textWidth(line); width > 0 && n >= width {
			t.Errorf("a line of %d columns on a terminal of %d: %q", n, width, line)
		}
	}
}

func TestTraceTerminal(t *testing.T) {
	tr := colourful(t)
	for width := 20; width <= 240; width++ {
		var out, scratch bytes.Buffer
		if err := writeTraceText(t.Context(), &out, terminal(&scratch, width, false), tr, false); err != nil {
			t.Fatal(err)
		}
		checkTerminalText(t, out.String(), width)
		if n := strings.Count(out.String(), "\n"); n != 7 {
			t.Fatalf("%d lines, want 7:\n%s", n, out.String())
		}
	}
}

// Colours come around the same text.
func TestTraceColours(t *testing.T) {
	tr := colourful(t)
	var plain, coloured, scratch bytes.Buffer
	for out, color := range map[*bytes.Buffer]bool{&plain: false, &coloured: true} {
		if err := writeTraceText(t.Context(), out, terminal(&scratch, 120, color), tr, false); err != nil {
			t.Fatal(err)
		}
	}
	text := coloured.String()
	for _, want := range []string{"\x1b[1;31m×\x1b[0m", "\x1b[33munsigned\x1b[0m", "\x1b[1;31mbroken\\r\x1b[0m", "\x1b[1mr\\x1b[2J\x1b[0m"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%q", want, text)
		}
	}
	for _, style := range []string{"0", styleBold, styleDim, styleRed, styleYellow, styleCyan} {
		text = strings.ReplaceAll(text, "\x1b["+style+"m", "")
	}
	// Spaces before the end of a line are only cut where no colour follows them.
	trim := func(s string) string { return strings.ReplaceAll(s, " \n", "\n") }
	if diff := cmp.Diff(trim(plain.String()), trim(text)); diff != "" {
		t.Errorf("colours change the text (-plain +coloured):\n%s", diff)
	}
}

func TestTraceDenied(t *testing.T) {
	tr := colourful(t)
	var got []string
	for _, s := range tr.Runs[0].Troubled() {
		got = append(got, fmt.Sprint(s.Depth, " ", s.Kind))
	}
	if diff := cmp.Diff([]string{"0 exec", "1 call", "2 call"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	tr = traceOf(t, `@0 "event":"exec.start","runId":"r","callId":"e"`)
	var out bytes.Buffer
	if err := writeTraceText(t.Context(), &out, plainStream(&out), tr, true); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != nothingDenied {
		t.Errorf("%q", got)
	}
}

// traceJSON reads back what --json gives.
type traceJSON struct {
	DamagedLines *int
	Runs         []struct {
		jsonRun
		Spans []jsonSpan
	}
}

func TestTraceJSON(t *testing.T) {
	var out bytes.Buffer
	if err := writeTraceJSON(t.Context(), &out, colourful(t), false); err != nil {
		t.Fatal(err)
	}
	checkTerminalText(t, out.String(), 0)
	var got traceJSON
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	r := got.Runs[0]
	if r.Run != "r\x1b[2J" || r.Start != "2026-03-01T00:00:00.000Z" || r.DurationMs != 50 || r.Calls != 2 || r.Failed != 1 || r.Denied != 1 || r.Unsigned != 1 {
		t.Errorf("run %+v", r.jsonRun)
	}
	forty, twenty := 40.0, 20.0
	want := []jsonSpan{
		{ID: 1, Kind: "exec", Name: "exec", CallID: "e", DurationMs: &forty, Status: "waiting", InputBytes: 100},
		{ID: 2, Parent: 1, Kind: "call", Name: "漢字\u202e:tool\nrun_x  completed", CallID: "c", Tool: "漢字\u202e:tool\nrun_x  completed",
			StartMs: 10, DurationMs: &twenty, Status: "broken\r", Unsigned: true, OutputBytes: 5000},
		{ID: 3, Parent: 2, Kind: "call", Name: "x", CallID: "c.1", Tool: "x", Caller: "evil\u009b1m", StartMs: 20, Denied: true, Rule: "denied by rule \"\x1b]0;t\a\""},
		{ID: 4, Kind: "suspended", Name: "suspended", StartMs: 40, Open: true},
		{ID: 5, Kind: "event", Name: "\u2066later😀", StartMs: 50},
	}
	if diff := cmp.Diff(want, r.Spans); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

// Texts are cut, but ids, by which spans are told apart, are not.
func TestTraceLongTexts(t *testing.T) {
	long := strings.Repeat("ö", 5000)
	tr := traceOf(t, `@0 "event":"call.denied","runId":"`+long+`","callId":"`+long+`","tool":"`+long+`","rule":"`+long+`","caller":"`+long+`"`)
	s := tr.Runs[0].Spans[0]
	for _, text := range []string{s.Name, s.Tool, s.Rule, s.Caller} {
		if len(text) > maxShownText+3 || !utf8.ValidString(text) || !strings.HasSuffix(text, "…") {
			t.Errorf("%d bytes: %q", len(text), text)
		}
	}
	if s.CallID != long {
		t.Error("the id is cut")
	}
	var out bytes.Buffer
	if err := writeTraceText(t.Context(), &out, plainStream(&out), tr, false); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 3000 {
		t.Errorf("%d bytes for one call", out.Len())
	}
}

// An event that stands for many says for how many.
func TestTraceCount(t *testing.T) {
	tr := traceOf(t,
		`@0 "event":"exec.start","runId":"r","callId":"e"`,
		`@1 "event":"search","runId":"r","parentId":"e","count":40`,
		`@2 "event":"calls.more","runId":"r","parentId":"e","count":7`)
	var text, asJSON bytes.Buffer
	if err := writeTraceText(t.Context(), &text, plainStream(&text), tr, false); err != nil {
		t.Fatal(err)
	}
	if got := text.String(); !strings.Contains(got, "7 calls") || !strings.Contains(got, "stands for 40\n") {
		t.Errorf("%s", got)
	}
	if err := writeTraceJSON(t.Context(), &asJSON, tr, false); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(asJSON.String(), `"name":"search","startMs":1,"count":40}`) {
		t.Errorf("%s", asJSON.String())
	}
}

func FuzzTraceShow(f *testing.F) {
	f.Add([]byte(someEvent+"\n"), uint8(80))
	f.Fuzz(func(t *testing.T, data []byte, width uint8) {
		tr, err := readTrace(t.Context(), bytes.NewReader(data), "f", "")
		if err != nil {
			t.Skip("beyond the bounds") // which TestTraceBounds tests
		}
		events := 0
		for _, r := range tr.Runs {
			events += len(r.Spans)
			for i, s := range r.Spans {
				if s.Number != i+1 || s.Parent != nil && (s.Parent.Number >= s.Number || s.Depth != s.Parent.Depth+1) {
					t.Fatalf("span %d is not in the order of the tree", i)
				}
				if s.Start.After(s.End) || s.Start.Before(r.First) || s.End.After(r.Last) {
					t.Fatalf("span %d is from %v to %v, of %v to %v", i, s.Start, s.End, r.First, r.Last)
				}
			}
		}
		if lines := bytes.Count(data, []byte("\n")) + 1; events+tr.Damaged > 2*lines {
			t.Fatalf("%d spans and %d damaged lines of %d lines", events, tr.Damaged, lines)
		}
		var text, asJSON, scratch bytes.Buffer
		screen := terminal(&scratch, int(width), false)
		for _, denied := range []bool{false, true} {
			text.Reset()
			asJSON.Reset()
			if err := writeTraceText(t.Context(), &text, screen, tr, denied); err != nil {
				t.Fatal(err)
			}
			if text.String() != nothingDenied {
				checkTerminalText(t, text.String(), screen.width())
			}
			if err := writeTraceJSON(t.Context(), &asJSON, tr, denied); err != nil {
				t.Fatal(err)
			}
			checkTerminalText(t, asJSON.String(), 0)
			var back traceJSON
			if err := json.Unmarshal(asJSON.Bytes(), &back); err != nil || back.DamagedLines == nil || *back.DamagedLines != tr.Damaged {
				t.Fatalf("%v\n%s", err, asJSON.String())
			}
		}
	})
}
