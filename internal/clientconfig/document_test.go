package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const oneEntry = `{"command":"/bin/cloister","args":["serve"],"env":{"A":"b \"c\""}}`

// Putting a server in changes what it has to and nothing else; taking it out gives the text from before.
func TestSetAndRemove(t *testing.T) {
	for _, test := range []struct {
		name          string
		format        Format
		path          string
		before, after string
	}{
		{"empty object", JSON, "mcpServers", "{}\n", `{
  "mcpServers": {
    "cloister": {
      "command": "/bin/cloister",
      "args": [
        "serve"
      ],
      "env": {
        "A": "b \"c\""
      }
    }
  }
}
`},
		{"comments and a comma", JSON, "servers", "// head\n{\n\t/* a */ \"servers\": {\n\t\t\"x\": {\"url\": \"https://x/\"}, // of x\n\t},\n\t\"z\": [1,2,], // end\n}\n",
			"// head\n{\n\t/* a */ \"servers\": {\n\t\t\"x\": {\"url\": \"https://x/\"}, // of x\n" +
				"\t\t\"cloister\": {\n\t\t\t\"command\": \"/bin/cloister\",\n\t\t\t\"args\": [\n\t\t\t\t\"serve\"\n\t\t\t],\n\t\t\t\"env\": {\n\t\t\t\t\"A\": \"b \\\"c\\\"\"\n\t\t\t}\n\t\t},\n" +
				"\t},\n\t\"z\": [1,2,], // end\n}\n"},
		{"no comma, a comment at the end", JSON, "s", "{\n    \"s\": {\n        \"x\": {} // of x\n    }\n}",
			"{\n    \"s\": {\n        \"x\": {}, // of x\n        \"cloister\": {\n            \"command\": \"/bin/cloister\",\n            \"args\": [\n                \"serve\"\n            ],\n            \"env\": {\n                \"A\": \"b \\\"c\\\"\"\n            }\n        }\n    }\n}"},
		{"toml", TOML, "mcp_servers", "# mine\nmodel = \"x\" # y\n\n[mcp_servers.a] # first\ncommand = \"\"\"\n[mcp_servers.cloister]\n\"\"\"\n",
			"# mine\nmodel = \"x\" # y\n\n[mcp_servers.a] # first\ncommand = \"\"\"\n[mcp_servers.cloister]\n\"\"\"\n\n[mcp_servers.cloister]\ncommand = \"/bin/cloister\"\nargs = [\"serve\"]\nenv = { A = \"b \\\"c\\\"\" }\n"},
		{"empty toml", TOML, "mcp_servers", "", "[mcp_servers.cloister]\ncommand = \"/bin/cloister\"\nargs = [\"serve\"]\nenv = { A = \"b \\\"c\\\"\" }\n"},
		{"yaml", YAML, "extensions", "# mine\nGOOSE_MODE: auto # y\nextensions:\n  developer:\n    enabled: true\n    args:\n    - \"a b\"\n    note: |\n      cloister:\n        x\n\n# tail\nlast: [1, 'two', {a: b}]\n",
			"# mine\nGOOSE_MODE: auto # y\nextensions:\n  developer:\n    enabled: true\n    args:\n    - \"a b\"\n    note: |\n      cloister:\n        x\n  cloister:\n    command: /bin/cloister\n    args:\n    - serve\n    env:\n      A: \"b \\\"c\\\"\"\n\n# tail\nlast: [1, 'two', {a: b}]\n"},
		{"yaml, empty list", YAML, "extensions", "a: 1\nextensions: {}\nb: 2\n",
			"a: 1\nextensions:\n  cloister:\n    command: /bin/cloister\n    args:\n    - serve\n    env:\n      A: \"b \\\"c\\\"\"\nb: 2\n"},
		{"windows lines", TOML, "mcp_servers", "a = 1\r\n", "a = 1\r\n\r\n[mcp_servers.cloister]\r\ncommand = \"/bin/cloister\"\r\nargs = [\"serve\"]\r\nenv = { A = \"b \\\"c\\\"\" }\r\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, err := Open("f", test.format, []string{test.path}, []byte(test.before))
			if err != nil {
				t.Fatal(err)
			}
			depth := d.Depth()
			after, err := d.Set("cloister", json.RawMessage(oneEntry))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.after, string(after.Text())); diff != "" {
				t.Errorf("after:\n%s", diff)
			}
			if !Same(after.Server("cloister"), json.RawMessage(oneEntry)) {
				t.Errorf("it reads as %s", after.Server("cloister"))
			}
			other, err := after.Set("cloister", json.RawMessage(`{"url":"https://x/"}`))
			if err != nil {
				t.Fatal(err)
			}
			back, err := other.Remove("cloister")
			if err == nil {
				back, err = back.Prune(depth)
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimSpace(test.before), strings.TrimSpace(string(back.Text()))); diff != "" {
				t.Errorf("taken out again:\n%s", diff)
			}
		})
	}
}

// What a program cannot change without loss is refused, not changed.
func TestRefused(t *testing.T) {
	for _, test := range []struct {
		name   string
		format Format
		text   string
		want   error
	}{
		{"no JSON", JSON, `{"mcpServers": `, ErrSyntax},
		{"a list", JSON, `[]`, ErrLayout},
		{"servers are a list", JSON, `{"list": []}`, ErrLayout},
		{"key twice", JSON, `{"list": {}, "list": {"cloister": {}}}`, ErrSyntax},
		{"key twice, spelled otherwise", JSON, `{"list": {}, "\u006cist": {}}`, ErrSyntax},
		{"open comment", JSON, "{} /* x", ErrSyntax},
		{"no UTF-8", JSON, "{\"a\": \"\xff\"}", ErrSyntax},
		{"deep", JSON, `{"a": ` + strings.Repeat("[", 100_000), ErrSyntax},
		{"two values", JSON, `{}{}`, ErrSyntax},
		{"no TOML", TOML, "a = ", ErrSyntax},
		{"inline list", TOML, "list = { cloister = { url = \"x\" } }\n", ErrLayout},
		{"dotted keys", TOML, "list.cloister.url = \"x\"\n", ErrLayout},
		{"list is a text", TOML, "list = \"x\"\n", ErrLayout},
		{"anchors", YAML, "a: &x 1\nb: *x\n", ErrLayout},
		{"tags", YAML, "a: !!binary x\n", ErrLayout},
		{"two documents", YAML, "a: 1\n---\nb: 2\n", ErrLayout},
		{"flow with members", YAML, "list: {cloister: {a: b}}\n", ErrLayout},
		{"flow of several lines", YAML, "list: {\n}\n", ErrLayout},
		{"quoted text of several lines", YAML, "a: \"x\nlist:\n  cloister: 1\"\n", ErrLayout},
		{"tabs", YAML, "list:\n\tcloister: 1\n", ErrLayout},
		{"merge keys", YAML, "list:\n  <<: x\n", ErrLayout},
		{"yaml key twice", YAML, "list: {}\nlist: {}\n", ErrLayout},
		{"long yaml", YAML, "a: 1\n" + strings.Repeat("#\n", maxYAMLBytes), ErrLayout},
		{"many tables", TOML, strings.Repeat("[x]\n", maxTOMLBytes), ErrLayout},
		{"deep yaml", YAML, "a: " + strings.Repeat("[", 1000), ErrLayout},
		{"deep yaml lines", YAML, strings.Repeat("- ", 1000) + "a\n", ErrLayout},
		{"yaml of a list", YAML, "- a\n", ErrLayout},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, err := Open("f", test.format, []string{"list"}, []byte(test.text))
			if err == nil {
				_, err = d.Set("cloister", json.RawMessage(oneEntry))
			}
			if !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
		})
	}
	if _, err := Open("f", JSON, []string{"list"}, bytes.Repeat([]byte(" "), MaxBytes+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
}

// Whatever is in a file, a change of one server is that and no other, and can be undone.
func FuzzChange(f *testing.F) {
	f.Add("json", []byte("{\"list\": {\"x\": {\"a\": 1}, /* c */}, \"b\": [1,],}\n"))
	f.Add("toml", []byte("a = '''x'''\n[list.x] # y\nb = [\n1, # z\n]\n[list.x.env]\nA = \"b\"\n"))
	f.Add("yaml", []byte("a: 'b'\nlist:\n  x:\n    c: [1, {d: e}]\n    t: >-\n      f\n# g\nh:\n- i: j\n  k: l\n"))
	f.Fuzz(func(t *testing.T, format string, text []byte) {
		d, err := Open("f", Format(format), []string{"list"}, text)
		if err != nil {
			return
		}
		for _, name := range append(d.Names(), "cloister") {
			before, depth := d.Server(name), d.Depth()
			steps, err := d.Apply([]Change{{Name: name, After: json.RawMessage(oneEntry)}})
			if err != nil || len(steps) == 0 {
				continue
			}
			r := &Record{Depth: depth, Changes: []Change{{name, before, json.RawMessage(oneEntry)}}}
			back, err := r.Undo(steps[0])
			if err != nil {
				continue
			}
			last := steps[0]
			if len(back) > 0 {
				last = back[len(back)-1]
			}
			if !Same(last.Server(name), before) || !onlyDiffer(d.tree, last.tree, d.path, name, before) {
				t.Fatalf("%s is not undone:\n%q\n%q\n%q", name, text, steps[0].Text(), last.Text())
			}
		}
	})
}
