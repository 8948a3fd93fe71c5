package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/plugins"
)

func newUI(width int) (*ui, *bytes.Buffer, *bytes.Buffer) {
	var out, errs bytes.Buffer
	return &ui{out: terminal(&out, width, false), err: terminal(&errs, width, false), open: map[string]string{}, progress: true}, &out, &errs
}

func TestProgressLine(t *testing.T) {
	u, _, _ := newUI(80)
	start := func(id, tool string) { u.Emit(host.TraceEvent{Event: "call.start", CallID: id, Tool: tool}) }
	end := func(id string) { u.Emit(host.TraceEvent{Event: "call.end", CallID: id}) }
	check := func(width int, want string) {
		t.Helper()
		got := u.progressLine(3900*time.Millisecond, width)
		if got != want || textWidth(got) > width {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	check(60, "running · 3 s · Ctrl-C stops")
	u.noCell, u.note = true, "compiling acme.hello"
	check(60, "compiling acme.hello · 3 s · Ctrl-C stops")
	u.noCell, u.note = false, ""
	start("1", "cloister:core:sleep")
	start("2", "cloister:acme.csv:csv_query")
	start("3", "cloister:core:sleep")
	check(60, "waiting for csv_query, sleep ×2 · 3 s · Ctrl-C stops")
	check(40, "waiting for csv_qu… · 3 s · Ctrl-C stops")
	u.report(nil, host.Progress{Value: json.RawMessage("{\"percent\": 5, \"step\": \"\u202e\"}")})
	check(100, `waiting for csv_query, sleep ×2 · {"percent": 5, "step": "\u{202e}"} · 3 s · Ctrl-C stops`)
	u.report(nil, host.Progress{Message: "row 5\x1b[2J"})
	end("1")
	check(80, `waiting for csv_query, sleep · row 5\x1b[2J · 3 s · Ctrl-C stops`)
	end("2")
	end("3")
	check(60, "running · 3 s · Ctrl-C stops")
	start("4", "\x1b[31mevil")
	check(60, `waiting for \x1b[31mevil · 3 s · Ctrl-C stops`)
}

// What a plugin logs and how long its compilation takes is shown, and is not
// trusted.
func TestPluginEvents(t *testing.T) {
	u, out, errs := newUI(80)
	u.pluginLog(plugins.LogRecord{Plugin: "acme.x", Level: "warn", Text: hostileText})
	if r, bad := unsafeIn(errs.String(), "\n\t"); bad || !strings.HasPrefix(errs.String(), "[acme.x warn] a\\x1b]0;t") || out.Len() > 0 {
		t.Errorf("%U in %q", r, errs.String())
	}
	for line := range strings.Lines(errs.String()) {
		if strings.HasPrefix(line, "hint:") || strings.HasPrefix(line, "cloister:") {
			t.Errorf("the plugin forged the line %q", line)
		}
	}
	u.compiling(plugins.CompileEvent{Plugin: "acme.x"})
	if got, want := u.progressLine(time.Second, 80), "running · compiling acme.x · 1 s · Ctrl-C stops"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	u.compiling(plugins.CompileEvent{Plugin: "acme.x", Done: true})
	if got, want := u.progressLine(time.Second, 80), "running · 1 s · Ctrl-C stops"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The line is gone before anything else is written, and comes after a moment.
func TestProgressMakesRoom(t *testing.T) {
	u, out, errs := newUI(60)
	u.start = time.Unix(100, 0)
	u.draw(u.start.Add(progressDelay / 2))
	if errs.Len() > 0 {
		t.Errorf("at once: %q", errs.String())
	}
	u.draw(u.start.Add(2 * time.Second))
	const line = "\r\x1b[Krunning · 2 s · Ctrl-C stops"
	if errs.String() != line {
		t.Errorf("got %q, want %q", errs.String(), line)
	}
	u.do(func() { u.print(u.out, "text\n") })
	u.do(func() { u.print(u.out, "more\n") })
	if want := line + "\r\x1b[K"; errs.String() != want || out.String() != "text\nmore\n" {
		t.Errorf("got %q and %q", errs.String(), out.String())
	}
	// A question stands alone until it is answered.
	done := u.ask("sure? ")
	u.draw(u.start.Add(3 * time.Second))
	wrote := make(chan struct{})
	go func() {
		u.do(func() { u.print(u.out, "approve? harmless\n") })
		close(wrote)
	}()
	if u.turn.TryLock() {
		t.Error("others may write while a question is open")
	}
	if want := line + "\r\x1b[Ksure? "; errs.String() != want || out.String() != "text\nmore\n" {
		t.Errorf("got %q and %q", errs.String(), out.String())
	}
	done()
	<-wrote
	if out.String() != "text\nmore\napprove? harmless\n" {
		t.Errorf("after the answer: %q", out.String())
	}
}

func TestApprove(t *testing.T) {
	call := &host.ToolCall{Tool: "cloister:acme.mail:send\x1b[2J", Unsigned: true, Input: json.RawMessage("{\"to\":\"a\u202eb\x1b\"}")}
	for _, test := range []struct {
		answer   string
		approved bool
	}{
		{"y\n", true}, {"YES \n", true}, {"n\n", false}, {"\n", false}, {"yess\n", false}, {"", false},
	} {
		u, _, errs := newUI(80)
		p := &approver{ui: u, answers: strings.NewReader(test.answer), lines: make(chan string)}
		d, err := p.approve(t.Context(), call)
		if err != nil || d.Approved != test.approved || d.Approved == (d.Reason != "") {
			t.Errorf("%q: %+v, %v", test.answer, d, err)
		}
		if r, bad := unsafeIn(errs.String(), "\n"); bad {
			t.Errorf("%U in the question %q", r, errs.String())
		}
		for _, want := range []string{`cloister:acme.mail:send\x1b[2J (unsigned)`, `[y/N] `} {
			if !strings.Contains(errs.String(), want) {
				t.Errorf("the question lacks %q: %q", want, errs.String())
			}
		}
	}
}

// An answer can hold for all calls of a tool, unless the tool wants to be asked for
// each.
func TestApproveForTheRun(t *testing.T) {
	for approval, want := range map[host.Approval]host.Extent{host.ApprovalAsk: host.ApproveRun, host.ApprovalAlways: ""} {
		u, _, errs := newUI(80)
		p := &approver{ui: u, answers: strings.NewReader("r\n"), lines: make(chan string)}
		d, err := p.approve(t.Context(), &host.ToolCall{Tool: "x", Approval: approval, Input: []byte("{}")})
		if err != nil || d.Approved != (want != "") || d.Extent != want || strings.Contains(errs.String(), "r for all") != (want != "") {
			t.Errorf("%s: %+v, %v, %q", approval, d, err, errs.String())
		}
	}
}

// A question is dropped when the run ends, and a call that comes then is not
// asked about.
func TestApproveCancelled(t *testing.T) {
	u, _, errs := newUI(80)
	r, w := io.Pipe()
	defer w.Close()
	p := &approver{ui: u, answers: r, lines: make(chan string)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if d, err := p.approve(ctx, &host.ToolCall{Input: []byte("{}")}); !errors.Is(err, context.Canceled) || d.Approved || errs.Len() > 0 {
		t.Errorf("%+v, %v, %q", d, err, errs.String())
	}
	ctx, cancel = context.WithCancel(t.Context())
	u.err = &stream{Writer: &notifier{text: "[y/N]", done: cancel}, tty: true}
	if d, err := p.approve(ctx, &host.ToolCall{Input: []byte("{}")}); !errors.Is(err, context.Canceled) || d.Approved {
		t.Errorf("%+v, %v", d, err)
	}
}

// Questions come one after the other, each with its own answer.
func TestApproveOneAtATime(t *testing.T) {
	u, _, errs := newUI(80)
	p := &approver{ui: u, answers: strings.NewReader("y\nn\ny\nn\n"), lines: make(chan string)}
	var wg sync.WaitGroup
	var mu sync.Mutex
	approved := 0
	for range 4 {
		wg.Go(func() {
			d, err := p.approve(t.Context(), &host.ToolCall{Tool: "x", Input: []byte("{}")})
			mu.Lock()
			defer mu.Unlock()
			if d.Approved && err == nil {
				approved++
			}
		})
	}
	wg.Wait()
	if approved != 2 || strings.Count(errs.String(), "[y/N]") != 4 {
		t.Errorf("%d approved; %q", approved, errs.String())
	}
}

func TestQuestionIsBounded(t *testing.T) {
	input := marshalPlain(strings.Repeat("x", 100_000))
	if got := question(plainStream(nil), &host.ToolCall{Tool: "x", Input: input}); len(got) > maxQuestion+300 || !strings.Contains(got, "100002 bytes in all") {
		t.Errorf("%d bytes: %.300q", len(got), got)
	}
}

// The whole way of a hostile cell to a terminal.
func TestRunOnTerminal(t *testing.T) {
	t.Setenv("CLOISTER_ENGINE", enginePath(t))
	t.Setenv("CLOISTER_CACHE_DIR", compiled)
	const say = "\"\\x1b[2J\\u202e\\u009b1m\\r\""
	for name, cell := range map[string]string{
		"output": "text(" + say + "); console.log(" + say + "); json([" + say + "]); return " + say,
		"error":  "throw new Error(" + say + ")",
		"source": "throw \x01\x1b[2J\u202e",
		"name":   "await tools.call(" + say + ", {})",
	} {
		file := filepath.Join(t.TempDir(), "cell\x1b[31m.js")
		if err := os.WriteFile(file, []byte(cell), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		a := &app{stdin: os.Stdin, stdout: terminal(&out, 80, false), stderr: terminal(&errs, 80, false)}
		code := a.main(t.Context(), []string{"run", file})
		if (code == exitOK) != (name == "output") {
			t.Errorf("%s: exit code %d", name, code)
		}
		shown := strings.ReplaceAll(out.String()+errs.String(), "\r\x1b[K", "") // of the progress line
		if r, bad := unsafeIn(shown, "\n"); bad || shown == "" {
			t.Errorf("%s: %U in %q", name, r, shown)
		}
	}
}
