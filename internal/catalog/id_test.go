package catalog

import (
	"errors"
	"strings"
	"testing"
)

func TestID(t *testing.T) {
	long := strings.Repeat("x", 128)
	tests := []struct{ source, owner, tool, want string }{
		{"cloister", "core", "message", "cloister:core:message"},
		{"cloister", "core", "exec", "cloister:core:exec"},
		{"cloister", "acme.csv", "parse-rows", "cloister:acme.csv:parse-rows"},
		{"mcp", "github", "create_issue", "mcp:github:create_issue"},
		{"mcp", "my_server-2", "files/read.text", "mcp:my_server-2:files/read.text"},
		{"client", "app", "select_file", "client:app:select_file"},
		{"client", "9app", "_private", "client:9app:_private"},
		{"mcp", long, long, "mcp:" + long + ":" + long},
	}
	for _, test := range tests {
		got, err := ID(test.source, test.owner, test.tool)
		if err != nil || got != test.want {
			t.Errorf("ID(%q, %q, %q) = %q, %v; want %q", test.source, test.owner, test.tool, got, err, test.want)
		}
	}
}

func TestIDRefuses(t *testing.T) {
	tests := []struct{ source, owner, tool, part string }{
		{"", "core", "x", "source"},
		{"MCP", "a", "x", "source"},
		{"plugin", "a", "x", "source"},
		{"mcp:", "a", "x", "source"},
		{"mcp", "", "x", "owner"},
		{"mcp", "core", "x", "owner"},
		{"client", "core", "x", "owner"},
		{"mcp", "a:b", "x", "owner"},
		{"mcp", "a/b", "x", "owner"},
		{"mcp", "a b", "x", "owner"},
		{"mcp", ".", "x", "owner"},
		{"mcp", "..", "x", "owner"},
		{"mcp", "-a", "x", "owner"},
		{"mcp", "a\x00", "x", "owner"},
		{"mcp", "a\n", "x", "owner"},
		{"mcp", "gіthub", "x", "owner"}, // a Cyrillic letter
		{"mcp", "a\u200b", "x", "owner"},
		{"mcp", "a\xff", "x", "owner"},
		{"mcp", strings.Repeat("x", 129), "x", "owner"},
		{"mcp", "a", "", "tool"},
		{"mcp", "a", "x:y", "tool"},
		{"mcp", "a", "x y", "tool"},
		{"mcp", "a", "x\x1b[31m", "tool"},
		{"mcp", "a", "x\u202e", "tool"},
		{"mcp", "a", "x*", "tool"},
		{"mcp", "a", "`x`", "tool"},
		{"mcp", "a", "créer", "tool"},
		{"mcp", "a", "/x", "tool"},
		{"mcp", "a", "x/", "tool"},
		{"mcp", "a", "x//y", "tool"},
		{"mcp", "a", "x/../y", "tool"},
		{"mcp", "a", "x/.", "tool"},
		{"mcp", "a", ".x", "tool"},
		{"mcp", "a", strings.Repeat("x", 129), "tool"},
		{"mcp", "a", strings.Repeat("x", 1<<20), "tool"},
	}
	for _, test := range tests {
		got, err := ID(test.source, test.owner, test.tool)
		var idErr *IDError
		if got != "" || !errors.Is(err, ErrInvalidID) || !errors.As(err, &idErr) || idErr.Part != test.part {
			t.Errorf("ID(%q, %q, %.40q) = %q, %v; want an IDError for the %s", test.source, test.owner, test.tool, got, err, test.part)
			continue
		}
		for _, c := range err.Error() {
			if c < ' ' || c > '~' {
				t.Errorf("the error text of %.40q holds %q", test.tool, c)
			}
		}
		if len(err.Error()) > 700 {
			t.Errorf("the error text of %.40q has %d bytes", test.tool, len(err.Error()))
		}
	}
}
