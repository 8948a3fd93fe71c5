package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// traceOf builds the tree of lines in which @N stands for a time N ms after
// midnight.
func traceOf(t *testing.T, lines ...string) *trace {
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
	if tr.damaged > 0 {
		t.Fatalf("damaged: %+v", tr.damage)
	}
	return tr
}

// treeText writes a tree down: a line for each span, indented by its depth.
func treeText(tr *trace) string {
	var b strings.Builder
	for _, r := range tr.runs {
		fmt.Fprintf(&b, "%s %s\n", r.id, strings.TrimSpace(r.status+" "+r.reason))
		for _, s := range r.spans {
			fmt.Fprintf(&b, "%s%s %d-%d", strings.Repeat(" ", s.depth+1), s.name, (s.start-r.first)/1000, (s.end-r.first)/1000)
			for _, mark := range []struct {
				on   bool
				text string
			}{{s.open, "open"}, {s.denied, "denied"}, {s.bad && !s.denied, "bad"}, {s.unsigned, "unsigned"}, {s.odd != 0, fmt.Sprint(s.odd.list())}} {
				if mark.on {
					b.WriteString(" " + mark.text)
				}
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func TestTraceTree(t *testing.T) {
	for _, test := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"calls in their exec, under them those of plugins, by their starts", []string{
			`@0 "event":"exec.start","runId":"r","callId":"e"`,
			`@20 "event":"call.start","runId":"r","callId":"b","parentId":"e","tool":"b"`,
			`@10 "event":"call.start","runId":"r","callId":"a","parentId":"e","tool":"a","unsigned":true`,
			`@12 "event":"call.start","runId":"r","callId":"a.1","parentId":"a","tool":"n"`,
			`@13 "event":"call.denied","runId":"r","callId":"a.2","parentId":"a","tool":"x","rule":"no such tool"`,
			`@14 "event":"call.end","runId":"r","callId":"a.1","parentId":"a","tool":"n","status":"tool_failed"`,
			`@15 "event":"call.end","runId":"r","callId":"a","parentId":"e","tool":"a","status":"ok"`,
			`@30 "event":"call.end","runId":"r","callId":"b","parentId":"e","tool":"b","status":"ok"`,
			`@40 "event":"exec.end","runId":"r","callId":"e","status":"completed","durationMs":40`,
		}, "r completed\n exec 0-40\n  a 10-15 unsigned\n   n 12-14 bad\n   x 13-13 denied\n  b 20-30\n"},
		{"approvals under their calls, denials by a rule", []string{
			`@0 "event":"exec.start","runId":"r","callId":"e"`,
			`@1 "event":"call.start","runId":"r","callId":"a","parentId":"e","tool":"a","untrusted":true`,
			`@2 "event":"approval.asked","runId":"r","callId":"a","parentId":"e","tool":"a"`,
			`@10 "event":"approval.decided","runId":"r","callId":"a","parentId":"e","tool":"a","status":"approved","by":"op","extent":"run","durationMs":8`,
			`@11 "event":"call.end","runId":"r","callId":"a","parentId":"e","tool":"a","status":"ok"`,
			`@12 "event":"call.start","runId":"r","callId":"b","parentId":"e","tool":"b"`,
			`@13 "event":"approval.decided","runId":"r","callId":"b","parentId":"e","tool":"b","status":"approved","by":"grant"`,
			`@14 "event":"call.end","runId":"r","callId":"b","parentId":"e","tool":"b","status":"policy_denied","rule":"no-b"`,
			`@15 "event":"call.start","runId":"r","callId":"c","parentId":"e","tool":"c"`,
			`@16 "event":"approval.asked","runId":"r","callId":"c","parentId":"e","tool":"c"`,
			`@20 "event":"exec.end","runId":"r","callId":"e","status":"waiting","reason":"approval","durationMs":20`,
		}, "r waiting approval\n exec 0-20\n  a 1-11\n   approval 2-10\n  b 12-14 denied\n   approval 13-13\n  c 15-20 open\n   approval 16-20 open\n suspended 20-20 open\n"},
		{"suspended between the end of one and the start of the next", []string{
			`@0 "event":"exec.start","runId":"r","callId":"e"`,
			`@9 "event":"suspend","runId":"r","outputBytes":9`,
			`@10 "event":"exec.end","runId":"r","callId":"e","status":"waiting"`,
			`@50 "event":"wait.start","runId":"r"`,
			`@51 "event":"resume","runId":"r"`,
			`@52 "event":"call.start","runId":"r","callId":"c","parentId":"e","tool":"c"`,
			`@60 "event":"wait.end","runId":"r","status":"waiting"`,
			`@90 "event":"expire","runId":"r"`,
		}, "r expired\n exec 0-10\n suspended 10-50\n wait 50-60\n  resume 51-51\n  c 52-90 open\n suspended 60-90 bad\n"},
		{"an abort while suspended, and one without", []string{
			`@0 "event":"suspend","runId":"r"`,
			`@1 "event":"abort","runId":"q"`,
			`@5 "event":"exec.start","runId":"r","callId":"e"`,
		}, "r \n suspended 0-5 open\n exec 5-5 open\nq aborted\n abort 0-0 bad\n"},
		{"what fails before there is a cell has an end alone", []string{
			`@500 "event":"exec.end","runId":"","callId":"e","status":"failed","reason":"typescript_transform_failed","durationMs":20`,
			`@600 "event":"namespace.refused","runId":"","tool":"p","status":"why"`,
		}, " failed typescript_transform_failed\n exec 0-20 bad\n namespace.refused 120-120 denied\n"},
		{"preparing the engine is part of an exec", []string{
			`@100 "event":"exec.start","runId":"r","callId":"e"`,
			`@110 "event":"exec.end","runId":"r","callId":"e","status":"completed","durationMs":60`,
		}, "r completed\n exec 0-60\n"},
		{"ids are those of their run", []string{
			`@0 "event":"call.start","runId":"r","callId":"c","tool":"a"`,
			`@1 "event":"call.end","runId":"q","callId":"c","tool":"b","status":"ok"`,
		}, "r \n a 0-0 open\nq \n b 0-0 [no start]\n"},
		{"a parent that is read later", []string{
			`@2 "event":"call.start","runId":"r","callId":"b","parentId":"a","tool":"b"`,
			`@1 "event":"call.start","runId":"r","callId":"a","tool":"a"`,
		}, "r \n a 0-1 open\n  b 1-1 open\n"},
		{"a parent that is not there", []string{
			`@2 "event":"call.denied","runId":"r","parentId":"a","tool":"b"`,
		}, "r \n b 0-0 denied [parent unknown]\n"},
		{"cycles", []string{
			`@0 "event":"call.start","runId":"r","callId":"s","parentId":"s","tool":"s"`,
			`@1 "event":"call.start","runId":"r","callId":"a","parentId":"c","tool":"a"`,
			`@2 "event":"call.start","runId":"r","callId":"b","parentId":"a","tool":"b"`,
			`@3 "event":"call.start","runId":"r","callId":"c","parentId":"b","tool":"c"`,
		}, "r \n s 0-3 open [its own parent]\n b 2-3 open [its own parent]\n  c 3-3 open\n   a 1-3 open\n"},
		{"an id used twice", []string{
			`@0 "event":"call.start","runId":"r","callId":"c","tool":"a"`,
			`@1 "event":"call.start","runId":"r","callId":"c","tool":"b"`,
			`@2 "event":"call.end","runId":"r","callId":"c","status":"ok"`,
			`@3 "event":"call.end","runId":"r","callId":"c","status":"ok","tool":"d","durationMs":2`,
		}, "r \n a 0-3 open\n b 1-2 [id used twice]\n d 1-3 [no start id used twice]\n"},
		{"a clock that goes backwards", []string{
			`@1000 "event":"call.start","runId":"r","callId":"c","tool":"a"`,
			`@10 "event":"call.end","runId":"r","callId":"c","status":"ok","durationMs":30`,
		}, "r \n a 0-30 [ends before it starts]\n"},
		{"an exec on such a clock", []string{
			`@1000 "event":"exec.start","runId":"r","callId":"e"`,
			`@10 "event":"exec.end","runId":"r","callId":"e","status":"completed","durationMs":30`,
		}, "r completed\n exec 0-30 [ends before it starts]\n"},
		{"durations that cannot be", []string{
			`@0 "event":"call.start","runId":"r","callId":"c","tool":"a"`,
			`@10 "event":"call.end","runId":"r","callId":"c","status":"ok","durationMs":1e300`,
			`@20 "event":"call.end","runId":"r","callId":"d","status":"ok","tool":"d","durationMs":-5`,
		}, "r \n a 0-10 [impossible duration]\n d 20-20 [no start impossible duration]\n"},
		{"an end without status is not ok", []string{
			`@0 "event":"call.start","runId":"r","callId":"c","tool":"a"`,
			`@1 "event":"call.end","runId":"r","callId":"c"`,
		}, "r \n a 0-1 bad\n"},
		{"events of later versions are moments", []string{
			`@0 "event":"exec.start","runId":"r","callId":"e"`,
			`@3 "event":"note","runId":"r","text":{"a":[1]}`,
		}, "r \n exec 0-3 open\n  note 3-3\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, treeText(traceOf(t, test.lines...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

const someEvent = `{"time":"2026-03-01T00:00:00Z","event":"a","runId":"r"}`

func TestTraceDamage(t *testing.T) {
	for _, test := range []struct{ name, line, want string }{
		{"cut", `{"time":"2026-03-01T00:00:00Z","ev`, "not valid JSON"},
		{"duplicate key", `{"time":"2026-03-01T00:00:00Z","event":"a","event":"b"}`, `twice`},
		{"duplicate unknown key", `{"time":"2026-03-01T00:00:00Z","event":"a","x":1,"x":2}`, `twice`},
		{"folded key is another", `{"Time":"2026-03-01T00:00:00Z","event":"a"}`, "time is missing"},
		{"no event", `{"time":"2026-03-01T00:00:00Z"}`, "event is missing"},
		{"wrong type", `{"time":"2026-03-01T00:00:00Z","event":7}`, "/event"},
		{"bad time", `{"time":"yesterday","event":"a"}`, "/time"},
		{"negative size", `{"time":"2026-03-01T00:00:00Z","event":"a","inputBytes":-1}`, "negative"},
		{"huge size", `{"time":"2026-03-01T00:00:00Z","event":"a","inputBytes":99999999999999999999}`, "/inputBytes"},
		{"huge number", `{"time":"2026-03-01T00:00:00Z","event":"a","durationMs":1e999}`, "exponent"},
		{"two values", someEvent + someEvent, "more text"},
		{"not UTF-8", "{\"time\":\"2026-03-01T00:00:00Z\",\"event\":\"\xff\"}", "UTF-8"},
		{"nested deeply", `{"time":"2026-03-01T00:00:00Z","event":"a","x":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`, "deeper"},
		{"null", "null", "event is missing"},
		{"too long", `{"x":"` + strings.Repeat("x", maxTraceLine) + `"}`, "more than 64 KiB"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, after := range []string{"", "\n", "\n" + someEvent + "\n"} {
				tr, err := readTrace(t.Context(), strings.NewReader(someEvent+"\n\n"+test.line+after), "f", "")
				if err != nil {
					t.Fatal(err)
				}
				if tr.damaged != 1 || tr.damage[0].line != 3 || !strings.Contains(tr.damage[0].why, test.want) {
					t.Errorf("damage %+v, want line 3 with %q", tr.damage, test.want)
				}
				if want := 1 + min(len(after)/10, 1); len(tr.runs) != 1 || len(tr.runs[0].spans) != want {
					t.Errorf("%d events are read, want %d", len(tr.runs[0].spans), want)
				}
			}
		})
	}
}

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
	// 64 MiB of one line are passed over, and no more are read.
	_, err := readTrace(t.Context(), forever{strings.Repeat("x", 4096)}, "f", "")
	refused(err, "f has more than 64 MiB")
	atBound := io.LimitReader(forever{strings.Repeat(" ", 4096)}, maxTraceBytes)
	if tr, err := readTrace(t.Context(), atBound, "f", ""); err != nil || tr.damaged != 1 {
		t.Errorf("a trace at the bound: %v", err)
	}
	for _, line := range []string{someEvent + "\n", "damaged\n"} {
		_, err = readBounded(t.Context(), forever{line}, "f", "", 100)
		refused(err, "f has more than 100 events")
		_, err = readBounded(t.Context(), forever{line}, "f", "other", 100)
		refused(err, "f has more than 100 events")
		if _, err := readBounded(t.Context(), strings.NewReader(strings.Repeat(line, 100)), "f", "", 100); err != nil {
			t.Errorf("100 events: %v", err)
		}
	}
	file := filepath.Join(t.TempDir(), "large")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, maxTraceBytes+1)); err != nil {
		t.Fatal(err)
	}
	_, err = new(app).readTraceFile(t.Context(), &traceFlags{}, file)
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
	if spans := tr.runs[0].spans; len(spans) != n || spans[n-1].depth != n-1 {
		t.Errorf("%d spans, the last one %d deep", len(spans), spans[n-1].depth)
	}
	var out, scratch bytes.Buffer
	if err := writeTraceText(t.Context(), &out, terminal(&scratch, 80, false), tr, false); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(out.String(), "\n"); lines != n+2 || out.Len() > lines*200 {
		t.Errorf("%d lines in %d bytes", lines, out.Len())
	}
}

// Only the run that is asked for is kept.
func TestTraceOneRun(t *testing.T) {
	text := someEvent + "\n" + strings.Replace(someEvent, `"r"`, `"q"`, 1)
	for run, want := range map[string]int{"r": 1, "q": 1, "": 2, "no": 0} {
		tr, err := readTrace(t.Context(), strings.NewReader(text), "f", run)
		if err != nil {
			t.Fatal(err)
		}
		if tr.leftOut != (run != "") || len(tr.runs) != want || want == 1 && tr.runs[0].id != run {
			t.Errorf("--run %q gives %d runs", run, len(tr.runs))
		}
	}
}

func TestTraceFuzzCorpus(t *testing.T) {
	files, err := os.ReadDir("testdata/fuzz/FuzzTraceShow")
	if err != nil || len(files) == 0 {
		t.Errorf("FuzzTraceShow has a corpus of %d files (%v)", len(files), err)
	}
}
