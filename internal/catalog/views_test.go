package catalog

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGuestEntries(t *testing.T) {
	full := tool("cloister:acme.csv:parse", "Parse \"CSV\"\n\tinto rows \\ <b>&amp;</b>")
	full.Label, full.Parameters, full.Unsigned, full.Ref = "Parse", []byte(`{"type":"object"}`), true, func() {}
	c := mustBuild(t, []Entry{full, tool("cloister:core:message", ""), tool("mcp:github:create_issue", "Hidden"), tool("client:app:select_file", "Pick")})
	want := `[{"id":"cloister:core:message","name":"message","description":"","source":"cloister"},` +
		`{"id":"cloister:acme.csv:parse","name":"parse","label":"Parse","description":"Parse \"CSV\"\u000a\u0009into rows \\ <b>&amp;</b>","source":"cloister","sourceName":"acme.csv"},` +
		`{"id":"client:app:select_file","name":"select_file","description":"Pick","source":"client","sourceName":"app"}]`
	if diff := cmp.Diff(want, string(c.GuestEntries())); diff != "" {
		t.Errorf("ALL_TOOLS (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"cloister:core:message", "cloister:acme.csv:parse", "client:app:select_file"}, ids(c.GuestTools())); diff != "" {
		t.Errorf("guest tools (-want +got):\n%s", diff)
	}
	if got := string(MarshalCompact(c.Search("parse csv", 1))); !strings.HasPrefix(got, `[{"id":"cloister:acme.csv:parse"`) || strings.Contains(got, "parameters") {
		t.Errorf("a search result is %s", got)
	}
}

func TestDescribe(t *testing.T) {
	e := tool("cloister:acme.csv:parse", "Parse")
	e.Parameters = []byte("{ \"type\": \"object\",\n \"properties\": {\"b\": {\"const\": \"\u202e \"}, \"a\": {}} }")
	e.Returns, e.Unsigned = []byte(` true `), true
	c := mustBuild(t, []Entry{e, tool("cloister:core:message", "Send"), tool("mcp:github:create_issue", "")})
	tests := map[string]string{
		"cloister:acme.csv:parse": `{"id":"cloister:acme.csv:parse","name":"parse","description":"Parse","source":"cloister","sourceName":"acme.csv","unsigned":true,` +
			"\"parameters\":{\"type\":\"object\",\"properties\":{\"b\":{\"const\":\"\u202e \"},\"a\":{}}},\"returns\":true}", // schemas are verbatim
		"cloister:core:message": `{"id":"cloister:core:message","name":"message","description":"Send","source":"cloister","parameters":{"type":"object"}}`,
	}
	for id, want := range tests {
		got, err := c.Describe(id)
		if err != nil || !json.Valid(got) || string(got) != want {
			t.Errorf("Describe(%s) = %s, %v; want %s", id, got, err, want)
		}
	}
	for _, id := range []string{"", "mcp:github:create_issue", "message", "cloister:core:Message", "cloister:core:message ", "\x00", strings.Repeat("x", 1<<20)} {
		if got, err := c.Describe(id); !errors.Is(err, ErrUnknownID) || got != nil {
			t.Errorf("Describe(%.30q) = %s, %v; want ErrUnknownID", id, got, err)
		}
	}
}

// Hidden text, terminal escapes and direction overrides do not reach the guest.
func TestHostileTexts(t *testing.T) {
	tests := map[string]string{
		"plain":                             "plain",
		"a\x1b[31mred\x07\x00\x7f":          "a[31mred",
		"safe\u202egnp.exe\u2066x":          "safegnp.exex",
		"zero\u200bwidth\u200d\ufeff\u00ad": "zerowidth",
		"tag\U000e0041\U000e0042s":          "tags",
		"variation\ufe0f\U000e0100":         "variation",
		"private\ue000\U0010fffd":           "private",
		"filler\u3164\u115f\u2800":          "filler",
		"no\u00a0break\u3000space":          "no break space",
		"a\u2028b\u2029c\u0085d\r\n\te":     "a\nb\nc\nd\n\te",
		"bad\xff\xc0utf8":                   "bad\ufffd\ufffdutf8",
		"z" + strings.Repeat("\u0300", 50):  "z" + strings.Repeat("\u0300", 4),
		"naïve 天気 שלום नमस्ते 🙂":            "naïve 天気 שלום नमस्ते 🙂",
	}
	for text, want := range tests {
		e := tool("cloister:x:y", text)
		e.Label = text
		c := mustBuild(t, []Entry{e})
		got := c.Entries()[0]
		if got.Description != want {
			t.Errorf("description %q becomes %q, want %q", text, got.Description, want)
		}
		if line := strings.Join(strings.Fields(want), " "); got.Label != line {
			t.Errorf("label %q becomes %q, want %q", text, got.Label, line)
		}
		var list []map[string]string
		if err := json.Unmarshal(c.GuestEntries(), &list); err != nil || list[0]["description"] != want {
			t.Errorf("ALL_TOOLS holds %q (%v), want %q", list, err, want)
		}
	}
}

func TestConvenience(t *testing.T) {
	entries := tools(
		"cloister:core:web_search",
		"cloister:a:read-file", "cloister:b:read.file", // both come out as read_file
		"cloister:a:same", "cloister:b:same", "client:c:same",
		"cloister:a:unique.name/path", "cloister:a:camelCase", "cloister:a:camelcase",
		"cloister:a:2fast", "cloister:a:_ok", "cloister:a:__hidden", "cloister:a:_-hidden",
		"mcp:github:create_issue", "cloister:a:mcp_twin", "mcp:github:mcp_twin",
		"cloister:core:exec",
	)
	reserved := []string{
		"search", "describe", "call", "then", "catch", "finally", "toJSON", "toString", "valueOf", "constructor", "prototype", "__proto__",
		"hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "__defineGetter__", "__defineSetter__",
		"__lookupGetter__", "__lookupSetter__", "__cloister", "delete", "new", "class", "return", "await", "async", "yield", "let", "static", "eval",
		"arguments", "null", "true", "false", "undefined", "NaN", "Infinity", "this", "import", "export", "enum", "with", "apply", "bind",
	}
	for _, name := range reserved {
		entries = append(entries, tool("cloister:r:"+name, ""))
	}
	want := map[string]string{
		"web_search":       "cloister:core:web_search",
		"unique_name_path": "cloister:a:unique.name/path",
		"camelCase":        "cloister:a:camelCase",
		"camelcase":        "cloister:a:camelcase",
		"_ok":              "cloister:a:_ok",
		"mcp_twin":         "cloister:a:mcp_twin", // an MCP tool makes nothing ambiguous: it is not on tools
		"exec":             "cloister:core:exec",
	}
	if diff := cmp.Diff(want, mustBuild(t, entries).Convenience()); diff != "" {
		t.Errorf("convenience (-want +got):\n%s", diff)
	}
}

func TestSuggest(t *testing.T) {
	entries := append(loadTools(t), tool("mcp:github:create_issue", ""), tool("mcp:github:only_here", ""))
	c := mustBuild(t, entries)
	tests := map[string]string{ // guess to the first suggestion
		"cloister:github:creat_issue":       "cloister:github:create_issue",
		"cloister:github:createIssue":       "cloister:github:create_issue",
		"cloister:gihub:create_pull_reqest": "cloister:github:create_pull_request",
		"mcp:github:create_issue":           "cloister:github:create_issue",
		"mcp__github__create_issue":         "cloister:github:create_issue",
		"github.create_issue":               "cloister:github:create_issue",
		"create_issue":                      "cloister:github:create_issue",
		"jira/jira_create_isue":             "cloister:jira:jira_create_issue",
		"tools.web_brave_search":            "cloister:web:brave_web_search",
		"cloister:core:excec":               "cloister:core:exec",
		"cloister:core:mesage":              "cloister:core:message",
		"openclaw:core:message":             "cloister:core:message",
		"cloister:slack:send_message":       "cloister:slack:slack_post_message",
	}
	for guess, want := range tests {
		got := c.Suggest(guess)
		if len(got) == 0 || got[0] != want || len(got) > 3 {
			t.Errorf("Suggest(%q) = %v, want %s first", guess, got, want)
		}
		if again := mustBuild(t, entries).Suggest(guess); !slices.Equal(got, again) {
			t.Errorf("Suggest(%q) = %v and then %v", guess, got, again)
		}
	}
	for _, guess := range []string{"", " ", ":::", "\x00\u202e", "qqqqxyzzyqq", "mcp:github:only_here", "🙃"} {
		for _, id := range c.Suggest(guess) {
			if e, ok := c.Lookup(id); !ok || e.Source == SourceMCP {
				t.Errorf("Suggest(%q) gives %q", guess, id)
			}
		}
	}
	if got := c.Suggest("qqqqxyzzyqq"); len(got) != 0 {
		t.Errorf("nonsense gets %v", got)
	}
	for _, guess := range []string{strings.Repeat("cloister:github:", 1<<16), strings.Repeat("a", 1<<20), strings.Repeat("__", 1<<19), strings.Repeat("é", 1<<19)} {
		if got, want := c.Suggest(guess), c.Suggest(guess[:maxGuessLen]); !slices.Equal(got, want) {
			t.Errorf("the end of a long guess is read: %v, want %v", got, want)
		}
		if n := testing.AllocsPerRun(3, func() { c.Suggest(guess) }); n > 500 {
			t.Errorf("a suggestion for %.20q takes %v allocations", guess, n)
		}
	}
}
