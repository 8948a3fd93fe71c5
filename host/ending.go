package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/quickjs"
)

// finish writes the cell's value. That runs getters and toJSON, which may print,
// call tools or fail: the cell has ended only when another turn found nothing more.
func (c *cell) finish(ctx context.Context) error {
	value, err := c.g.result(ctx, guestabi.EntryFinish, c.h.cfg.MaxOutputBytes)
	if errors.Is(err, quickjs.ErrTooLarge) || err == nil && c.outBytes+len(value) > c.h.cfg.MaxOutputBytes {
		return c.overflow()
	}
	if err != nil {
		var t *thrownError
		if errors.As(err, &t) {
			t.Message = "the value returned has no JSON form: " + t.Message
		}
		return err
	}
	if c.value, err = guestJSON(value); err != nil {
		return err
	}
	c.outBytes += len(c.value)
	return nil
}

// guestJSON checks JSON text that a guest wrote: others will read it, with bounds
// of their own. Lone surrogates, which are no UTF-8, become U+FFFD.
func guestJSON(text []byte) (json.RawMessage, error) {
	depth, deepest, inText := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	if deepest > guestabi.MaxValueDepth {
		return nil, fail(guestabi.ReasonGuestError, "a value is nested deeper than the %d levels that are allowed", guestabi.MaxValueDepth)
	}
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	if !json.Valid(text) {
		return nil, badMessage()
	}
	return text, nil
}

// completed ends the cell with its value.
func (c *cell) completed(ctx context.Context) *Result {
	if c.g.vm.ModuleDenied() {
		return c.failed(ctx, moduleDenied())
	}
	if reason, ok := c.g.vm.Unhandled(); ok {
		return c.failed(ctx, c.unhandled(ctx, reason))
	}
	if c.g.vm.OutOfMemory() {
		c.limitHit(guestabi.ReasonMemoryLimitExceeded)
	}
	c.release(guestabi.StateCompleted)
	return c.result(&Result{Status: guestabi.StatusCompleted, Value: c.value})
}

// unhandled is a promise that failed and that nobody awaited: the program would
// otherwise report success.
func (c *cell) unhandled(ctx context.Context, reason quickjs.Value) error {
	err := c.g.reason(ctx, reason)
	var t *thrownError
	if errors.As(err, &t) {
		e := c.explain(t)
		e.message = "a promise failed and was not awaited: " + e.message
		return e
	}
	return err
}

// rejected is the error of a cell whose main promise was rejected.
func (c *cell) rejected(ctx context.Context) error {
	v, err := c.g.vm.Result(ctx, c.g.main)
	if err != nil {
		return err
	}
	return c.g.reason(ctx, v)
}

// failed ends the cell with an error of any kind.
func (c *cell) failed(ctx context.Context, err error) *Result {
	e := c.classify(ctx, err)
	switch e.reason {
	case guestabi.ReasonTimeout, guestabi.ReasonMemoryLimitExceeded, guestabi.ReasonOutputLimitExceeded,
		guestabi.ReasonSnapshotLimitExceeded, guestabi.ReasonTooManyPendingToolCalls:
		c.limitHit(e.reason)
	}
	state := guestabi.StateFailed
	if e.reason == guestabi.ReasonAborted {
		state = guestabi.StateAborted
	}
	c.release(state)
	return c.result(&Result{Status: guestabi.StatusFailed, Error: e.message, Reason: e.reason, Code: e.reason.Code(), Line: e.line, Column: e.column})
}

// classify decides the reason. The host's own observations come first: what the
// guest says about itself only chooses the words.
func (c *cell) classify(ctx context.Context, err error) *runError {
	var e *runError
	var t *thrownError
	vm := c.g.vm
	switch {
	case errors.As(err, &e):
		return e
	case ctx.Err() != nil || c.ctx.Err() != nil:
		return fail(guestabi.ReasonAborted, "the run was aborted")
	case errors.Is(err, quickjs.ErrInterrupted):
		return fail(guestabi.ReasonTimeout, "the program ran longer than it may; do less in one cell, or await tools instead of looping")
	case vm != nil && vm.ModuleDenied():
		e = moduleDenied()
		if errors.As(err, &t) {
			e.line, e.column = c.place(t.Stack)
		}
		return e
	case vm != nil && vm.OutOfMemory():
		return fail(guestabi.ReasonMemoryLimitExceeded, "the program needs more than its %d bytes of memory", c.h.cfg.MemoryLimitBytes)
	case errors.As(err, &t):
		return c.explain(t)
	case errors.Is(err, quickjs.ErrOutOfMemory):
		return fail(guestabi.ReasonMemoryLimitExceeded, "the guest's memory is exhausted")
	case errors.Is(err, quickjs.ErrTooLarge):
		return fail(guestabi.ReasonOutputLimitExceeded, "output is too large")
	case errors.Is(err, quickjs.ErrTrapped):
		return fail(guestabi.ReasonGuestError, "the program broke the engine's limits, most likely by nesting too deeply")
	}
	return fail(guestabi.ReasonInternalError, "the host could not run the program")
}

// moduleDenied is the error of a cell that tried to load a module, whether or not
// it caught the failure.
func moduleDenied() *runError {
	return fail(guestabi.ReasonModuleAccessDenied, "modules are not available: use the tools that ALL_TOOLS lists")
}

// explain turns a thrown value into the run's error.
func (c *cell) explain(t *thrownError) *runError {
	e := &runError{reason: guestabi.ReasonGuestError, message: t.Error()}
	e.line, e.column = c.place(t.Stack)
	switch {
	case c.isFailure(&t.Thrown):
		e.reason = guestabi.ReasonNestedToolFailed
	case t.Code == string(guestabi.ReasonTooManyPendingToolCalls):
		e.reason = guestabi.ReasonTooManyPendingToolCalls
	case e.message == "":
		e.message = "the program threw an empty text"
	case t.Name == "ReferenceError" && t.Message == "require is not defined":
		e.reason, e.message = guestabi.ReasonModuleAccessDenied, "require is not available: use the tools that ALL_TOOLS lists"
	default:
		if hint := c.absent(e.message, e.line, e.column); hint != "" {
			e.message += ": " + hint
		}
	}
	return e
}

// syntaxFault is the error of source that does not compile. Whether it is about
// modules is seen from where the engine's parser stopped.
func (c *cell) syntaxFault(code string, t *thrownError) *runError {
	line, column, _ := stackFrame(t.Stack)
	e := &runError{reason: guestabi.ReasonInvalidInput, message: t.Error()}
	if moduleSyntax(code, line, column) {
		e.reason, e.message = guestabi.ReasonModuleAccessDenied, "import and export are not available: a cell has no modules; use the tools that ALL_TOOLS lists"
	}
	e.line, e.column = c.mapPlace(line, column)
	return e
}

// place finds the innermost place of the cell in a stack trace. Frames of code that
// the TypeScript transform added have no place in the source.
func (c *cell) place(stack string) (line, column int) {
	for range 16 {
		var rest string
		if line, column, rest = stackFrame(stack); line == 0 {
			return 0, 0
		}
		if line, column = c.mapPlace(line, column); line != 0 {
			return line, column
		}
		stack = rest
	}
	return 0, 0
}

func (c *cell) mapPlace(line, column int) (int, int) {
	if line == 0 || c.position == nil {
		return line, column
	}
	return c.position(line, column)
}

// stackFrame reads the first "cell.js:LINE:COLUMN" of a stack trace, which is the
// guest's word, and gives what follows it. The wrapper's length is taken off
// columns of the first line.
func stackFrame(stack string) (line, column int, rest string) {
	const file = "cell.js:"
	_, rest, found := strings.Cut(stack, file)
	if !found {
		return 0, 0, ""
	}
	place := rest
	if end := strings.IndexFunc(rest, func(r rune) bool { return r != ':' && (r < '0' || r > '9') }); end >= 0 {
		place, rest = rest[:end], rest[end:]
	} else {
		rest = ""
	}
	l, col, _ := strings.Cut(place, ":")
	line, err := strconv.Atoi(l)
	if err != nil || line <= 0 || line > 1<<24 {
		return 0, 0, rest
	}
	if column, err = strconv.Atoi(col); err != nil || column < 0 || column > 1<<28 {
		column = 0
	}
	if line == 1 {
		column = max(column-len(guestabi.WrapPrefix), 1)
	}
	return line, column, rest
}

// moduleSyntax says whether the parser stopped at, or right after, the keyword
// import or export.
func moduleSyntax(code string, line, column int) bool {
	lines := strings.Split(code, "\n")
	if line < 1 || line > len(lines) {
		return false
	}
	text := lines[line-1]
	at := min(max(column-1, 0), len(text))
	before := strings.TrimRight(strings.Join(lines[max(0, line-3):line-1], "\n")+"\n"+text[:at], " \t\r\n({*.")
	after := text[at:]
	return slices.ContainsFunc([]string{"import", "export"}, func(word string) bool {
		return endsWithWord(before, word) || strings.HasPrefix(after, word) && !startsIdentifier(after[len(word):])
	})
}

func endsWithWord(s, word string) bool {
	return strings.HasSuffix(s, word) && (len(s) == len(word) || !isIdentifierByte(s[len(s)-len(word)-1]) && s[len(s)-len(word)-1] != '.')
}

func startsIdentifier(s string) bool { return s != "" && isIdentifierByte(s[0]) }

func isIdentifierByte(b byte) bool {
	return b == '_' || b == '$' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b >= 0x80
}

// result completes a Result with output and telemetry.
func (c *cell) result(r *Result) *Result {
	r.Output = c.output
	r.Attachments = c.files.ofResult(r)
	if r.Waiting == guestabi.WaitApproval {
		var tools []string
		for i := range r.Pending {
			if r.Pending[i].Approval {
				tools = append(tools, r.Pending[i].Tool)
			}
		}
		r.Message = c.h.ApprovalMessage(tools...)
	}
	t := c.telemetry
	c.run.fillTelemetry(&t)
	t.CalledTools = append([]string{}, t.CalledTools...)
	t.LimitsHit = append([]guestabi.Reason{}, t.LimitsHit...)
	r.Telemetry = t
	return r
}

func (r *Run) fillTelemetry(t *Telemetry) {
	t.CatalogSize = r.cat.Len()
	t.Sources = r.cat.Counts()
	t.VisibleTools = []string{"exec", "wait"}
	r.mu.Lock()
	t.ExecCount, t.WaitCount = r.execs, r.waits
	r.mu.Unlock()
	if t.CalledTools == nil {
		t.CalledTools = []string{}
	}
	if t.LimitsHit == nil {
		t.LimitsHit = []guestabi.Reason{}
	}
}

// failure is a failed result without a cell.
func (r *Run) failure(e *runError) *Result {
	res := &Result{Status: guestabi.StatusFailed, Error: e.message, Reason: e.reason, Code: e.reason.Code(), Line: e.line, Column: e.column}
	r.fillTelemetry(&res.Telemetry)
	return res
}

func (r *Run) emitEnd(event EventName, runID, callID string, start time.Time, res *Result) {
	e := TraceEvent{Event: event, RunID: runID, CallID: callID, Status: string(res.Status), Reason: res.Reason, DurationMs: ms(time.Since(start))}
	r.stamp(&e)
}
