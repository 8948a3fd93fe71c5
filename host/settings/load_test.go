package settings_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/host/policy"
	"github.com/cloister-wasm/cloister/host/settings"
)

// inFolder makes the test stand in a folder with files, with a data folder of its own.
func inFolder(t *testing.T, files map[string]string) (data string) {
	t.Helper()
	t.Chdir(t.TempDir())
	data = t.TempDir()
	t.Setenv("CLOISTER_DATA_DIR", data)
	t.Setenv("CLOISTER_CONFIG", "")
	for name, text := range files {
		write(t, name, text)
	}
	return data
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What only a file that was named may say is a fault of one that was found, and the
// same text is taken where somebody names it, by Options or by the variable.
func TestFoundFileDecidesNothingAboutTrust(t *testing.T) {
	for text, keys := range map[string]string{
		`{plugins: {trust: "t.json"}}`:                                      "plugins.trust",
		`{plugins: {lock: "../x.lock"}}`:                                    "plugins.lock",
		`{plugins: {lock: "x.lock"}}`:                                       "",
		`{plugins: {secrets: {"a.b": {x: {env: "X"}}}}}`:                    "plugins.secrets",
		`{plugins: {http: {allowPrivate: ["::1/128"], timeoutMs: 5}}}`:      "plugins.http.allowPrivate",
		`{mcp: {servers: {a: {command: "x"}}}}`:                             "mcp.servers",
		`{serve: {http: "127.0.0.1:1", tokens: {}, approvalTokens: {}}}`:    "serve.http serve.tokens serve.approvalTokens",
		`{serve: {allowedOrigins: [], allowedHosts: [], instructions: ""}}`: "serve.allowedOrigins serve.allowedHosts serve.instructions",
		`{serve: {limits: {maxSessions: 5}}, approvals: {elicit: false}}`:   "",
		`{approvals: {ttlSeconds: 1}}`:                                      "",
		`{approvals: {ttlSeconds: 86400}}`:                                  "",
		`{approvals: {ttlSeconds: 86401}}`:                                  "approvals.ttlSeconds",
		`{serve: {limits: {maxSessions: 256, maxConcurrentExecs: 16, maxRequestBytes: 4194304, idleTimeoutMs: 1800000, resumeTimeoutMs: 0, approvalWaitMs: 45000}}}`: "",
		`{serve: {limits: {maxSessions: 257, maxConcurrentExecs: 17, maxRequestBytes: 4194305}}}`:                                                                    "serve.limits.maxSessions serve.limits.maxConcurrentExecs serve.limits.maxRequestBytes",
		`{serve: {limits: {idleTimeoutMs: 1800001, resumeTimeoutMs: 15001, approvalWaitMs: 0}}}`:                                                                     "serve.limits.idleTimeoutMs serve.limits.resumeTimeoutMs serve.limits.approvalWaitMs",
		`{tools: {codeMode: {timeoutMs: 10000, memoryLimitBytes: 1048576, maxOutputBytes: 2048}}}`:                                                                   "",
		`{tools: {codeMode: {timeoutMs: 10001, memoryLimitBytes: 1073741824, maxOutputBytes: 1e9}}}`:                                                                 "tools.codeMode.timeoutMs tools.codeMode.memoryLimitBytes tools.codeMode.maxOutputBytes",
		`{tools: {codeMode: {maxSnapshotBytes: 1e9, maxPendingToolCalls: 128, snapshotTtlSeconds: 86400, maxSuspendedRuns: 1e4}}}`:                                   "tools.codeMode.maxSnapshotBytes tools.codeMode.maxPendingToolCalls tools.codeMode.snapshotTtlSeconds tools.codeMode.maxSuspendedRuns",
		`{tools: {codeMode: {searchDefaultLimit: 49, maxSearchLimit: 500}}}`:                                                                                         "tools.codeMode.searchDefaultLimit tools.codeMode.maxSearchLimit",
		`{tools: {codeMode: false}}`:                                         "",
		`{tools: {sandbox: {tools: {deny: ["core"]}}}}`:                      "",
		`{tools: {sandbox: {tools: {allow: ["*"], alsoAllow: ["*"]}}}}`:      "tools.sandbox.tools.allow tools.sandbox.tools.alsoAllow",
		`{plugins: {config: {"a.b": {x: 1}}, dirs: ["p"], installed: true}}`: "plugins.config plugins.dirs",
		`{plugins: {allowUnsignedUnsafe: true}}`:                             "plugins.allowUnsignedUnsafe",
		`{plugins: {allowUnsignedUnsafe: false, installed: false}}`:          "",
		`{plugins: {http: {timeoutMs: 30000, maxResponseBytes: 4194304}}}`:   "",
		`{plugins: {http: {timeoutMs: 30001, maxResponseBytes: 4194305}}}`:   "plugins.http.timeoutMs plugins.http.maxResponseBytes",
		`{policy: {files: ["../p.cedar"]}}`:                                  "policy.files",
		`{policy: {files: ["p.cedar"]}}`:                                     "",
		`{tools: {allow: ["core"], deny: ["*"]}}`:                            "",
	} {
		inFolder(t, map[string]string{settings.FileName: text})
		s, err := settings.Load(nil)
		var wrong *settings.Error
		if keys == "" {
			if err != nil || !s.Found || s.File != settings.FileName {
				t.Errorf("%s: %+v, %v", text, s, err)
			}
		} else if !errors.As(err, &wrong) || !errors.Is(err, settings.ErrFound) || !errors.Is(err, host.ErrConfig) {
			t.Errorf("%s: %v", text, err)
		} else {
			var got []string
			for _, f := range wrong.Faults {
				got = append(got, f.Key)
			}
			if diff := cmp.Diff(strings.Fields(keys), got); diff != "" {
				t.Errorf("%s: %s", text, diff)
			}
		}
		if s, err := settings.Load(&settings.Options{File: settings.FileName}); err != nil || s.Found {
			t.Errorf("%s, named: %v", text, err)
		}
		t.Setenv("CLOISTER_CONFIG", settings.FileName)
		if s, err := settings.Load(nil); err != nil || s.Found {
			t.Errorf("%s, named by the variable: %v", text, err)
		}
	}
}

// Each fault says where it is, and what would make the setting count.
func TestFoundFileSaysWhereAndWhy(t *testing.T) {
	inFolder(t, map[string]string{settings.FileName: "{\n  approvals: { ttlSeconds: 90000 },\n  plugins: {\n    dirs: [\"p\"], allowUnsignedUnsafe: true,\n  },\n}\n"})
	_, err := settings.Load(nil)
	want := "cloister.json5:2:28: approvals.ttlSeconds: only a file that somebody named may raise this above the default, 86400; this one was merely found in the working folder\n" +
		"cloister.json5:4:11: plugins.dirs: only a file that somebody named may decide this; this one was merely found in the working folder\n" +
		"cloister.json5:4:39: plugins.allowUnsignedUnsafe: only a file that somebody named may decide this; this one was merely found in the working folder"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if s, err := settings.Load(&settings.Options{File: settings.FileName}); err != nil || !s.Plugins.AllowUnsignedUnsafe {
		t.Errorf("named: %+v, %v", s, err)
	}
}

// Policies of a file that was found raise approvals and never lower them.
func TestFoundPoliciesOnlyNarrow(t *testing.T) {
	inFolder(t, map[string]string{
		settings.FileName: `{policy: {files: ["p.cedar"]}}`,
		"p.cedar":         "@id(\"all\")\n@approval(\"never\")\npermit (principal, action, resource);\n",
	})
	s, err := settings.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	if set, err := s.PolicySet(); set != nil || !errors.Is(err, settings.ErrFound) || !strings.HasPrefix(err.Error(), "p.cedar:1: @approval(\"never\") would lower") {
		t.Errorf("found: %v, %v", set, err)
	}
	if p, err := s.ToolPolicy(); p != nil || err == nil {
		t.Errorf("found: %v, %v", p, err)
	}
	if s, err = settings.Load(&settings.Options{File: settings.FileName}); err != nil {
		t.Fatal(err)
	}
	if set, err := s.PolicySet(); err != nil || len(set.Policies()) != 1 {
		t.Errorf("named: %v, %v", set, err)
	}
	write(t, "p.cedar", "permit (")
	if _, err := s.PolicySet(); !errors.Is(err, policy.ErrPolicy) {
		t.Errorf("broken: %v", err)
	}
}

func TestLoadErrors(t *testing.T) {
	data := inFolder(t, nil)
	if s, err := settings.Load(nil); err != nil || s.File != "" || !s.CodeMode.Enabled {
		t.Errorf("without a file: %+v, %v", s, err)
	}
	for _, file := range []string{"none.json5", "."} {
		if _, err := settings.Load(&settings.Options{File: file}); !errors.Is(err, settings.ErrRead) {
			t.Errorf("%s: %v", file, err)
		}
	}
	t.Setenv("CLOISTER_CONFIG", "gone.json5")
	if _, err := settings.Load(nil); !errors.Is(err, settings.ErrRead) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file of the variable that is not there: %v", err)
	}
	t.Setenv("CLOISTER_CONFIG", "")
	write(t, settings.FileName, "")
	if _, err := settings.Load(nil); err == nil {
		t.Error("an empty file was taken")
	}
	write(t, settings.FileName, "{}")
	write(t, filepath.Join(data, "mcp.json"), `{"servers": {"a": {"comand": "x"}}}`)
	var list *settings.ServerListError
	if _, err := settings.Load(nil); !errors.As(err, &list) || !errors.Is(err, host.ErrConfig) {
		t.Errorf("a list with a fault: %v", err)
	}
	if _, err := settings.Load(&settings.Options{NoServerList: true}); err != nil {
		t.Errorf("without the list: %v", err)
	}
}

// Of two servers of one name that of the configuration is used. What changes is read
// anew.
func TestServerList(t *testing.T) {
	data := inFolder(t, map[string]string{"c.json5": `{mcp: {servers: {both: {command: "file"}}}}`})
	list := filepath.Join(data, "mcp.json")
	write(t, list, `{"servers": {"both": {"command": "list"}, "own": {"command": "list"}}}`)
	s, err := settings.Load(&settings.Options{File: "c.json5"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"both", "own"}, s.ServerNames()); diff != "" {
		t.Error(diff)
	}
	if both := s.Server("both"); both.Command != "file" || both.User || both.File != "c.json5" {
		t.Errorf("both: %+v", both)
	}
	if len(s.Shadowed) != 1 || s.Shadowed[0].Name != "both" || !s.Shadowed[0].User || s.Shadowed[0].File != list {
		t.Errorf("shadowed: %+v", s.Shadowed)
	}
	if s.Server("none") != nil {
		t.Error("a server that is not there")
	}
	write(t, "c.json5", "{}")
	if s, err = s.Reload(); err != nil || s.Server("both").Command != "list" || s.Shadowed != nil {
		t.Errorf("read anew: %+v, %v", s, err)
	}
	parsed, err := settings.Parse("c.json5", []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := parsed.Reload(); again != parsed || err != nil {
		t.Errorf("what was parsed: %v, %v", again, err)
	}
}

func TestServerFile(t *testing.T) {
	inFolder(t, map[string]string{"c.json5": "{\n  // servers of this project\n  mcp: { servers: {} },\n}\n"})
	own, err := settings.Places{}.ServerFile("")
	if err != nil || !own.User {
		t.Fatalf("%+v, %v", own, err)
	}
	project, err := settings.Places{}.ServerFile("c.json5")
	if err != nil || project.User || project.Path != "c.json5" {
		t.Fatalf("%+v, %v", project, err)
	}
	server := &mcp.Server{Name: "notes", Command: "mcp-notes", Env: map[string]mcp.Value{"T": {Env: "TOKEN"}}}
	for _, f := range []settings.ServerFile{own, project} {
		steps := []struct {
			do   func() error
			want string
		}{
			{func() error { return f.Put(server) }, "notes"},
			{func() error { return f.SetDisabled("notes", true) }, "notes disabled"},
			{func() error { return f.SetDisabled("notes", false) }, "notes"},
			{func() error { return f.Remove("notes") }, ""},
		}
		for i, step := range steps {
			if err := step.do(); err != nil {
				t.Fatalf("%s, step %d: %v", f.Path, i, err)
			}
			s, err := settings.Load(&settings.Options{File: "c.json5"})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if at := s.Server("notes"); at != nil {
				got = at.Name
				if at.Disabled {
					got += " disabled"
				}
				if at.ServerFile() != f {
					t.Errorf("it stands in %+v, not %+v", at.ServerFile(), f)
				}
			}
			if got != step.want {
				t.Errorf("%s, step %d: %q; want %q", f.Path, i, got, step.want)
			}
		}
		if err := f.Remove("notes"); err == nil {
			t.Errorf("%s: what is not there was removed", f.Path)
		}
		if err := f.Put(&mcp.Server{Name: "bad"}); err == nil || !errors.Is(err, host.ErrConfig) {
			t.Errorf("%s: a server without a command: %v", f.Path, err)
		}
	}
	text, err := os.ReadFile("c.json5")
	if err != nil || !strings.Contains(string(text), "// servers of this project") {
		t.Errorf("%s %v", text, err)
	}
}
