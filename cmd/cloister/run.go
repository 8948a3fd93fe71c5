package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/plugins"
)

const runLong = `Runs a cell: the body of an async JavaScript or TypeScript function. "return"
gives the value, "await" works everywhere. The cell finds and calls tools with
tools.search(query), tools.describe(id), tools.call(id, input) and
tools.NAME(input); text(...), json(...) and console.log(...) put something out.

Calls that are slow are waited for, however long they take; Ctrl-C stops. Before
a tool that needs approval is called you are asked, if the cell comes from a file
and you are at a terminal; elsewhere such calls are refused.

Output, in the order of the cell's calls:
  text(...)      standard output, as it is, with a line end where it lacks one
  json(...)      standard output, as indented JSON
  console.*      standard error, with the level in front; likewise what plugins log
  the value      standard output: a string as it is, other values as indented
                 JSON, null not at all (a cell without return gives null)
With --json there is one JSON object on standard output instead, the result as a
model would get it, and nothing on standard error but notes about plugins.

Plugins are those of --tool-dir and those that "cloister plugin install" installed.
An installed one that is refused is named on standard error, with the step and the
reason, and the run goes on without it; so is a tool that differs from the lock file.
A plugin may pause the run with a question: at a terminal you are asked, and answer
with one line, JSON or a text. Elsewhere the run ends there, with exit code 1.

What a cell says is not trusted: text that goes to a terminal has its control
characters (escape sequences, reading direction, invisible ones) written as
escapes such as \x1b. In files and pipes standard output has them as they are;
standard error is escaped always, and JSON has them as \u escapes.

The language follows the extension: .ts and .mts are TypeScript, .js, .mjs and
standard input JavaScript. A first line #!... is ignored.

` + exitHelp

type runFlags struct {
	tools    toolFlags
	limits   limitFlags
	language string
	json     bool
	trace    string
	quiet    bool
}

func (a *app) runCommand() *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run FILE|-",
		Short: "Run a cell",
		Long:  runLong,
		Example: `  cloister run cell.ts
  echo 'return await tools.clock_now({})' | cloister run -
  cloister run --tool-dir plugins/csv --allow-unsigned-unsafe report.ts
  cloister run --root data --trace trace.jsonl --json cell.js | jq .value`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("run takes one FILE, or - for standard input, and was given %d", len(args))
			}
			return nil
		},
		ValidArgsFunction: completeFiles("ts", "mts", "js", "mjs"),
		RunE:              func(cmd *cobra.Command, args []string) error { return a.runCell(cmd.Context(), f, args[0]) },
	}
	f.tools.register(cmd)
	fs := cmd.Flags()
	f.limits.register(fs)
	fs.StringVar(&f.language, "language", "", "`NAME` of the cell's language: javascript or typescript (default: by the extension)")
	fs.BoolVar(&f.json, "json", false, "print the whole result as one JSON object")
	fs.StringVar(&f.trace, "trace", "", "write what happens as JSON lines to `FILE`; - is standard error")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "no progress line, and no lines of the console and of plugins")
	mustComplete(cmd.RegisterFlagCompletionFunc("language", cobra.FixedCompletions(
		[]string{host.JavaScript, host.TypeScript}, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

// runCell is the command `run`.
func (a *app) runCell(ctx context.Context, f *runFlags, file string) error {
	src, err := readSource(file, f.language, a.stdin)
	if err != nil {
		return err
	}
	trace, err := openTrace(f.trace, a.stderr)
	if err != nil {
		return err
	}
	u := &ui{
		out: a.stdout, err: a.stderr, open: map[string]string{},
		progress: a.stderr.tty && !f.quiet && !f.json && f.trace != "-" && os.Getenv("TERM") != "dumb",
	}
	p := &outputPrinter{ui: u, quiet: f.quiet}
	res, limits, err := f.execute(ctx, a, a.approver(u, file), src, trace, u, func(r *host.Result) {
		if !f.json {
			p.print(r.Output)
		}
	})
	if err = errors.Join(err, trace.close()); err != nil {
		return hostError(err)
	}
	switch {
	case f.json:
		return a.printResult(res)
	case res.Status == guestabi.StatusCompleted:
		p.value(res.Value)
		if res.Message != "" && !f.quiet {
			u.do(func() { u.print(u.err, "note: "+res.Message+"\n") })
		}
		return nil
	case res.Status == guestabi.StatusWaiting:
		u.do(func() { u.print(u.err, interruptText(u.err, res)) })
		return silently(exitFailed)
	case res.Reason == guestabi.ReasonAborted && ctx.Err() != nil:
		return errInterrupted
	}
	u.do(func() { u.print(u.err, failureText(u.err, src, res, limits)) })
	return silently(reasonCode(res.Code, res.Reason))
}

// execute makes a session, runs the cell in it to its end, and closes it, so that
// the trace is complete. It gives the limits that applied, for messages.
func (f *runFlags) execute(ctx context.Context, a *app, person *approver, src *source, trace *traceFile, u *ui, show func(*host.Result)) (*host.Result, host.CodeModeConfig, error) {
	d, err := debugging(a.logger(true))
	if err != nil {
		return nil, host.CodeModeConfig{}, err
	}
	s, err := f.tools.open(ctx, sessionOptions{
		host:       host.Options{Trace: d.Trace(sinks{u, trace}), Approve: person.function(), OnInterrupt: person.interrupts()},
		limits:     f.limits.apply,
		onProgress: u.report,
		plugins:    f.pluginOptions(u),
		mustRun:    true,
		app:        a,
	})
	if res := withoutEngine(err); res != nil {
		return res, host.CodeModeConfig{}, nil
	}
	if err != nil {
		return nil, host.CodeModeConfig{}, err
	}
	defer s.close()
	if !s.run.Active() {
		return nil, s.codeMode, usageError(errors.New("no tool is left for the cell, and without tools code mode is off"),
			"widen --allow and --deny, or tools.allow and tools.deny in the configuration")
	}
	defer u.watch(ctx)()
	if err := s.compilePlugins(ctx, src.text); err != nil {
		return nil, s.codeMode, err
	}
	res, err := drive(ctx, s.run, src, show)
	return res, s.codeMode, err
}

// pluginOptions shows what plugins write and when one is compiled.
func (f *runFlags) pluginOptions(u *ui) plugins.LoadOptions {
	o := plugins.LoadOptions{Progress: u.compiling}
	if !f.quiet && !f.json {
		o.Log = u.pluginLog
	}
	return o
}

// drive runs a cell and waits for it until it ends, or until all that it waits for
// is a person, and there is none. show is called with every result.
func drive(ctx context.Context, run *host.Run, src *source, show func(*host.Result)) (*host.Result, error) {
	res, err := run.Exec(ctx, host.ExecInput{Code: src.code(), Language: src.language})
	for {
		if res == nil {
			return nil, err
		}
		show(res)
		if res.Status != guestabi.StatusWaiting || onlyInterrupts(res) {
			// An error beside a result says that ctx ended, as the result does.
			return res, nil
		}
		res, err = run.Wait(ctx, host.WaitInput{CellID: res.CellID})
	}
}

// printResult writes a result as one line of JSON.
func (a *app) printResult(res *host.Result) error {
	text, err := res.MarshalJSON()
	if err != nil {
		return &exitError{code: exitInternal, err: fmt.Errorf("encoding the result: %w", err)}
	}
	if _, err := a.stdout.Write(append(escapeJSON(text), '\n')); err != nil {
		return &exitError{code: exitInternal, err: fmt.Errorf("writing the result: %w", err)}
	}
	switch res.Status {
	case guestabi.StatusCompleted:
		return nil
	case guestabi.StatusWaiting:
		return silently(exitFailed)
	}
	return silently(reasonCode(res.Code, res.Reason))
}

// traceFile is where --trace writes to. The zero value takes nothing.
type traceFile struct {
	*host.JSONLTrace
	name string
	buf  *bufio.Writer
	file *os.File
}

// openTrace opens the file of --trace; "-" is standard error.
func openTrace(name string, stderr io.Writer) (*traceFile, error) {
	t := &traceFile{name: name}
	switch name {
	case "":
	case "-":
		t.name = "standard error"
		t.JSONLTrace = host.NewJSONLTrace(jsonWriter{stderr})
	default:
		var err error
		if t.file, err = os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600); err != nil {
			return nil, usageError(fmt.Errorf("--trace: %w", err), "")
		}
		t.buf = bufio.NewWriter(t.file)
		t.JSONLTrace = host.NewJSONLTrace(jsonWriter{t.buf})
	}
	return t, nil
}

// close says whether the trace is complete.
func (t *traceFile) close() error {
	if t.JSONLTrace == nil {
		return nil
	}
	err := t.Err()
	if t.file != nil {
		err = errors.Join(err, t.buf.Flush(), t.file.Close())
	}
	if err != nil {
		return &exitError{code: exitInternal, err: fmt.Errorf("the trace in %s is not complete: %w", t.name, err)}
	}
	return nil
}

// jsonWriter escapes hostile characters of JSON lines: ids that a cell guessed
// are part of the trace.
type jsonWriter struct{ w io.Writer }

func (j jsonWriter) Write(p []byte) (int, error) {
	if _, err := j.w.Write(escapeJSON(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// sinks hands events to the progress line and to the trace.
type sinks struct {
	ui    *ui
	trace *traceFile
}

// Emit implements host.TraceSink.
func (s sinks) Emit(e host.TraceEvent) {
	s.ui.Emit(e)
	if s.trace.JSONLTrace != nil {
		s.trace.JSONLTrace.Emit(e)
	}
}
