package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/host"
)

func (a *app) approvalsWatch() *cobra.Command {
	f := &approvalsFlags{}
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Show calls as they come to wait, and ask about each",
		Long: `Shows calls as they come to wait for approval, one after the other, and asks at a
terminal: y approves the call, r all calls of its tool by the same program, s all calls
of its tool in the same session, n refuses, and an empty line leaves it for later. What
is typed before a call is shown does not count. Elsewhere it shows them and does not
ask; with --json each is a line of JSON.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.watchApprovals(cmd.Context(), f) },
	}
	f.register(cmd)
	return cmd
}

const (
	pollSeconds = 25
	pollPause   = 200 * time.Millisecond
	findEvery   = 2 * time.Second
	// settleTime is enough to read what a terminal has kept.
	settleTime = 150 * time.Millisecond
)

// watchApprovals is the command `approvals watch`.
func (a *app) watchApprovals(ctx context.Context, f *approvalsFlags) error {
	servers, err := f.servers()
	if err != nil {
		return err
	}
	w := &watcher{a: a, flags: f, servers: map[string][]waitingCall{}, changed: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(ctx)
	defer w.polls.Wait()
	defer cancel()
	if len(servers) == 0 && !f.json {
		a.complain("no cloister serve of this user takes approvals yet; waiting for one", "")
	}
	w.follow(ctx, servers)
	w.polls.Go(func() { w.find(ctx) })
	return w.show(ctx)
}

// show shows calls as they come, and asks at a terminal.
func (w *watcher) show(ctx context.Context) error {
	seen := map[string]bool{}
	var lines chan string
	if w.a.interactive() && !w.flags.json {
		lines = make(chan string)
		go readLines(w.a.stdin, lines)
		settle(ctx, lines)
	}
	for {
		c := w.next(seen)
		if c == nil {
			select {
			case <-ctx.Done():
				return errInterrupted
			case <-w.changed:
			case _, ok := <-lines: // typed while nothing is asked
				if !ok {
					return nil
				}
			}
			continue
		}
		seen[c.ID] = true
		if err := w.one(ctx, c, lines); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// settle drops what was typed before the command began.
func settle(ctx context.Context, lines <-chan string) {
	timer := time.NewTimer(settleTime)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case _, ok := <-lines:
			if !ok {
				return // show sees it too
			}
		}
	}
}

// readLines hands on what is typed. It ends with the program: the read of a terminal
// cannot be cancelled.
func readLines(from io.Reader, to chan<- string) {
	defer close(to)
	for sc := bufio.NewScanner(from); sc.Scan(); {
		to <- sc.Text()
	}
}

// one shows one call, and asks.
func (w *watcher) one(ctx context.Context, c *waitingCall, lines chan string) error {
	a := w.a
	if w.flags.json {
		return a.write(string(escapeJSON(marshalPlain(c))) + "\n")
	}
	if lines == nil {
		return a.write(waitingText(a.stdout, c, time.Now()))
	}
	for drained := false; !drained; { // an answer is to what was seen
		select {
		case _, ok := <-lines:
			if !ok {
				return io.EOF
			}
		default:
			drained = true
		}
	}
	ask := "[y] once  [r] run  [s] session  [n] refuse: "
	if c.Approval.Approval == host.ApprovalAlways {
		ask = "[y] once  [n] refuse: "
	}
	_, _ = io.WriteString(a.stderr, waitingText(a.stderr, c, time.Now())+a.stderr.paint(styleYellow, ask)) // without standard error nobody is asked
	for {
		select {
		case <-ctx.Done():
			_, _ = io.WriteString(a.stderr, "\n") // see above
			return errInterrupted
		case <-w.changed:
			if !w.open(c.ID) {
				_, _ = io.WriteString(a.stderr, "\nit does not wait any more\n") // see above
				return nil
			}
		case line, ok := <-lines:
			if !ok {
				return io.EOF
			}
			d, known := answerOf(line, c)
			if !known {
				_, _ = io.WriteString(a.stderr, a.stderr.paint(styleYellow, ask)) // see above
				continue
			}
			if d == nil {
				return a.say("left for later: cloister approvals approve " + escapeLine(c.ID))
			}
			if err := c.from.decide(ctx, c.ID, d); err != nil {
				if ctx.Err() != nil {
					return errInterrupted
				}
				a.complain(err.Error(), "")
				return nil
			}
			return a.say(answerText(d))
		}
	}
}

func (a *app) say(text string) error {
	_, err := io.WriteString(a.stderr, a.stderr.paint(styleDim, text)+"\n")
	if err != nil {
		return &exitError{code: exitInternal, err: fmt.Errorf("writing to standard error: %w", err)}
	}
	return nil
}

// answerOf reads what was typed: nil means that the call is left for later.
func answerOf(line string, c *waitingCall) (d *host.Decision, known bool) {
	always := c.Approval.Approval == host.ApprovalAlways
	switch word := strings.ToLower(strings.TrimSpace(line)); {
	case word == "":
		return nil, true
	case word == "y", word == "yes":
		return &host.Decision{Approved: true, Extent: host.ApproveOnce}, true
	case word == "r" && !always:
		return &host.Decision{Approved: true, Extent: host.ApproveRun}, true
	case word == "s" && !always:
		return &host.Decision{Approved: true, Extent: host.ApproveSession}, true
	case word == "n", word == "no":
		return &host.Decision{Reason: "the user refused the call"}, true
	}
	return nil, false
}

func answerText(d *host.Decision) string {
	switch {
	case !d.Approved:
		return "refused"
	case d.Extent == host.ApproveOnce:
		return "approved once"
	}
	return "approved for this " + string(d.Extent)
}
