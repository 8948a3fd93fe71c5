package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestItself(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		command string
		want    bool
	}{
		{"cloister serve", true}, {"/opt/bin/cloister serve --no-elicit", true}, {`C:\tools\Cloister.EXE serve`, runtime.GOOS == "windows"},
		{"env -i cloister serve", true}, {"npx -y cloister serve", true}, {"go run github.com/cloister-wasm/cloister/cmd/cloister@latest serve", true},
		{self + " serve", true}, {"env " + self + " serve", true},
		{"cloister run x.js", false}, {"cloister", false}, {"serve cloister", false}, {"hugo serve", false}, {"npx cloister-notes serve", false}, {"", false},
	} {
		if got := itself(strings.Fields(c.command)); got != c.want {
			t.Errorf("%s: %v", c.command, got)
		}
	}
}

// builtProgram is the program as users have it.
func builtProgram(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it builds the program")
	}
	binary := filepath.Join(t.TempDir(), "cloister"+exeSuffix)
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	return binary
}

// TestNoForkBomb takes Cloister into the list of its own servers, in each way in which
// somebody has: the list of a client that uses it, a link, a program that starts others.
// It is not started where it is known, and elsewhere ends at a depth.
func TestNoForkBomb(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	binary, dir := builtProgram(t), t.TempDir()
	cell := filepath.Join(dir, "one.js")
	write(t, cell, "return 1;")
	link, copied, script := filepath.Join(dir, "link"), filepath.Join(dir, "copied"), filepath.Join(dir, "script")
	if err := os.Symlink(binary, link); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", binary, copied).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// It writes down how deep each start is, and no more of them than a bomb would need.
	ledger := filepath.Join(dir, "ledger")
	write(t, script, "#!/bin/sh\necho \"depth $CLOISTER_DEPTH\" >> "+ledger+"\n[ $(wc -l < "+ledger+") -lt 40 ] && exec "+copied+" \"$@\"\n")
	if err := os.Chmod(script, 0o700); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "CLOISTER_ENGINE="+enginePath(t), "CLOISTER_CACHE_DIR="+filepath.Join(dir, "compiled"), "XDG_CONFIG_HOME=", "XDG_DATA_HOME=", "CLOISTER_DATA_DIR=", "CLOISTER_DEPTH=")
	for name, c := range map[string]struct {
		command []string
		stderr  string // of a run
		deepest string // of the starts that there may be; empty for none
	}{
		"itself":  {[]string{binary, "serve"}, "this program itself", ""},
		"link":    {[]string{link, "serve"}, "this program itself", ""},
		"wrapped": {[]string{"sh", "-c", script + " serve"}, "", "2"},
		"copied":  {[]string{script, "serve"}, "", "2"},
	} {
		t.Run(name, func(t *testing.T) {
			// Servers get HOME and none of our own variables, so this is where a bomb finds the list.
			home := filepath.Join(dir, "home-"+name)
			data := filepath.Join(home, ".local", "share", "cloister")
			if runtime.GOOS == "darwin" {
				data = filepath.Join(home, "Library", "Application Support", "cloister")
			}
			run := func(args ...string) (string, error) {
				cmd := exec.Command(binary, args...)
				cmd.Env, cmd.Dir = append(slices.Clone(env), "HOME="+home), dir
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				err := cmd.Run()
				return stderr.String(), err
			}
			if err := os.MkdirAll(data, 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(data, "mcp.json"), `{"servers":{"self":{"command":"`+c.command[0]+`","args":["`+strings.Join(c.command[1:], `","`)+`"]}}}`)
			text, err := run("run", cell)
			if err != nil || !strings.Contains(text, c.stderr) {
				t.Errorf("%v\n%s", err, text)
			}
			started, err := os.ReadFile(ledger)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			depths := strings.Fields(strings.ReplaceAll(string(started), "depth", ""))
			if len(depths) >= 40 {
				t.Errorf("it was started %d times", len(depths))
			}
			if (len(depths) == 0) != (c.deepest == "") {
				t.Errorf("it was started %d times", len(depths))
			}
			for _, depth := range depths {
				if depth != "1" && depth != c.deepest {
					t.Errorf("it was started at the depth %q", depth)
				}
			}
			if err := os.Remove(ledger); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			if c.deepest == "" { // what a list must not have is refused when it is made
				text, err = run(append([]string{"mcp", "add", "again", "--no-test", "--yes", "--"}, c.command...)...)
				if err == nil || !strings.Contains(text, "this is Cloister itself") {
					t.Errorf("mcp add: %v\n%s", err, text)
				}
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
