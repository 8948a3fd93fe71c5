package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func (a *app) traceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trace",
		Short: "Look at what cells did",
		Long: `Looks at traces: the JSON lines that "cloister run --trace FILE" writes, and that
programs write which use the library.`,
		Args: noArguments, RunE: group,
	}
	cmd.AddCommand(a.traceShow())
	return cmd
}

const traceShowLong = `Draws the runs of a trace, one after the other: each cell with its calls, under them
the calls that plugins made, all on one scale of time. FILE - is standard input.

  █  executing, or a call     ░  suspended: nothing of the cell is in memory
  ▶  the end is not in the trace
  ◆  something without duration: a search, a description, a resumption
  ×  denied

Beside it stand the duration, the status or what was denied by which rule, the bytes
that went in and came out, "unsigned" for calls of plugins that nobody has signed, and
what does not fit in the trace itself, such as a call that has no end.

--json gives one span a line: id and parent are numbers of this output, callId is the
call's own, startMs counts from the start of the run. A span that has no end is open
and has no durationMs.

A trace may come from anywhere, and nothing in it is believed: at most 64 MiB, a
million events and 64 KiB a line are read. Lines that are no event are left out and
named on standard error, and the exit code is 1.

Exit codes:
  0    all of the trace was shown
  1    lines were left out, or there is nothing to show
  2    the command line is wrong, FILE cannot be read or is beyond the bounds
  130  interrupted with Ctrl-C (143: by SIGTERM)`

// traceFlags are the flags of trace show.
type traceFlags struct {
	run          string
	json, denied bool
}

func (a *app) traceShow() *cobra.Command {
	f := &traceFlags{}
	cmd := &cobra.Command{
		Use:   "show FILE|-",
		Short: "Draw what a run did, and when",
		Long:  traceShowLong,
		Example: `  cloister run --trace trace.jsonl cell.ts
  cloister trace show trace.jsonl
  cloister trace show --denied trace.jsonl             # only what was denied or failed
  cloister trace show --json - < trace.jsonl | jq '.runs[].spans[] | select(.unsigned)'`,
		Args: exactlyOne("show", "FILE, or - for standard input,"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.showTrace(cmd.Context(), f, args[0])
		},
		ValidArgsFunction: completeFiles("jsonl", "json", "trace"),
	}
	fs := cmd.Flags()
	jsonFlag(cmd, &f.json)
	fs.StringVar(&f.run, "run", "", "show only the run with this `ID`")
	fs.BoolVar(&f.denied, "denied", false, "show only what was denied or failed, and what it is part of")
	return cmd
}

func (a *app) showTrace(ctx context.Context, f *traceFlags, file string) error {
	t, err := a.readTraceFile(ctx, f, file)
	if err != nil {
		return err
	}
	a.complainOfDamage(t)
	if len(t.runs) == 0 {
		return nothingToShow(t, f)
	}
	out := bufio.NewWriterSize(a.stdout, 64<<10)
	if f.json {
		err = writeTraceJSON(ctx, out, t, f.denied)
	} else {
		err = writeTraceText(ctx, out, a.stdout, t, f.denied)
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err = errors.Join(err, out.Flush()); err != nil {
		return &exitError{code: exitInternal, err: fmt.Errorf("writing to standard output: %w", err)}
	}
	if t.damaged > 0 {
		return silently(exitFailed)
	}
	return nil
}

// readTraceFile reads a trace from a file, or from standard input for "-".
func (a *app) readTraceFile(ctx context.Context, f *traceFlags, file string) (*trace, error) {
	if file == "-" {
		return readTrace(ctx, a.stdin, "stdin", f.run)
	}
	in, err := os.Open(file)
	if err != nil {
		return nil, usageError(fmt.Errorf("trace: %w", err), `FILE is what "cloister run --trace FILE" wrote; - is standard input`)
	}
	defer in.Close()
	switch info, err := in.Stat(); {
	case err != nil:
		return nil, usageError(fmt.Errorf("trace: %w", err), "")
	case info.IsDir():
		return nil, usageError(fmt.Errorf("trace: %s is a folder", file), `FILE is what "cloister run --trace FILE" wrote; - is standard input`)
	case info.Mode().IsRegular() && info.Size() > maxTraceBytes:
		return nil, traceTooLarge(file, fmt.Sprintf("%d MiB", maxTraceBytes>>20))
	}
	return readTrace(ctx, in, file, f.run)
}

// complainOfDamage names the lines that are no events.
func (a *app) complainOfDamage(t *trace) {
	for _, d := range t.damage {
		a.complain(fmt.Sprintf("%s:%d: %s", escapeLine(t.name), d.line, escapeLine(d.why)), "")
	}
	switch n := t.damaged; {
	case n == 1:
		a.complain("1 line is left out", "")
	case n > 1:
		a.complain(fmt.Sprintf("%d lines are left out", n), "")
	}
}

// nothingToShow says why a trace has no runs to show.
func nothingToShow(t *trace, f *traceFlags) error {
	err := &exitError{code: exitFailed, err: fmt.Errorf("trace: %s holds no event", t.name),
		hint: `a trace is what "cloister run --trace FILE" wrote`}
	if t.leftOut {
		err.err = fmt.Errorf("trace: %s has no run %q", t.name, cutText(f.run))
		err.hint = "without --run all runs are shown"
		if t.otherRun != "" {
			err.hint = "it has " + cutText(t.otherRun) + "; " + err.hint
		}
	}
	return err
}

// traceTooLarge refuses a trace, whatever its name is.
func traceTooLarge(name, bound string) error {
	return usageError(fmt.Errorf("trace: %s has more than %s", name, bound), "take one run out of it: grep RUN-ID FILE | cloister trace show -")
}

// interrupted looks, once in a few thousand turns of a loop, whether it should end.
func interrupted(ctx context.Context, turn int) bool { return turn%4096 == 0 && ctx.Err() != nil }
