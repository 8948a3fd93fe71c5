package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/plugins"
)

// ui shares the two outputs between a run's output and the progress line, which
// must be gone before anything else is written. It is safe for concurrent use.
type ui struct {
	out, err *stream

	// turn is held by whoever writes, and as long as a question is on the screen:
	// no cell and no plugin writes between a question and its answer.
	turn sync.Mutex

	mu sync.Mutex
	// noCell: there is no cell to tell of, only what the note says.
	noCell   bool
	progress bool // show a progress line
	held     bool // a question is on the screen
	drawn    bool
	start    time.Time
	open     map[string]string // call id to tool name
	note     string            // what a tool said last
}

// do writes to the outputs, undisturbed by the progress line.
func (u *ui) do(write func()) {
	u.turn.Lock()
	defer u.turn.Unlock()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.erase()
	write()
}

func (u *ui) erase() {
	if u.drawn {
		u.print(u.err, "\r\x1b[K")
		u.drawn = false
	}
}

// print writes to an output. Where standard output or standard error is gone
// there is nobody left to tell.
func (u *ui) print(s *stream, text string) { _, _ = io.WriteString(s, text) }

// The progress line comes after a moment, so that quick cells stay quiet.
const (
	progressDelay = 500 * time.Millisecond
	progressEvery = 200 * time.Millisecond
)

// watch shows the progress line until the returned function is called.
func (u *ui) watch(ctx context.Context) (stop func()) {
	if !u.progress {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	u.mu.Lock()
	u.start = time.Now()
	u.mu.Unlock()
	go func() {
		defer close(done)
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-ticker.C:
				u.draw(now)
			}
		}
	}()
	return func() {
		cancel()
		<-done
		u.do(func() {})
	}
}

func (u *ui) draw(now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.held || now.Sub(u.start) < progressDelay {
		return
	}
	line := u.progressLine(now.Sub(u.start), u.err.width()-1)
	u.print(u.err, "\r\x1b[K"+u.err.paint(styleDim, line))
	u.drawn = true
}

// progressLine says what the cell is doing: which tools it waits for and since
// when it runs.
func (u *ui) progressLine(since time.Duration, width int) string {
	counts := map[string]int{}
	for _, tool := range u.open {
		counts[tool]++
	}
	what := "running"
	if len(counts) > 0 {
		var names []string
		for _, tool := range slices.Sorted(maps.Keys(counts)) {
			if n := counts[tool]; n > 1 {
				tool = fmt.Sprintf("%s ×%d", tool, n)
			}
			names = append(names, tool)
		}
		what = "waiting for " + strings.Join(names, ", ")
	}
	end := fmt.Sprintf(" · %d s · Ctrl-C stops", int(since.Seconds()))
	switch {
	case u.noCell && u.note != "":
		what = u.note
	case u.note != "":
		what += " · " + u.note
	}
	return clip(what, width-textWidth(end)) + end
}

// Emit implements host.TraceSink: the line follows the calls.
func (u *ui) Emit(e host.TraceEvent) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch e.Event {
	case host.EventCallStart:
		u.open[e.CallID] = escapeLine(e.Tool[strings.LastIndexByte(e.Tool, ':')+1:])
	case host.EventCallEnd:
		delete(u.open, e.CallID)
		if len(u.open) == 0 {
			u.note = ""
		}
	}
}

// report takes what a tool says about its progress.
func (u *ui) report(_ *host.ToolCall, p host.Progress) {
	text := p.String()
	if raw, ok := p.Value.(json.RawMessage); ok {
		text = string(raw)
	} else if p.Value != nil {
		text = string(marshalPlain(p.Value))
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.note = plaintext.Show(text, 200)
}

// compiling follows the compilation of a plugin, which takes a moment the first
// time.
func (u *ui) compiling(e plugins.CompileEvent) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.note = ""
	if !e.Done {
		u.note = "compiling " + escapeLine(e.Plugin)
	}
}

// pluginLog shows a line that a plugin wrote.
func (u *ui) pluginLog(r plugins.LogRecord) {
	text := consoleLines(u.err, host.OutputItem{Text: r.Text, Level: r.Plugin + " " + r.Level})
	u.do(func() { u.print(u.err, text) })
}

// ask puts a question on the screen, which is all there is until the returned
// function is called.
func (u *ui) ask(question string) (done func()) {
	u.turn.Lock()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.erase()
	u.held = true
	u.print(u.err, question)
	return func() {
		u.mu.Lock()
		u.held = false
		u.mu.Unlock()
		u.turn.Unlock()
	}
}
