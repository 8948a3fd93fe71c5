package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// held is what the serving process holds at one moment.
type held struct {
	Sessions   int `json:"sessions"`
	Requests   int `json:"requests"`
	Running    int `json:"running"`
	Queued     int `json:"queued"`
	Goroutines int `json:"goroutines"`
	// Files are open descriptors, 0 where the system does not tell.
	Files int `json:"files"`
}

// askHeld asks the serving process, and the system, what it holds.
func (l *load) askHeld(ctx context.Context) (*held, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(l.srv.approvals, "/approvals")+"/status", nil)
	if err != nil {
		return nil, err
	}
	res, err := l.ask(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s, %w", res.Status, clip(string(text)), err)
	}
	var h held
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, err
	}
	if files, err := os.ReadDir("/proc/" + strconv.Itoa(l.srv.pid()) + "/fd"); err == nil {
		h.Files = len(files)
	}
	return &h, nil
}

// warmUp runs each thing once, so that what is made at the first use is there, and notes
// what the server holds when that is over.
func (l *load) warmUp(ctx context.Context) error {
	c, err := l.connect(ctx)
	if err != nil {
		return err
	}
	for _, code := range []string{`return 1`, `try { await MCP.load.echo({nonce: "warm"}) } catch {} return 1`, `await yield_control(); return 1`} {
		if _, err := c.exec(ctx, code); err != nil {
			return fmt.Errorf("warming up: %w", err)
		}
	}
	l.expect("echo", "warm", 0, 1, "of the first program")
	if err := c.Close(); err != nil {
		return fmt.Errorf("warming up: %w", err)
	}
	c.wire.vanish()
	for {
		if l.rep.Before, err = l.askHeld(ctx); err != nil {
			return err
		}
		if l.rep.Before.Sessions == 0 {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Slack of what is left: connections to servers and approvers come and go, and machines
// are kept for the next program.
const (
	filesSlack      = 16
	goroutinesSlack = 32
)

// checkHeld compares what is held when all is over with what was held before.
func (r *report) checkHeld() {
	if r.Before == nil || r.After == nil {
		return
	}
	b, a := r.Before, r.After
	for _, c := range []struct {
		what          string
		before, after int
		slack         int
	}{
		{"sessions", b.Sessions, a.Sessions, 0}, {"requests", b.Requests, a.Requests, 0},
		{"running programs", b.Running, a.Running, 0}, {"programs that wait for their place", b.Queued, a.Queued, 0},
		{"goroutines", b.Goroutines, a.Goroutines, goroutinesSlack}, {"open files", b.Files, a.Files, filesSlack},
	} {
		if c.after > c.before+c.slack {
			r.fault("a leak: %d %s when all clients were gone, %d before they came", c.after, c.what, c.before)
		}
	}
}
