package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/cloister-wasm/cloister/host/settings"
)

func main() {
	a := &app{stdin: os.Stdin, stdout: newStream(os.Stdout), stderr: newStream(os.Stderr)}
	ctx, stop := interruptible(context.Background())
	code := a.main(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// app is the program with what it is connected to.
type app struct {
	stdin          *os.File
	stdout, stderr *stream
	// args is the command line as it was typed.
	args []string
}

// main runs a command line and gives the exit code.
func (a *app) main(ctx context.Context, args []string) int {
	a.args = args
	root := a.root()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	code := codeOf(err)
	if signal := signalOf(ctx); signal != 0 && code != exitOK {
		code = 128 + int(signal)
	}
	var ee *exitError
	if err == nil || errors.As(err, &ee) && ee.err == nil {
		return code
	}
	hint := ""
	var file *settings.FileError
	switch {
	case errors.As(err, &file) && file.Mend != "": // the text says how to mend it
	case ee != nil:
		hint = ee.hint
	default:
		hint = "see " + cmd.CommandPath() + " --help"
	}
	a.complain(err.Error(), hint)
	return code
}

// complain writes an error of the program itself. Its text may quote files and
// plugins.
func (a *app) complain(text, hint string) {
	text = strings.ReplaceAll(strings.TrimRight(escapeText(text), "\n"), "\n", "\n  ")
	out := a.stderr.paint(styleRed, "cloister:") + " " + text + "\n"
	if hint != "" {
		out += a.stderr.paint(styleDim, "hint:") + " " + escapeText(hint) + "\n"
	}
	// Without standard error there is only the exit code.
	_, _ = io.WriteString(a.stderr, out)
}

// signalError is the cause of a context that a signal ended.
type signalError struct{ signal syscall.Signal }

func (e signalError) Error() string { return "interrupted" }

// interruptible ends the context at the first Ctrl-C or SIGTERM, so that the
// command can stop cleanly; a second one ends the program as usual.
func interruptible(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			number, _ := s.(syscall.Signal) // on all systems that Go knows
			cancel(signalError{number})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// signalOf gives the signal that ended the context, or 0.
func signalOf(ctx context.Context) syscall.Signal {
	var se signalError
	if errors.As(context.Cause(ctx), &se) {
		return se.signal
	}
	return 0
}
