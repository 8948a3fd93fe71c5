package spans

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// linesOf writes lines in which @N stands for a time N ms after midnight.
func linesOf(t testing.TB, lines ...string) string {
	t.Helper()
	var b strings.Builder
	for _, line := range lines {
		var ms int
		if _, err := fmt.Sscanf(line, "@%d", &ms); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		_, rest, _ := strings.Cut(line, " ")
		at := time.Date(2026, 3, 1, 0, 0, 0, ms*1e6, time.UTC)
		fmt.Fprintf(&b, `{"time":%q,%s}`+"\n", at.Format(time.RFC3339Nano), rest)
	}
	return b.String()
}

// fileOf builds the tree of such lines.
func fileOf(t testing.TB, lines ...string) *File {
	t.Helper()
	f, err := Read(t.Context(), strings.NewReader(linesOf(t, lines...)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if f.Damaged > 0 {
		t.Fatalf("damaged: %+v", f.Damage)
	}
	return f
}

// marks are what stands beside a span.
func marks(s *Span) string {
	var b strings.Builder
	for _, mark := range []struct {
		on   bool
		text string
	}{{s.Open, "open"}, {s.Denied, "denied"}, {s.Bad && !s.Denied, "bad"}, {s.Unsigned, "unsigned"}, {s.Count > 0, fmt.Sprint("×", s.Count)}, {s.Odd != 0, fmt.Sprint(s.Odd.Texts())}} {
		if mark.on {
			b.WriteString(" " + mark.text)
		}
	}
	return b.String()
}

// treeText writes a tree down: a line for each span, indented by its depth.
func treeText(f *File) string {
	var b strings.Builder
	for _, r := range f.Runs {
		fmt.Fprintf(&b, "%s %s\n", r.ID, strings.TrimSpace(r.Status+" "+string(r.Reason)))
		for _, s := range r.Spans {
			fmt.Fprintf(&b, "%s%s %d-%d%s\n", strings.Repeat(" ", s.Depth+1), s.Name, s.Start.Sub(r.First).Milliseconds(), s.End.Sub(r.First).Milliseconds(), marks(s))
		}
	}
	return b.String()
}

func TestTree(t *testing.T) {
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
		{"a call that is denied while it is open is one line, and its approval ends with it", []string{
			`@0 "event":"call.start","runId":"r","callId":"c","tool":"a"`,
			`@1 "event":"approval.asked","runId":"r","callId":"c"`,
			`@2 "event":"call.denied","runId":"r","callId":"c","tool":"a","rule":"x"`,
			`@3 "event":"call.end","runId":"r","callId":"c","status":"refused"`,
			`@4 "event":"search","runId":"r"`,
		}, "r \n a 0-3 denied\n  approval 1-3\n search 4-4\n"},
		{"an exec and a wait at once", []string{
			`@0 "event":"exec.start","runId":"r","callId":"e"`,
			`@1 "event":"wait.start","runId":"r","callId":"w"`,
			`@2 "event":"exec.end","runId":"r","callId":"e","status":"completed"`,
			`@3 "event":"call.start","runId":"r","callId":"c","parentId":"e","tool":"c"`,
		}, "r completed\n exec 0-2\n wait 1-3 open\n  c 3-3 open\n"},
		{"events of later versions are moments", []string{
			`@0 "event":"exec.start","runId":"r","callId":"e"`,
			`@3 "event":"note","runId":"r","text":{"a":[1]}`,
		}, "r \n exec 0-3 open\n  note 3-3\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, treeText(fileOf(t, test.lines...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
