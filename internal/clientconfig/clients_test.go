package clientconfig

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The places are those that the clients document, on every system.
func TestFiles(t *testing.T) {
	linux := System{GOOS: "linux", Home: "/h"}
	mac := System{GOOS: "darwin", Home: "/m"}
	windows := System{GOOS: "windows", Home: `C:\Users\u`, Getenv: func(name string) string {
		return map[string]string{"APPDATA": `C:\Users\u\AppData\Roaming`}[name]
	}}
	support := "/m/Library/Application Support/"
	roaming := `C:\Users\u\AppData\Roaming\`
	want := map[string][3]string{
		"claude-code":    {"/h/.claude.json", "/m/.claude.json", `C:\Users\u\.claude.json`},
		"claude-desktop": {"/h/.config/Claude/claude_desktop_config.json", support + "Claude/claude_desktop_config.json", roaming + `Claude\claude_desktop_config.json`},
		"codex":          {"/h/.codex/config.toml", "/m/.codex/config.toml", `C:\Users\u\.codex\config.toml`},
		"cursor":         {"/h/.cursor/mcp.json", "/m/.cursor/mcp.json", `C:\Users\u\.cursor\mcp.json`},
		"gemini":         {"/h/.gemini/settings.json", "/m/.gemini/settings.json", `C:\Users\u\.gemini\settings.json`},
		"goose":          {"/h/.config/goose/config.yaml", "/m/.config/goose/config.yaml", roaming + `Block\goose\config\config.yaml`},
		"opencode":       {"/h/.config/opencode/opencode.json", "/m/.config/opencode/opencode.json", `C:\Users\u\.config\opencode\opencode.json`},
		"vscode":         {"/h/.config/Code/User/mcp.json", support + "Code/User/mcp.json", roaming + `Code\User\mcp.json`},
		"windsurf":       {"/h/.codeium/windsurf/mcp_config.json", "/m/.codeium/windsurf/mcp_config.json", `C:\Users\u\.codeium\windsurf\mcp_config.json`},
		"zed":            {"/h/.config/zed/settings.json", "/m/.config/zed/settings.json", roaming + `Zed\settings.json`},
	}
	got := map[string][3]string{}
	for _, c := range Clients {
		got[c.Name] = [3]string{c.Files(linux)[0], c.Files(mac)[0], c.Files(windows)[0]}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	variables := map[string]string{"XDG_CONFIG_HOME": "/x", "CODEX_HOME": "/codex", "CLAUDE_CONFIG_DIR": "/claude"}
	linux.Getenv = func(name string) string { return variables[name] }
	for name, want := range map[string]string{"zed": "/x/zed/settings.json", "codex": "/codex/config.toml", "claude-code": "/claude/.claude.json", "goose": "/x/goose/config.yaml"} {
		if got := Find(name).Files(linux)[0]; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	variables["XDG_CONFIG_HOME"] = "relative"
	if got := Find("zed").Files(linux)[0]; got != "/h/.config/zed/settings.json" {
		t.Errorf("a relative XDG_CONFIG_HOME counts: %s", got)
	}
}

// Every client's entry goes into its format and comes out again, and is known as one of Cloister.
func TestEntries(t *testing.T) {
	launch := Launch{Command: `C:\Program Files\cloister.exe`, Args: []string{"serve", "--config=/é \"x\""}, Env: map[string]string{"CLOISTER_DATA_DIR": "/d", "B": "\x01\x7f\u2028"}}
	for _, c := range Clients {
		for _, text := range []string{"", "{}"} {
			if c.Format == TOML && text != "" {
				continue
			}
			entries := []json.RawMessage{c.Stdio(launch), c.Stdio(Launch{Command: "/c"})}
			http, err := c.HTTP("http://127.0.0.1:7420/mcp")
			if noHTTP := c.Name == "claude-desktop" || c.Name == "zed"; errors.Is(err, ErrNoHTTP) != noHTTP {
				t.Errorf("%s: %v", c.Name, err)
			} else if !noHTTP {
				entries = append(entries, http)
			}
			for _, entry := range entries {
				d, err := c.Open("f", []byte(text))
				if err == nil {
					d, err = d.Set(Name, entry)
				}
				if err != nil {
					if text == "{}" && c.Format == YAML {
						continue // a flow mapping is refused
					}
					t.Fatalf("%s: %v", c.Name, err)
				}
				if got := d.Server(Name); !Same(got, entry) {
					t.Errorf("%s: %s, want %s", c.Name, got, entry)
				}
			}
			if !IsCloister(entries[0], "") || IsCloister(entries[1], "/c") {
				t.Errorf("%s: %s is not known", c.Name, entries[0])
			}
		}
	}
	if !slices.IsSorted(Names()) || Find("nobody") != nil {
		t.Error("names")
	}
}

// Of version 2 of opencode the list is a step deeper.
func TestOpencodeVersions(t *testing.T) {
	for text, want := range map[string]string{
		`{"mcp": {"servers": {"x": {"type": "local"}}}}`:            "mcp.servers",
		`{"mcp": {"servers": {"type": "local", "command": ["x"]}}}`: "mcp",
		`{}`: "mcp",
	} {
		d, err := Find("opencode").Open("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got := d.Path()[0]
		if len(d.Path()) == 2 {
			got += "." + d.Path()[1]
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// Two changes are undone as one, and what somebody else changed stays.
func TestRecordThen(t *testing.T) {
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	first := &Record{Depth: 0, Created: true, Before: "0", After: "1", Backup: "b0", Changes: []Change{{Name: "c", After: raw(`1`)}}}
	second := &Record{Depth: 1, Before: "1", After: "2", Backup: "b1", Changes: []Change{{"c", raw(`1`), raw(`2`)}, {"x", raw(`3`), nil}}}
	got := first.Then(second)
	want := &Record{Depth: 0, Created: true, Before: "0", After: "2", Backup: "b0", Changes: []Change{{"c", nil, raw(`2`)}, {"x", raw(`3`), nil}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	edited := &Record{Before: "9", After: "3", Backup: "b9", Changes: []Change{{"c", raw(`7`), raw(`8`)}}}
	if got := got.Then(edited); got.Backup != "b9" || !Same(got.Changes[0].Before, raw(`7`)) {
		t.Errorf("%+v", got)
	}
	d, err := Open("f", JSON, []string{"l"}, []byte(`{"l": {"c": 5}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Undo(d); !errors.Is(err, ErrChanged) {
		t.Errorf("%v, want ErrChanged", err)
	}
}
