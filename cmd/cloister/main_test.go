package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var exeSuffix = map[string]string{"windows": ".exe"}[runtime.GOOS]

var update = flag.Bool("update", false, "write what the program says into golden files and scripts")

// compiled is a folder for machine code that all tests share: making that of the engine takes most of a second.
var compiled string

type tests struct{ *testing.M }

func (m tests) Run() int {
	dir, err := os.MkdirTemp("", "cloister-compiled-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	compiled = dir
	code := m.M.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return code
}

// TestMain makes the test binary serve as cloister in scripts.
func TestMain(m *testing.M) {
	testscript.Main(tests{m}, map[string]func(){"cloister": main, "mcpserver": serveTestMCP, "mcpclient": mcpClient})
}

// enginePath finds the engine of the checkout.
func enginePath(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		path := filepath.Join(dir, "quickjs", "engine", "node_modules", "quickjs-wasi", "quickjs.wasm")
		if _, err := os.Stat(path); err == nil {
			return path
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("the JavaScript engine is not in the checkout; run: make engine")
		}
		dir = up
	}
}

// scripts are those that run: all, with -short every other one, and those between them on the next day.
func scripts(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	if !testing.Short() || flag.Lookup("test.run").Value.String() != "" { // who names a script wants that one
		return files
	}
	var some []string
	for i := int(time.Now().Unix()/(24*60*60)) % 2; i < len(files); i += 2 {
		some = append(some, files[i])
	}
	return some
}

func TestScripts(t *testing.T) {
	engine := enginePath(t)
	repo := filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(engine)))))
	module := filepath.Join(t.TempDir(), "plugin.wasm")
	build := sync.OnceValue(func() error { return buildPlugin(module) })
	open, private := startRegistry(t, ""), startRegistry(t, "ann:open-sesame")
	mcpURL := startMCPServer(t, "open-sesame-1234")
	toolchain := goEnvironment(t)
	testscript.Run(t, testscript.Params{
		Files:         scripts(t),
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("CLOISTER_ENGINE", engine)
			e.Setenv("CLOISTER_CACHE_DIR", compiled)
			e.Setenv("REPO", repo)
			// Of this machine's settings for plugins and registries no script sees any.
			for name, folder := range map[string]string{"CLOISTER_DATA_DIR": "data-dir", "XDG_CONFIG_HOME": "config", "DOCKER_CONFIG": "docker"} {
				e.Setenv(name, filepath.Join(e.WorkDir, folder))
			}
			e.Setenv("REGISTRY", open)
			e.Setenv("PRIVATE_REGISTRY", private)
			e.Setenv("MCP_URL", mcpURL)
			e.Vars = append(e.Vars, toolchain...)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "hasbytes": hasBytes, "noNPM": noNPM, "fakeNPM": fakeNPM, "flip": flip, "policy": policy, "expand": expand, "mode": fileMode,
			"programPath": programVariable, "starts": startConnected, "retag": retag, "junk": junk, "await": await, "retry": retry, "served": served, "approval": approval, "lockversion1": lockVersion1,
			"csvplugin": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(build())
				csvPlugin(ts, module, args[0])
			},
		},
	})
}

// exits runs a command and checks its exit code: exits 2 cloister run.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("exits: %v", err)
	}
	got := 0
	var ee *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &ee):
		got = ee.ExitCode()
	case err != nil:
		ts.Fatalf("exits: %v", err)
	}
	if got != want {
		ts.Fatalf("%s exited with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// hasBytes looks for bytes, written as a Go string literal, in a file or in
// stdout or stderr: hasbytes stdout '"\x1b["'.
func hasBytes(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: hasbytes FILE QUOTED")
	}
	want, err := strconv.Unquote(args[1])
	if err != nil {
		ts.Fatalf("hasbytes: %s: %v", args[1], err)
	}
	if strings.Contains(ts.ReadFile(args[0]), want) == neg {
		ts.Fatalf("%s: %s: found is %v", args[0], args[1], neg)
	}
}

// noNPM leaves nothing on the PATH but cloister itself.
func noNPM(ts *testscript.TestScript, _ bool, _ []string) {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, "cloister"+exeSuffix)); err == nil {
			ts.Setenv("PATH", dir)
			return
		}
	}
	ts.Fatalf("cloister is not on the PATH")
}

// programVariable sets PROGRAM to the path of cloister itself.
func programVariable(ts *testscript.TestScript, _ bool, _ []string) {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if path := filepath.Join(dir, "cloister"+exeSuffix); exists(path) {
			ts.Setenv("PROGRAM", path)
			return
		}
	}
	ts.Fatalf("cloister is not on the PATH")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// fakeNPM puts an npm on the PATH that brings other bytes than the engine's.
func fakeNPM(ts *testscript.TestScript, _ bool, _ []string) {
	const script = `#!/bin/sh
printf '\033[2Jnpm speaks\n'
/bin/mkdir -p node_modules/quickjs-wasi
printf 'not the engine' > node_modules/quickjs-wasi/quickjs.wasm
`
	dir := ts.MkAbs("fakenpm")
	ts.Check(os.MkdirAll(dir, 0o755))
	ts.Check(os.WriteFile(filepath.Join(dir, "npm"), []byte(script), 0o755))
	ts.Setenv("PATH", dir+string(filepath.ListSeparator)+ts.Getenv("PATH"))
}

// buildPlugin builds the module of the example plugin, or with -short takes the one that
// make plugins has built.
func buildPlugin(module string) error {
	const example = "../../examples/plugins/csvquery"
	if testing.Short() {
		if built, err := os.ReadFile(filepath.Join(example, "plugin.wasm")); err == nil {
			return os.WriteFile(module, built, 0o600)
		}
	}
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-o", module, example)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the plugin: %w\n%s", err, out)
	}
	return nil
}

// csvPlugin makes a folder that of the example plugin: csvplugin DIR.
func csvPlugin(ts *testscript.TestScript, module, folder string) {
	dir := ts.MkAbs(folder)
	ts.Check(os.MkdirAll(dir, 0o755))
	for from, to := range map[string]string{
		module: "plugin.wasm",
		filepath.Join(ts.Getenv("REPO"), "examples", "plugins", "csvquery", "cloister.plugin.json"): "cloister.plugin.json",
	} {
		data, err := os.ReadFile(from)
		ts.Check(err)
		ts.Check(os.WriteFile(filepath.Join(dir, to), data, 0o644))
	}
}

// plainStream is an output that is no terminal.
func plainStream(w *bytes.Buffer) *stream { return &stream{Writer: w} }

// terminal is an output as a terminal of a width would be.
func terminal(w *bytes.Buffer, width int, color bool) *stream {
	return &stream{Writer: w, tty: true, color: color, size: func() int { return width }}
}

// notifier is a writer that says when something has been written.
type notifier struct {
	once sync.Once
	text string
	done func()
	mu   sync.Mutex
	buf  bytes.Buffer
}

func (n *notifier) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.buf.Write(p)
	if bytes.Contains(n.buf.Bytes(), []byte(n.text)) {
		n.once.Do(n.done)
	}
	return len(p), nil
}

// A signal while a cell runs, computing or waiting, ends the program with 128
// and the signal's number.
func TestInterrupt(t *testing.T) {
	t.Setenv("CLOISTER_ENGINE", enginePath(t))
	t.Setenv("CLOISTER_CACHE_DIR", compiled)
	for _, test := range []struct {
		name, cell, at string
		signal         syscall.Signal
		want           int
	}{
		{"waiting", "await tools.sleep({ms: 600000})", "call.start", syscall.SIGINT, 130},
		{"computing", "while (true);", "exec.start", syscall.SIGINT, 130},
		{"yielding", "for (;;) await yield_control()", "suspend", syscall.SIGINT, 130},
		{"terminated", "await tools.sleep({ms: 600000})", "call.start", syscall.SIGTERM, 143},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "cell.js")
			if err := os.WriteFile(file, []byte(test.cell), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			stderr := &notifier{text: test.at, done: func() { cancel(signalError{test.signal}) }}
			var stdout bytes.Buffer
			a := &app{stdin: os.Stdin, stdout: plainStream(&stdout), stderr: &stream{Writer: stderr}}
			if got := a.main(ctx, []string{"run", "--trace", "-", "--timeout", "60s", file}); got != test.want {
				t.Errorf("exit code %d, want %d; stderr:\n%s", got, test.want, stderr.buf.String())
			}
			if stdout.Len() > 0 {
				t.Errorf("standard output: %q", stdout.String())
			}
			if !strings.Contains(stderr.buf.String(), "cloister: interrupted\n") {
				t.Errorf("standard error does not say so:\n%s", stderr.buf.String())
			}
		})
	}
}

// With --json an interrupted run still gives its result.
func TestInterruptJSON(t *testing.T) {
	t.Setenv("CLOISTER_ENGINE", enginePath(t))
	t.Setenv("CLOISTER_CACHE_DIR", compiled)
	trace := filepath.Join(t.TempDir(), "cell.js")
	if err := os.WriteFile(trace, []byte(`text("before"); await tools.sleep({ms: 600000})`), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stderr := &notifier{text: "call.start", done: func() { cancel(signalError{syscall.SIGINT}) }}
	var stdout bytes.Buffer
	a := &app{stdin: os.Stdin, stdout: plainStream(&stdout), stderr: &stream{Writer: stderr}}
	if got := a.main(ctx, []string{"run", "--json", "--trace", "-", trace}); got != 130 {
		t.Errorf("exit code %d, want 130", got)
	}
	for _, want := range []string{`"status":"failed"`, `"code":"aborted"`, `"text":"before"`} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("standard output lacks %s:\n%s", want, stdout.String())
		}
	}
}
