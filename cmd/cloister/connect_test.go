package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cloister-wasm/cloister/internal/clientconfig"
)

// startConnected does as a client would: it starts what its file says, with the variables that stand there, and lists the
// tools: starts CLIENT FILE.
func startConnected(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: starts CLIENT FILE")
	}
	d, err := clientconfig.Find(args[0]).Open(args[1], []byte(ts.ReadFile(args[1])))
	ts.Check(err)
	entry := d.Server(clientconfig.Name)
	var e struct{ Env, Envs, Environment map[string]string }
	ts.Check(json.Unmarshal(entry, &e))
	for _, name := range servedVariables {
		ts.Setenv(name, "")
	}
	ts.Setenv("CLOISTER_ENGINE", "nowhere") // unless the file says where it is
	for _, variables := range []map[string]string{e.Env, e.Envs, e.Environment} {
		for name, value := range variables {
			ts.Setenv(name, value)
		}
	}
	ts.Check(ts.Exec("mcpclient", append([]string{"-list"}, clientconfig.CommandLine(entry)...)...))
}

// A file that is not what was shown and agreed to is not written, and nothing is left behind.
func TestClientFileChangedMeanwhile(t *testing.T) {
	const before = `{"mcpServers": {}}`
	for name, meddle := range map[string]func(path string) error{
		"other text": func(path string) error { return os.WriteFile(path, []byte(`{"mcpServers": {"x": {}}}`), 0o600) },
		"gone":       os.Remove,
		"a folder":   func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		"a link": func(path string) error {
			other := path + ".other"
			return errors.Join(os.Rename(path, other), os.Symlink(other, path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("CLOISTER_DATA_DIR", t.TempDir())
			path := filepath.Join(t.TempDir(), "mcp.json")
			if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
				t.Fatal(err)
			}
			file, err := openClientFile(clientconfig.Find("cursor"), path)
			if err != nil {
				t.Fatal(err)
			}
			if err := meddle(path); err != nil {
				t.Skip(err) // no links here
			}
			_, err = file.replace([]byte(`{}`), func(*clientconfig.Record, string) *clientconfig.Record {
				t.Error("it was written down")
				return nil
			})
			if !errors.Is(err, errFileChanged) {
				t.Errorf("%v, want %v", err, errFileChanged)
			}
			copies, err := filepath.Glob(path + ".cloister-backup-*")
			if err != nil || len(copies) > 0 {
				t.Errorf("copies %q, %v", copies, err)
			}
		})
	}
}

// A file that appears while somebody is asked is not written over.
func TestClientFileAppears(t *testing.T) {
	t.Setenv("CLOISTER_DATA_DIR", t.TempDir())
	path := filepath.Join(t.TempDir(), "sub", "mcp.json")
	file, err := openClientFile(clientconfig.Find("cursor"), path)
	if err != nil || !file.missing {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	_, err = file.replace([]byte(`{"a": 1}`), func(*clientconfig.Record, string) *clientconfig.Record { return nil })
	if !errors.Is(err, errFileChanged) {
		t.Errorf("%v, want %v", err, errFileChanged)
	}
}

// Where the file cannot be written, what was written down of an earlier change is as it was.
func TestClientFileCannotBeWritten(t *testing.T) {
	t.Setenv("CLOISTER_DATA_DIR", t.TempDir())
	dir := filepath.Join(t.TempDir(), "sub")
	path := filepath.Join(dir, "mcp.json")
	file, err := openClientFile(clientconfig.Find("cursor"), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // a file where the folder would be
		t.Fatal(err)
	}
	if _, err = file.replace([]byte(`{}`), func(*clientconfig.Record, string) *clientconfig.Record { return &clientconfig.Record{} }); err == nil {
		t.Error("it was written")
	}
	record, err := file.recordPath()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(record); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was written down: %v", err)
	}
}

// A diff shows what changes, and of what is around it neither secrets nor what a terminal would obey.
func TestFileDiff(t *testing.T) {
	before := []byte("a\n\"API_KEY\": \"sk-aaaaaaaaaaaaaaaaaaaaaaaa\",\r\n\x1b[2J\u202e\nold\nz\n")
	after := []byte("a\n\"API_KEY\": \"sk-aaaaaaaaaaaaaaaaaaaaaaaa\",\r\n\x1b[2J\u202e\nnew\nnewer\nz\n")
	got := fileDiff(plainDiff, before, after)
	for _, want := range []string{"@@ -2,4 +2,5 @@\n", "\n-old\n+new\n+newer\n z\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "sk-") || strings.ContainsAny(got, "\x1b\u202e\r") {
		t.Errorf("it shows too much:\n%q", got)
	}
	if n := strings.Count(fileDiff(plainDiff, nil, []byte(strings.Repeat("x\n", 10_000))), "\n"); n > maxDiffLines+2 {
		t.Errorf("%d lines", n)
	}
}
