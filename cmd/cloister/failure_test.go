package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
)

var limits = host.CodeModeConfig{}.Clamped()

// hostileText holds every kind of text that must not reach a terminal.
const hostileText = "a\x1b]0;t\a\x1b[2Jb\rc\u009b1md\u202ee\u2066f\u200bg\x00h\x7fi\nhint: run this\ncloister: installed\tj\xffk"

func TestFailureText(t *testing.T) {
	src := &source{name: "join.ts", text: "const a = 1;\n\tconst ä = await fetch(url); // " + strings.Repeat("long ", 40)}
	res := &host.Result{
		Status: guestabi.StatusFailed, Error: "ReferenceError: fetch is not defined", Code: guestabi.CodeInternalError,
		Reason: guestabi.ReasonGuestError, Line: 2, Column: 19, // in bytes
	}
	var b bytes.Buffer
	for _, test := range []struct {
		name string
		to   *stream
		want string
	}{
		{"file", plainStream(&b), `join.ts:2:18: ReferenceError: fetch is not defined
      const ä = await fetch(url); // long long long long long long long long long long long long l…
                      ^
reason: guest_error (code internal_error)
hint: a cell has no network; find a tool with tools.search(query)
`},
		{"narrow", terminal(&b, 40, false), `join.ts:2:18: ReferenceError: fetch is not defined
      const ä = await fetch(url); // l…
                      ^
reason: guest_error (code internal_error)
hint: a cell has no network; find a tool with tools.search(query)
`},
		{"colour", terminal(&b, 40, true), "\x1b[1mjoin.ts:2:18:\x1b[0m \x1b[1;31mReferenceError: fetch is not defined\x1b[0m\n" +
			"      const ä = await fetch(url); // l…\n                      \x1b[36m^\x1b[0m\n" +
			"\x1b[2mreason:\x1b[0m guest_error (code internal_error)\n" +
			"\x1b[2mhint:\x1b[0m a cell has no network; find a tool with tools.search(query)\n"},
	} {
		if diff := cmp.Diff(test.want, failureText(test.to, src, res, limits)); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

// What the guest says about itself can be anything, its place included.
func TestFailureTextHostile(t *testing.T) {
	var b bytes.Buffer
	src := &source{name: "evil\x1b[31m.js", text: hostileText + "\n" + hostileText}
	for _, place := range [][2]int{{0, 0}, {1, 1}, {2, 5}, {1, 1 << 20}, {1 << 20, 1}, {3, 0}, {-1, -1}} {
		res := &host.Result{Status: guestabi.StatusFailed, Error: hostileText + strings.Repeat("x", 2*maxMessage), Code: "c", Reason: guestabi.ReasonGuestError, Line: place[0], Column: place[1]}
		for _, s := range []*stream{plainStream(&b), terminal(&b, 30, false)} {
			got := failureText(s, src, res, limits)
			if r, bad := unsafeIn(got, "\n\t"); bad {
				t.Errorf("at %v: %U in %q", place, r, got)
			}
			if n := len(got); n > 3*maxMessage {
				t.Errorf("at %v: %d bytes", place, n)
			}
			for line := range strings.Lines(got) {
				if strings.HasPrefix(line, "hint:") || strings.HasPrefix(line, "cloister:") {
					t.Errorf("at %v: the guest forged the line %q", place, line)
				}
			}
		}
	}
}

// Each reason has an exit code and, where people can do something, a hint.
func TestReasons(t *testing.T) {
	want := map[guestabi.Reason]struct {
		code int
		hint bool
	}{
		guestabi.ReasonRuntimeUnavailable: {3, true}, guestabi.ReasonInvalidConfig: {2, false}, guestabi.ReasonInvalidInput: {1, false},
		guestabi.ReasonUnsupportedLanguage: {2, true}, guestabi.ReasonTypeScriptTransformFailed: {1, false},
		guestabi.ReasonModuleAccessDenied: {1, true}, guestabi.ReasonTimeout: {4, true}, guestabi.ReasonMemoryLimitExceeded: {5, true},
		guestabi.ReasonOutputLimitExceeded: {5, true}, guestabi.ReasonSnapshotLimitExceeded: {5, true}, guestabi.ReasonSnapshotExpired: {5, true},
		guestabi.ReasonSnapshotRestoreFailed: {6, true}, guestabi.ReasonTooManyPendingToolCalls: {5, true}, guestabi.ReasonNestedToolFailed: {1, true},
		guestabi.ReasonGuestError: {1, false}, guestabi.ReasonAborted: {130, false}, guestabi.ReasonInternalError: {6, true},
	}
	for _, reason := range guestabi.Reasons {
		w, ok := want[reason]
		if !ok {
			t.Errorf("the reason %s is new: give it an exit code", reason)
			continue
		}
		if got := reasonCode(reason.Code(), reason); got != w.code {
			t.Errorf("%s: exit code %d, want %d", reason, got, w.code)
		}
		if got := hintFor(&host.Result{Reason: reason}, limits); (got != "") != w.hint || strings.Contains(got, "\n") {
			t.Errorf("%s: hint %q", reason, got)
		}
	}
	for code, want := range map[guestabi.Code]int{
		guestabi.CodeInvalidInput: 1, guestabi.CodeRuntimeUnavailable: 3, guestabi.CodeTimeout: 4, guestabi.CodeOutputLimitExceeded: 5,
		guestabi.CodeSnapshotLimitExceeded: 5, guestabi.CodeAborted: 130, guestabi.CodeInternalError: 6,
	} {
		if got := reasonCode(code, ""); got != want {
			t.Errorf("%s without reason: exit code %d, want %d", code, got, want)
		}
	}
}

func TestOutputHostile(t *testing.T) {
	items := []host.OutputItem{
		{Type: "text", Text: hostileText},
		{Type: "text", Text: hostileText, Level: "warn"},
		{Type: "text", Text: hostileText, Level: hostileText},
		{Type: "json", Value: marshalPlain(map[string]string{hostileText: hostileText})},
	}
	value := marshalPlain(hostileText)
	for _, tty := range []bool{true, false} {
		var out, errs bytes.Buffer
		u := &ui{out: plainStream(&out), err: plainStream(&errs)}
		if tty {
			u = &ui{out: terminal(&out, 80, false), err: terminal(&errs, 80, false)}
		}
		p := &outputPrinter{ui: u}
		p.print(items[:1])
		p.print(items)
		p.value(value)
		if r, bad := unsafeIn(errs.String(), "\n\t"); bad {
			t.Errorf("terminal %v: %U on standard error: %q", tty, r, errs.String())
		}
		for line := range strings.Lines(errs.String()) {
			if !strings.HasPrefix(line, "[") && !strings.HasPrefix(line, "  ") {
				t.Errorf("terminal %v: the guest forged the line %q", tty, line)
			}
		}
		r, bad := unsafeIn(out.String(), "\n\t")
		if bad && tty {
			t.Errorf("%U on a terminal: %q", r, out.String())
		}
		if raw := strings.Count(out.String(), strings.ToValidUTF8(hostileText, "\ufffd")); !tty && raw != 1 || !tty && !strings.HasPrefix(out.String(), hostileText+"\n") {
			t.Errorf("a pipe does not get text and value as they are: %q", out.String())
		}
	}
}

func TestOutputForPeople(t *testing.T) {
	var out, errs bytes.Buffer
	u := &ui{out: terminal(&out, 40, true), err: terminal(&errs, 40, true)}
	p := &outputPrinter{ui: u}
	p.print([]host.OutputItem{
		{Type: "text", Text: "no end"}, {Type: "text", Text: "an end\n"}, {Type: "text"},
		{Type: "text", Text: "one\ntwo\n", Level: "warn"}, {Type: "text", Text: "x", Level: "log"},
		{Type: "json", Value: []byte(`[1]`)},
	})
	for _, v := range []string{"null", `"text"`, `"line\n"`, `{"a":1}`, "0", ""} {
		p.value([]byte(v))
	}
	if diff := cmp.Diff("no end\nan end\n\n[1]\ntext\nline\n{\"a\": 1}\n0\n", out.String()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("\x1b[33m[warn]\x1b[0m one\n       two\n\x1b[36m[log]\x1b[0m x\n", errs.String()); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	errs.Reset()
	quiet := &outputPrinter{ui: u, quiet: true}
	quiet.print([]host.OutputItem{{Type: "text", Text: "x", Level: "log"}, {Type: "text", Text: "kept"}})
	if out.String() != "kept\n" || errs.Len() > 0 {
		t.Errorf("quiet: %q and %q", out.String(), errs.String())
	}
}

// The catalog's layout at several widths, with tools that say hostile things
// about themselves.
func TestCatalogText(t *testing.T) {
	entries := []host.CatalogEntry{
		{ID: "cloister:core:clock_now", Name: "clock_now", Description: "Current date and time. More text.", Parameters: []byte(`{"type":"object"}`)},
		{ID: "cloister:core:read", Name: "read", Description: "Reads, e.g. a file, in one sentence that is rather long and does not fit"},
		{ID: "cloister:acme.evil:" + strings.Repeat("n", 50), Name: strings.Repeat("n", 50), Description: hostileText, Unsigned: true},
		{ID: "cloister:acme.evil:query", Name: "query", Label: "漢字 query", Description: "First line.\nSecond \x1b[31mline that is long enough to be broken into several lines of text.",
			Unsigned:   true,
			Parameters: []byte(`{"type":"object","required":["q","\u001b[2J"],"properties":{"q":{"type":"string","description":"What to look\nfor\u202e"},"\u001b[2J":{"type":["string","null"]},"mode":{"enum":["a","\u009b1m"],"default":"a"},"rows":{"type":"array","items":{"anyOf":[]}},"tags":{"type":"array","items":{"type":["string","number"]}},"any":{},"where":{"type":"array","description":"nested","items":{"type":"object","required":["op"],"properties":{"op":{"enum":["equal","different","less","greater","between","unlike"],"description":"How"},"a":{"type":"object","properties":{"b":{"type":"object","properties":{"too deep":{}}}}}}}}}}`),
			Returns:    []byte(`{"anyOf":[{"type":"string"},{"type":"object","properties":{"a":{"const":"\u001b"}}}]}`)},
	}
	file := filepath.Join("testdata", "catalog.txtar")
	ar, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	got := map[string]string{}
	for name, s := range map[string]*stream{"40": terminal(&b, 40, false), "80": terminal(&b, 80, false), "pipe": plainStream(&b)} {
		got[name] = listText(s, entries, nil) + "---\n" + searchText(s, entries[2:]) + "---\n" + describeText(s, &entries[0], nil) + "---\n" + describeText(s, &entries[3], nil)
		if r, bad := unsafeIn(got[name], "\n"); bad {
			t.Errorf("%s: %U in\n%s", name, r, got[name])
		}
	}
	if *update {
		for i := range ar.Files {
			ar.Files[i].Data = []byte(got[ar.Files[i].Name])
		}
		if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if len(ar.Files) != len(got) {
		t.Fatalf("%s holds %d layouts, want %d", file, len(ar.Files), len(got))
	}
	for _, f := range ar.Files {
		if diff := cmp.Diff(string(f.Data), got[f.Name]); diff != "" {
			t.Errorf("%s: %s", f.Name, diff)
		}
	}
}

// Whatever a plugin says about itself, the catalog can be shown.
func FuzzDescribe(f *testing.F) {
	f.Add("acme.x:t", hostileText, hostileText, []byte(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`), 80)
	f.Add("", "", "", []byte(`{"type":"object","properties":{"\u001b":{"enum":["\u009b"],"default":{"x":1}}}}`), 0)
	f.Add(":", "e.g. x. y", "\xff", []byte(`{"type":"object","properties":[]}`), 20)
	f.Add("a:b", ". . ", "", []byte(`{`), -3)
	f.Fuzz(func(t *testing.T, id, description, label string, schema []byte, width int) {
		e := host.CatalogEntry{ID: "cloister:" + id, Name: id[strings.LastIndexByte(id, ':')+1:], Description: description, Label: label, Parameters: schema, Returns: schema}
		var b bytes.Buffer
		for _, s := range []*stream{plainStream(&b), terminal(&b, width%500, false)} {
			got := listText(s, []host.CatalogEntry{e, e}, nil) + searchText(s, []host.CatalogEntry{e}) + describeText(s, &e, nil)
			if r, bad := unsafeIn(got, "\n\t"); bad {
				t.Errorf("%U in %q", r, got)
			}
		}
	})
}

// Whatever a cell throws and wherever it says that it was, the failure can be
// shown, and no line of it looks like one of ours.
func FuzzFailure(f *testing.F) {
	f.Add("let a\n\tthrow x", "Error: \x1b[31m\nhint: y", 2, 3, 80)
	f.Add("", "", 0, 0, 0)
	f.Add("\r\u2028\xff", "ReferenceError: fetch is not defined", 3, 1<<30, 10)
	f.Fuzz(func(t *testing.T, text, message string, line, column, width int) {
		res := &host.Result{Status: guestabi.StatusFailed, Error: message, Reason: guestabi.ReasonGuestError, Code: guestabi.CodeInternalError, Line: line, Column: column}
		var b bytes.Buffer
		got := failureText(terminal(&b, width%500, false), &source{name: "c.js", text: text}, res, limits)
		if r, bad := unsafeIn(got, "\n\t"); bad {
			t.Errorf("%U in %q", r, got)
		}
		hints := 0
		for l := range strings.Lines(got) {
			if strings.HasPrefix(l, "hint:") || strings.HasPrefix(l, "reason:") {
				hints++
			} else if !strings.HasPrefix(l, "  ") && !strings.HasPrefix(l, "c.js") {
				t.Errorf("line %q of %q", l, got)
			}
		}
		if hints > 2 {
			t.Errorf("forged lines in %q", got)
		}
	})
}
