package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// approver asks the person at the terminal about calls that need approval. Where
// nobody can answer there is no approver, and the library refuses such calls.
type approver struct {
	ui      *ui
	answers io.Reader
	listen  sync.Once
	lines   chan string

	one sync.Mutex // question at a time
}

// approver gives nil unless standard input and standard error are a terminal and
// the cell does not come from standard input.
func (a *app) approver(u *ui, file string) *approver {
	if file == "-" || !a.stderr.tty || !term.IsTerminal(int(a.stdin.Fd())) {
		return nil
	}
	return &approver{ui: u, answers: a.stdin, lines: make(chan string)}
}

// read hands on lines. It ends with the program: the read of a terminal cannot
// be cancelled.
func (p *approver) read() {
	defer close(p.lines)
	for sc := bufio.NewScanner(p.answers); sc.Scan(); {
		p.lines <- sc.Text()
	}
}

// function is the value for host.Options.Approve.
func (p *approver) function() func(context.Context, *host.ToolCall) (host.Decision, error) {
	if p == nil {
		return nil
	}
	return p.approve
}

// approve asks one question and waits for the answer.
func (p *approver) approve(ctx context.Context, call *host.ToolCall) (host.Decision, error) {
	line, _, err := p.ask(ctx, question(p.ui.err, call))
	if err != nil {
		return host.Decision{}, err
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return host.Decision{Approved: true, By: "terminal"}, nil
	case "r", "run":
		if call.Approval == host.ApprovalAsk {
			return host.Decision{Approved: true, Extent: host.ApproveRun, By: "terminal"}, nil
		}
	}
	return host.Decision{Reason: "the user refused the call", By: "terminal"}, nil
}

// ask puts a question, one at a time, and gives the line that answers it; false
// for none, as after Ctrl-D.
func (p *approver) ask(ctx context.Context, question string) (line string, ok bool, err error) {
	p.one.Lock()
	defer p.one.Unlock()
	if ctx.Err() != nil {
		return "", false, ctx.Err()
	}
	p.listen.Do(func() { go p.read() })
	defer p.ui.ask(question)()
	select {
	case line, ok = <-p.lines:
		if !ok { // Ctrl-D
			p.ui.print(p.ui.err, "\n")
		}
		return line, ok, nil
	case <-ctx.Done():
		p.ui.print(p.ui.err, "\n")
		return "", false, ctx.Err()
	}
}

// maxQuestion bounds what a question shows of the input, in bytes.
const maxQuestion = 2000

// question shows a call with its input, which the cell chose.
func question(s *stream, call *host.ToolCall) string {
	who := escapeLine(call.Tool)
	if call.Unsigned {
		who += " (unsigned)"
	}
	answers := "[y/N]"
	if call.Approval == host.ApprovalAsk {
		answers = "[y/N, r for all calls of this tool by this cell]"
	}
	return fmt.Sprintf("%s call %s with\n  %s\n%s ", s.paint(styleYellow, "approve?"), s.paint(styleBold, who),
		boundedJSON(s, call.Input), s.paint(styleYellow, answers))
}

// boundedJSON shows foreign JSON, indented below a line of ours.
func boundedJSON(s *stream, text []byte) string {
	shown := prettyJSON(text, s.width()-2)
	if len(shown) > maxQuestion {
		shown = fmt.Sprintf("%s (%d bytes in all)", plaintext.ShowLines(shown, maxQuestion), len(text))
	}
	return strings.ReplaceAll(shown, "\n", "\n  ")
}
