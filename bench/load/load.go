package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// load is the clients and what they found.
type load struct {
	o   settings
	srv *serving
	rep *report

	phases *phases   // nil: all clients behave
	drip   *dripping // likewise

	nonces atomic.Int64

	mu       sync.Mutex
	vanished []string // sessions that nobody ended
	progress []time.Time
	ended    time.Time
	expected []expectation
}

// expectation is what the ledger must say of a call.
type expectation struct {
	call     ledgerLine
	min, max int
	because  string
}

func newLoad(o settings, srv *serving) *load {
	return &load{o: o, srv: srv, rep: newReport(o), progress: make([]time.Time, o.clients)}
}

// nonce is what tells one call from all others.
func (l *load) nonce() string { return fmt.Sprintf("n%d", l.nonces.Add(1)) }

func (l *load) expect(tool, nonce string, lowest, most int, because string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expected = append(l.expected, expectation{call: ledgerLine{tool, nonce}, min: lowest, max: most, because: because})
}

// drive runs the clients and the approver for the time that was asked for.
func (l *load) drive(ctx context.Context) {
	approving, stop := context.WithCancel(ctx)
	defer stop()
	var approver sync.WaitGroup
	approver.Go(func() { l.approve(approving) })
	until := time.Now().Add(l.o.duration)
	var clients, hostiles sync.WaitGroup
	good := l.o.clients
	if l.phases != nil {
		good -= l.o.attackers()
		hostiles.Go(func() {
			bounded, cancel := context.WithDeadline(ctx, until)
			defer cancel()
			l.phases.run(bounded, l.attack)
		})
	}
	l.progress = l.progress[:good]
	for slot := range good {
		clients.Go(func() { l.slot(ctx, slot, until) })
	}
	clients.Wait()
	l.ended = time.Now()
	hostiles.Wait()
	stop()
	approver.Wait()
}

// slot is one client after the other until the time is over.
func (l *load) slot(ctx context.Context, slot int, until time.Time) {
	random := rand.New(rand.NewPCG(l.o.seed, uint64(slot)))
	for time.Now().Before(until) && ctx.Err() == nil {
		c, err := l.connect(ctx)
		if err != nil {
			l.rep.fault("client %d: %v", slot, err)
			// A server that takes nobody is not asked a thousand times a second.
			time.Sleep(100 * time.Millisecond)
			continue
		}
		l.rep.count("sessions opened")
		id := c.ID() // the SDK forgets it with the connection
		vanished := l.work(ctx, c, slot, until, random)
		l.rep.add("waits for suspended cells", c.waits)
		if vanished {
			l.mu.Lock()
			l.vanished = append(l.vanished, id)
			l.mu.Unlock()
			continue
		}
		if err := c.Close(); err != nil && ctx.Err() == nil {
			l.rep.fault("client %d: ending a session: %v", slot, err)
		}
		// An answer on its way when its connection broke is sent again.
		c.wire.mu.Lock()
		breaks := c.wire.breaks
		c.wire.mu.Unlock()
		l.rep.add("connections broken while an answer was coming", breaks)
		if answers := c.wire.answers.Load(); answers < c.calls || answers > c.calls+int64(breaks) {
			l.rep.fault("client %d: %d answers to %d calls", slot, answers, c.calls)
		}
		c.wire.vanish()
	}
}

// phase gives the number of the phase, 0 where there are none.
func (l *load) phase() int64 {
	if l.phases == nil {
		return 0
	}
	return l.phases.number.Load()
}

// callTime is far more than any cell takes: a call that takes longer is stuck.
const callTime = 45 * time.Second

// work runs cells in one session until it ends or vanishes.
func (l *load) work(ctx context.Context, c *client, slot int, until time.Time, random *rand.Rand) (vanished bool) {
	for time.Now().Before(until) && ctx.Err() == nil {
		if random.IntN(60) == 0 {
			l.vanish(ctx, c, random)
			return true
		}
		k := pick(random)
		before, phase := time.Now(), l.phase()
		bounded, cancel := context.WithTimeout(ctx, callTime)
		if random.IntN(20) == 0 {
			pause := time.Duration(random.IntN(50)) * time.Millisecond
			time.AfterFunc(pause, c.wire.interrupt)
		}
		err := k.run(l, bounded, c, random)
		stuck := errors.Is(bounded.Err(), context.DeadlineExceeded)
		cancel()
		switch {
		case ctx.Err() != nil:
			return false
		case stuck:
			l.rep.fault("stuck: client %d, %s had no end within %s", slot, k.name, callTime)
		case err != nil:
			l.rep.fault("client %d, %s: %v", slot, k.name, err)
		}
		l.rep.sample(k.name, time.Since(before), phase, l.phase())
		l.mu.Lock()
		l.progress[slot] = time.Now()
		l.mu.Unlock()
	}
	return false
}

// vanish starts a cell and goes away in the middle of it.
func (l *load) vanish(ctx context.Context, c *client, random *rand.Rand) {
	nonce := l.nonce()
	code := fmt.Sprintf(`return await MCP.load.echo({nonce: %q, pauseMs: 3000})`, nonce)
	tool := "echo"
	if random.IntN(2) == 0 { // with an approval open
		tool = "guarded"
		code = fmt.Sprintf(`return await MCP.load.guarded({nonce: %q, plan: "leave"})`, nonce)
	}
	done := make(chan struct{})
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	go func() {
		defer close(done)
		// Nobody is there for the answer.
		_, _ = c.call(ctx, "exec", map[string]any{"code": code})
	}()
	select {
	case <-time.After(time.Duration(20+random.IntN(400)) * time.Millisecond):
	case <-done:
	}
	c.wire.vanish()
	giveUp() // the SDK would try to come back
	<-done
	// The SDK's part of a session whose connections are cut; the server hears nothing of it.
	_ = c.Close()
	if answers := c.wire.answers.Load(); answers > c.calls {
		l.rep.fault("a client that vanished got %d answers to %d calls", answers, c.calls)
	}
	l.rep.count("clients that vanished")
	if tool == "guarded" {
		l.expect(tool, nonce, 0, 0, "nobody approved it")
		return
	}
	l.expect(tool, nonce, 0, 1, "its client vanished")
}

// settleTime is after how long the sessions of vanished clients must be gone. They have to
// be unused for the idle time, after the time for clients to come back; an open approval
// keeps them, and after it the program that nobody waits for. One that left in the middle of a request more is noticed by a comment.
// They are looked at every quarter of the idle time, or every second if that is more.
func (o *settings) settleTime() time.Duration {
	return max(o.idle, o.ttl+o.snapshotTTL(), resumeTime) + resumeTime + 2*commentTime + max(o.idle/4, time.Second) + 2*time.Second
}

// settle waits until all sessions must be gone.
func (l *load) settle(ctx context.Context) {
	http.DefaultClient.CloseIdleConnections() // those of the approver
	select {
	case <-time.After(l.o.settleTime()):
	case <-ctx.Done():
	}
}

// askForVanished sees whether the sessions of vanished clients are gone.
func (l *load) askForVanished(ctx context.Context) {
	left := 0
	for _, id := range l.vanished {
		status, err := l.ping(ctx, id)
		if err != nil {
			l.rep.fault("asking for a session: %v", err)
			return
		}
		if status != http.StatusNotFound {
			left++
		}
	}
	l.rep.set("sessions of vanished clients, asked for", len(l.vanished))
	l.rep.set("sessions of vanished clients that were left", left)
	if left > 0 {
		l.rep.fault("%d of %d sessions of vanished clients are there %s after the last call", left, len(l.vanished), l.o.settleTime())
	}
}

// ping gives the HTTP status of a ping in a session.
func (l *load) ping(ctx context.Context, session string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.srv.url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		return 0, err
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + l.srv.token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Session-Id": session,
	} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

// checkProgress sees whether every client worked until the end.
func (l *load) checkProgress() {
	// As long as the slowest cell with a busy machine may take, in a long run.
	window := max(l.o.duration/6, 3*time.Second+l.o.ttl)
	for slot, last := range l.progress {
		if l.ended.Sub(last) > window {
			l.rep.fault("client %d ended no cell in the last %s", slot, window)
		}
	}
}

// checkLedger compares what the server ran with what clients were told.
func (l *load) checkLedger(runs map[ledgerLine]int) {
	known := make(map[ledgerLine]bool, len(l.expected))
	for _, e := range l.expected {
		known[e.call] = true
		if n := runs[e.call]; n < e.min || n > e.max {
			l.rep.fault("%s %s ran %d times, not %d to %d: %s", e.call.tool, e.call.nonce, n, e.min, e.max, e.because)
		}
	}
	ran := 0
	for call, n := range runs {
		ran += n
		if !known[call] {
			l.rep.fault("%s %s ran, and no client asked for it", call.tool, call.nonce)
		}
	}
	l.rep.set("calls that the server ran", ran)
}
