package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/schema"
	"github.com/cloister-wasm/cloister/plugins"
)

// interrupts is the value for host.Options.OnInterrupt: nil where nobody can
// answer, which leaves the call pending.
func (p *approver) interrupts() func(context.Context, *host.ToolCall, json.RawMessage) (json.RawMessage, error) {
	if p == nil {
		return nil
	}
	return p.interrupt
}

// interrupt shows what a plugin asks and reads the answer.
func (p *approver) interrupt(ctx context.Context, call *host.ToolCall, payload json.RawMessage) (json.RawMessage, error) {
	line, ok, err := p.ask(ctx, interruptQuestion(p.ui.err, call, payload))
	if err != nil {
		return nil, err
	}
	if !ok || strings.TrimSpace(line) == "" {
		return nil, &plugins.ToolError{Name: "Error", Code: "refused", Message: "the user gave no answer"}
	}
	return resolutionOf(line)
}

// resolutionOf takes a line as JSON where it is, else as a text.
func resolutionOf(line string) (json.RawMessage, error) {
	line = strings.TrimSpace(line)
	if schema.Check([]byte(line)) == nil {
		return json.RawMessage(line), nil
	}
	text, err := json.Marshal(strings.ToValidUTF8(line, "\ufffd"))
	if err != nil {
		return nil, errors.New("the answer has no JSON form")
	}
	return text, nil
}

// interruptQuestion shows a payload, which the plugin chose.
func interruptQuestion(s *stream, call *host.ToolCall, payload json.RawMessage) string {
	who := escapeLine(call.Tool)
	if call.Unsigned {
		who += " (unsigned)"
	}
	return fmt.Sprintf("%s %s asks\n  %s\n%s ", s.paint(styleYellow, "paused:"), s.paint(styleBold, who),
		boundedJSON(s, payload), s.paint(styleYellow, "answer, JSON or a text:"))
}

// onlyInterrupts says that all a run waits for are answers of people, which do not
// come by waiting.
func onlyInterrupts(res *host.Result) bool {
	if res.Status != guestabi.StatusWaiting || len(res.Pending) == 0 {
		return false
	}
	for _, c := range res.Pending {
		if c.Method != "interrupt" {
			return false
		}
	}
	return true
}

// interruptText says what nobody answered.
func interruptText(s *stream, res *host.Result) string {
	var b strings.Builder
	for _, c := range res.Pending {
		fmt.Fprintf(&b, "%s %s asks\n  %s\n", s.paint(styleYellow, "paused:"), s.paint(styleBold, escapeLine(c.Tool)), boundedJSON(s, c.Input))
	}
	return b.String() + s.paint(styleDim, "hint:") + " run the cell from a file in a terminal: there you are asked, and only there\n"
}
