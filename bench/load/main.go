// Command load holds `cloister serve --http` under load for minutes and checks what
// its clients get.
//
//	go run ./bench/load --duration 2m --clients 64
//
// It builds the real binary and starts it with an MCP server behind it that dies and
// comes back every few seconds. Clients run cells that call this server and core
// tools. Some clients vanish in the middle of a call, and others take their places.
// Some calls need approval: the approvals endpoint approves and denies some and leaves
// others open.
//
// Checked are: each result is the right one (none lost, foreign or doubled; the server
// writes down what it ran, and nothing runs twice, or unapproved, or after the client was
// told that it did not run); all clients make progress until the end; sessions of vanished
// clients are gone after the idle time, and with them what the process held for them
// (sessions, requests, programs, goroutines, open files, compared with before); the memory and the open files of the serving
// process are bounded, and flat in the second half.
//
// A tenth of the clients is hostile in every other phase, with a token of its own: they
// leave requests half sent, connections reset in the middle of an answer, approvals that
// nobody gives. In these phases an MCP server floods, and a registry drips the plugin that
// another process installs. The times of the other nine tenths are given for both kinds
// of phases, and their ratios; --peaceful leaves all that out. The report is text and, with --json,
// JSON in a file. A check that fails gives exit code 1.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"
)

// settings are the flags.
type settings struct {
	duration, idle, ttl time.Duration
	life                time.Duration // the longest of the MCP server
	clients             int
	cloister, engine    string // the binary, built if empty; the engine, looked for if empty
	maxRSS              int    // MiB
	seed                uint64
	peaceful            bool // no client is hostile
}

func main() {
	if ledger := os.Getenv(ledgerVariable); ledger != "" {
		exitOn(serveUpstream(context.Background(), ledger, os.Getenv(lifeVariable)))
		return
	}
	if control := os.Getenv(floodVariable); control != "" {
		exitOn(serveFlood(context.Background(), control))
		return
	}
	var s settings
	var out string
	flag.DurationVar(&s.duration, "duration", 2*time.Minute, "how long clients run cells")
	flag.DurationVar(&s.idle, "idle", 5*time.Second, "when an idle session ends, a second or more")
	flag.DurationVar(&s.ttl, "approval-ttl", 10*time.Second, "how long an approval stays open, a second or more")
	flag.DurationVar(&s.life, "life", 6*time.Second, "the MCP server dies after a third of this to all of it")
	flag.IntVar(&s.clients, "clients", 64, "clients at the same time")
	flag.StringVar(&s.cloister, "cloister", "", "cloister binary; built from this checkout if empty")
	flag.StringVar(&s.engine, "engine", "", "quickjs.wasm; where cloister looks for it if empty")
	flag.IntVar(&s.maxRSS, "max-rss", 1024, "resident memory of the serving process that is too much, in MiB")
	flag.Uint64Var(&s.seed, "seed", uint64(time.Now().UnixNano()), "seed of what clients choose")
	flag.BoolVar(&s.peaceful, "peaceful", false, "no tenth of the clients is hostile")
	flag.StringVar(&out, "json", "", "file for the report as JSON")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	rep, err := run(ctx, s, os.Stderr)
	exitOn(err)
	if out != "" {
		text, err := json.MarshalIndent(rep, "", "  ")
		exitOn(err)
		exitOn(os.WriteFile(out, append(text, '\n'), 0o644))
	}
	fmt.Print(rep.text())
	if len(rep.Faults) > 0 {
		os.Exit(1)
	}
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// run is the whole measurement. Its error is for what kept it from being made; what it
// found is in the report.
func run(ctx context.Context, s settings, log io.Writer) (*report, error) {
	dir, err := os.MkdirTemp("", "cloister-load-")
	if err != nil {
		return nil, err
	}
	// What is left there is in the way of nobody.
	defer func() { _ = os.RemoveAll(dir) }()
	srv, err := start(ctx, s, dir)
	if err != nil {
		return nil, err
	}
	l := newLoad(s, srv)
	if !s.peaceful {
		l.phases = newPhases(s.duration)
		if l.drip, err = newDripping(ctx, srv, dir); err != nil {
			return nil, errors.Join(err, srv.stop())
		}
		defer func() { _ = l.drip.close() }() // nobody is connected to it
	}
	rep := l.rep
	if err := l.warmUp(ctx); err != nil {
		return nil, errors.Join(err, srv.stop())
	}
	w := watchProcess(srv.pid())
	l.drive(ctx)
	fmt.Fprintln(log, "clients are done; waiting for sessions to end")
	l.settle(ctx)
	w.stop()
	l.askForVanished(ctx)
	if rep.After, err = l.askHeld(ctx); err != nil {
		rep.fault("asking what is held: %v", err)
	}
	rep.checkHeld()
	rep.set("floods that were slowed down", int(srv.slowed.Load()))
	rep.set("floods that were cut off", int(srv.cut.Load()))
	if err := srv.stop(); err != nil {
		rep.fault("the serving process did not end in order: %v", err)
	}
	runs, err := readLedger(srv.ledger)
	if err != nil {
		return nil, err
	}
	l.checkLedger(runs)
	l.checkProgress()
	w.check(rep, s)
	rep.finish(l.phases)
	if len(rep.Faults) > 0 {
		fmt.Fprintf(log, "cloister serve wrote last:\n%s", srv.log.String())
	}
	return rep, ctx.Err()
}
