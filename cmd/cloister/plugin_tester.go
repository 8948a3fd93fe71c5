package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/plugins"
)

// tester runs tests against one plugin.
type tester struct {
	app     *app
	flags   *cellsFlags
	dir     string
	plugin  *plugins.Plugin
	host    *host.Host
	logging sync.Mutex
	logs    strings.Builder // what the plugin wrote during this test
	limits  host.CodeModeConfig
}

// examples lists the examples of the manifest.
func (t *tester) examples() []oneTest {
	var tests []oneTest
	for _, tool := range t.plugin.Tools() {
		for i := range tool.Examples {
			tests = append(tests, oneTest{name: fmt.Sprintf("%s example %d", tool.Name, i+1), tool: tool.Name, example: &tool.Examples[i]})
		}
	}
	return tests
}

// try runs one test.
func (t *tester) try(ctx context.Context, one *oneTest) cellReport {
	r := cellReport{Name: one.name, Status: "pass"}
	start := time.Now()
	t.takeLogs()
	if one.example != nil {
		t.tryExample(ctx, one, &r)
	} else {
		t.tryCell(ctx, one, &r)
	}
	r.Ms = float64(time.Since(start).Microseconds()) / 1000
	if r.Error != "" {
		r.Status = "fail"
	}
	r.details += t.takeLogs()
	return r
}

func (t *tester) newRun(ctx context.Context) (*host.Run, error) {
	id := "test-" + uuid(7, time.Now())
	return t.host.NewRun(ctx, host.RunOptions{AgentID: "cloister-cli", AgentRunID: id, SessionID: id, SessionKey: id})
}

func (t *tester) tryExample(ctx context.Context, one *oneTest, r *cellReport) {
	run, err := t.newRun(ctx)
	if err != nil {
		r.Error = err.Error()
		return
	}
	defer run.Close()
	r.Value, err = run.Call(ctx, "cloister:"+t.plugin.ID()+":"+one.tool, one.example.Input)
	if err != nil {
		r.Error = err.Error()
		return
	}
	if len(one.example.Output) > 0 {
		r.compare(one.example.Output)
	}
}

func (t *tester) tryCell(ctx context.Context, one *oneTest, r *cellReport) {
	src, err := readSource(one.cell, "", nil)
	if err != nil {
		r.Error = err.Error()
		return
	}
	run, err := t.newRun(ctx)
	if err != nil {
		r.Error = err.Error()
		return
	}
	defer run.Close()
	res, err := drive(ctx, run, src, func(*host.Result) {})
	if err != nil {
		r.Error = err.Error()
		return
	}
	for _, item := range res.Output {
		r.details += outputLines(t.app.stdout, item)
	}
	if res.Reason == guestabi.ReasonRuntimeUnavailable {
		r.fatal = &exitError{code: exitRuntime, err: errors.New(res.Error)}
		return
	}
	if res.Status != guestabi.StatusCompleted {
		r.Error = res.Error
		r.details += failureText(t.app.stdout, src, res, t.limits)
		return
	}
	r.Value = res.Value
	t.golden(one, r)
}

// golden compares with the file beside the cell, or writes it.
func (t *tester) golden(one *oneTest, r *cellReport) {
	want, err := readRegular(filepath.Dir(one.golden), filepath.Base(one.golden), maxSource)
	there := err == nil
	switch {
	case !there && !errors.Is(err, fs.ErrNotExist):
		r.Error = err.Error()
	case t.flags.update && (!there || firstDifference(want, r.Value) != ""):
		r.Status = "updated"
		if err := os.WriteFile(one.golden, []byte(prettyJSON(r.Value, fileWidth)+"\n"), 0o644); err != nil {
			r.Error = err.Error()
		}
	case there:
		r.compare(want)
	}
}

// compare fails the test unless its value is the wanted one.
func (r *cellReport) compare(want []byte) {
	if difference := firstDifference(want, r.Value); difference != "" {
		r.Error = difference
		if json.Valid(want) {
			r.Want = want
		}
	}
}

// load loads the plugin from dist, compiles it and makes the host of all tests.
func (t *tester) load(ctx context.Context, services plugins.Services) (err error) {
	u := &ui{out: t.app.stdout, err: t.app.stderr, open: map[string]string{}, progress: t.app.stderr.tty && !t.flags.json}
	defer u.watch(ctx)()
	t.plugin, err = plugins.LoadDir(ctx, filepath.Join(t.dir, distDir), &plugins.LoadOptions{
		AllowUnsignedUnsafe: true, CacheDir: pluginCache(), Progress: u.compiling, Log: t.log, Services: services, Eager: true,
	})
	if err != nil {
		return err
	}
	t.limits = host.CodeModeConfig{Enabled: true}.Clamped()
	t.host, err = host.New(ctx, &host.Options{
		CodeMode: t.limits, Tools: coreTools(), Plugins: []*plugins.Plugin{t.plugin}, CacheDir: os.Getenv("CLOISTER_CACHE_DIR"),
		Approve: func(context.Context, *host.ToolCall) (host.Decision, error) {
			return host.Decision{Approved: true}, nil
		},
		OnInterrupt: func(_ context.Context, call *host.ToolCall, _ json.RawMessage) (json.RawMessage, error) {
			return nil, &plugins.ToolError{Name: "Error", Code: "unavailable", Message: call.Name + " interrupts the run, and in a test nobody answers"}
		},
	})
	if err != nil {
		t.close()
		return hostError(err)
	}
	return nil
}

// close releases host and plugin. What fails to close has done its work.
func (t *tester) close() {
	if t.host != nil {
		_ = t.host.Close() // see above
	}
	if t.plugin != nil {
		_ = t.plugin.Close() // see above
	}
}

// log keeps what the plugin writes, for the test that runs.
func (t *tester) log(r plugins.LogRecord) {
	t.logging.Lock()
	defer t.logging.Unlock()
	if t.logs.Len() < maxTestLog {
		t.logs.WriteString(consoleLines(t.app.stdout, host.OutputItem{Text: r.Text, Level: r.Plugin + " " + r.Level}))
	}
}

// maxTestLog bounds what is kept of a plugin's log for one test, in bytes.
const maxTestLog = 64 << 10

// takeLogs gives what the plugin wrote since it was asked last.
func (t *tester) takeLogs() string {
	t.logging.Lock()
	defer t.logging.Unlock()
	text := t.logs.String()
	t.logs.Reset()
	return text
}

// outputLines shows an item of a cell's output as a line of a test.
func outputLines(s *stream, item host.OutputItem) string {
	switch {
	case item.Level != "":
		return consoleLines(s, item)
	case item.Type == "json":
		return prettyJSON(item.Value, s.width()-2) + "\n"
	}
	return endLine(escapeText(item.Text))
}

// show writes one line for a test, and under it why it failed.
func (t *tester) show(r *cellReport) error {
	if t.flags.json {
		return nil
	}
	s := t.app.stdout
	mark := map[string]string{"pass": "ok", "updated": "new", "fail": "FAIL"}[r.Status]
	style := map[string]string{"fail": styleRed, "updated": styleYellow}[r.Status]
	text := paintIn(s, style, mark) + strings.Repeat(" ", 6-len(mark)) + pad(escapeLine(r.Name), 32) + fmt.Sprintf("  %.0f ms\n", r.Ms)
	if r.Status == "fail" && !strings.Contains(r.details, message(r.Error)) {
		text += indented(message(r.Error))
	}
	if r.Status == "fail" || t.flags.verbose {
		text += indented(r.details)
	}
	return t.app.write(text)
}

// paintIn paints in a style that may be none.
func paintIn(s *stream, style, text string) string {
	if style == "" {
		return text
	}
	return s.paint(style, text)
}

// indented puts text under the line of a test.
func indented(text string) string {
	if text = strings.TrimRight(text, "\n"); text == "" {
		return ""
	}
	return "      " + strings.ReplaceAll(text, "\n", "\n      ") + "\n"
}
