package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/internal/spans"
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
that went in and came out, "unsigned" for calls of plugins that nobody has signed, of
how many such things only this one was traced, and what does not fit in the trace
itself, such as a call that has no end.

--json gives one span a line: id and parent are numbers of this output, callId is the
call's own, startMs counts from the start of the run. A span that has no end is open
and has no durationMs; one with a count stands for that many of its kind.

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
	t, name, err := a.readTraceFile(ctx, f, file)
	if err != nil {
		return err
	}
	a.complainOfDamage(t, name)
	if len(t.Runs) == 0 {
		return nothingToShow(t, f, name)
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
	if t.Damaged > 0 {
		return silently(exitFailed)
	}
	return nil
}

// complainOfDamage names the lines that are no events.
func (a *app) complainOfDamage(t *spans.File, name string) {
	for _, d := range t.Damage {
		a.complain(fmt.Sprintf("%s:%d: %s", escapeLine(name), d.Line, escapeLine(d.Err.Error())), "")
	}
	switch n := t.Damaged; {
	case n == 1:
		a.complain("1 line is left out", "")
	case n > 1:
		a.complain(fmt.Sprintf("%d lines are left out", n), "")
	}
}

// nothingToShow says why a trace has no runs to show.
func nothingToShow(t *spans.File, f *traceFlags, name string) error {
	err := &exitError{code: exitFailed, err: fmt.Errorf("trace: %s holds no event", name),
		hint: `a trace is what "cloister run --trace FILE" wrote`}
	if t.LeftOut {
		err.err = fmt.Errorf("trace: %s has no run %q", name, cutText(f.run))
		err.hint = "without --run all runs are shown"
		if t.OtherRun != "" {
			err.hint = "it has " + cutText(t.OtherRun) + "; " + err.hint
		}
	}
	return err
}

// interrupted looks, once in a few thousand turns of a loop, whether it should end.
func interrupted(ctx context.Context, turn int) bool { return turn%4096 == 0 && ctx.Err() != nil }
