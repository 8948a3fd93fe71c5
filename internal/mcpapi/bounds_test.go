package mcpapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cloister-wasm/cloister/internal/mcpapi"
)

// bombs are schemas that cost much or grow, and still have to give a declaration in its bounds.
func bombs() map[string]string {
	object := func(n int, member func(i int) string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = member(i)
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	nested := func(open, inner, closing string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(closing, n)
	}
	list := func(n int, item func(i int) string) string {
		o := object(n, item)
		return "[" + o[1:len(o)-1] + "]"
	}
	return map[string]string{
		"deep objects":     nested(`{"type":"object","properties":{"a":`, `{}`, `}}`, 60),
		"too deep to read": nested(`{"items":`, `{}`, `}`, 5000),
		"deep arrays":      `{"properties":{"a":` + nested(`{"type":"array","items":`, `{}`, `}`, 100) + `}}`,
		"exponential references": `{"properties":{"x":{"$ref":"#/$defs/d0"}},"$defs":` + object(30, func(i int) string {
			return fmt.Sprintf(`"d%d":{"properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}}`, i, i+1, i+1)
		}) + `}`,
		"exponential alternatives": `{"properties":{"x":{"$ref":"#/$defs/d0"}},"$defs":` + object(30, func(i int) string {
			return fmt.Sprintf(`"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1)
		}) + `}`,
		"exponential conjunctions": `{"allOf":[{"$ref":"#/$defs/d0"}],"$defs":` + object(30, func(i int) string {
			return fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"items":{"$ref":"#/$defs/d%d"}}]}`, i, i+1, i+1)
		}) + `}`,
		"circle of references": `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`,
		"reference to itself":  `{"properties":{"x":{"properties":{"y":{"$ref":"#/properties/x"}}},"z":{"$ref":"#"}}}`,
		"long chain": `{"$ref":"#/$defs/d0","$defs":` + object(1000, func(i int) string {
			return fmt.Sprintf(`"d%d":{"$ref":"#/$defs/d%d"}`, i, i+1)
		}) + `}`,
		"references into a crowd": `{"properties":` + object(2000, func(i int) string { return fmt.Sprintf(`"p%d":{"$ref":"#/$defs/q%d"}`, i, i) }) +
			`,"$defs":` + object(4000, func(i int) string { return fmt.Sprintf(`"q%d":{}`, 4000-i) }) + `}`,
		"huge enum": `{"properties":{"x":{"enum":` + list(20000, func(i int) string { return fmt.Sprintf(`"v%d"`, i) }) + `}}}`,
		"many enums": `{"properties":` + object(90, func(i int) string {
			return fmt.Sprintf(`"p%d":{"enum":%s}`, i, list(60, func(j int) string { return fmt.Sprintf(`"value %d"`, j) }))
		}) + `}`,
		"huge union":        `{"properties":{"x":{"anyOf":` + list(10000, func(i int) string { return fmt.Sprintf(`{"const":%d}`, i) }) + `}}}`,
		"many properties":   `{"properties":` + object(9000, func(i int) string { return fmt.Sprintf(`"p%d":{"type":"string"}`, i) }) + `}`,
		"many descriptions": `{"properties":` + object(150, func(i int) string { return fmt.Sprintf(`"p%d":{"description":%q}`, i, strings.Repeat("text ", 200)) }) + `}`,
		"many unknown keywords": `{"properties":{"x":{"$ref":"#/$defs/k"},"y":{"$ref":"#/$defs/k"}},"$defs":{"k":` +
			object(10000, func(i int) string { return fmt.Sprintf(`"k%d":0`, i) }) + `}}`,
		"unknown keywords many times": `{"properties":` + object(90, func(i int) string { return fmt.Sprintf(`"p%d":{"$ref":"#/$defs/k"}`, i) }) +
			`,"$defs":{"k":` + object(5000, func(i int) string { return fmt.Sprintf(`"k%d":0`, i) }) + `}}`,
		"long key": `{"properties":{"` + strings.Repeat("k", 100000) + `":{},"ok":{}}}`,
		"escaped keys": `{"properties":` + object(100, func(i int) string {
			return fmt.Sprintf(`"%s%d":{"properties":{"a":{}}}`, strings.Repeat("\u00e9", 90), i)
		}) + `}`,
		"over the bound": `{"properties":{"x":{"description":"` + strings.Repeat("x", 300<<10) + `"}}}`,
		"brackets":       strings.Repeat("[", 100000),
		"many patterns":  `{"patternProperties":` + object(5000, func(i int) string { return fmt.Sprintf(`"p%d":{"const":%d}`, i, i) }) + `}`,
		"many required":  `{"properties":{"a":{}},"required":` + list(50000, func(i int) string { return `"a"` }) + `}`,
		"many types":     `{"properties":{"a":{"type":` + list(20000, func(i int) string { return `"string"` }) + `}}}`,
		"wide tuple":     `{"properties":{"a":{"prefixItems":` + list(5000, func(i int) string { return `{"type":"string"}` }) + `}}}`,
	}
}

func TestBombs(t *testing.T) {
	var all []mcpapi.Tool
	for name, text := range bombs() {
		t.Run(name, func(t *testing.T) {
			tl := tool("f", text)
			tl.Returns, tl.Description = tl.Parameters, strings.Repeat("words ", 200000)
			s := server(tl)
			all = append(all, tl)
			got := mcpapi.ToolDeclaration(s, &s.Tools[0])
			if part := body(t, s, 0); len(part) > mcpapi.MaxToolBytes {
				t.Errorf("the declaration has %d bytes", len(part))
			}
			parseTypeScript(t, got)
			if err := checkShape(got); err != nil {
				t.Errorf("the declaration %v", err)
			}
			if again := mcpapi.ToolDeclaration(s, &s.Tools[0]); again != got {
				t.Error("the declaration changes from call to call")
			}
		})
	}
	for i := range all {
		all[i].Original = fmt.Sprint("f", i)
	}
	for i := 0; len(all) < 2000; i++ {
		all = append(all, all[i])
	}
	s := server(all...)
	got := mcpapi.Declaration(s)
	if len(got) > mcpapi.MaxServerBytes || !strings.Contains(got, " more tools: MCP.srv.$api(name)") {
		t.Errorf("the declaration of 2000 bombs has %d bytes", len(got))
	}
	parseTypeScript(t, got)
	if err := checkShape(got); err != nil {
		t.Errorf("the declaration %v", err)
	}
}

// TestOmissionsAreNamed wants a hint wherever a reader does not see all of a schema.
func TestOmissionsAreNamed(t *testing.T) {
	const hint = `Parts of the types are left out: MCP.srv.$api("f", { schema: true }) gives them.`
	for name, text := range bombs() {
		if name == "many required" || name == "many unknown keywords" {
			continue // what is left out says nothing
		}
		s := server(tool("f", text))
		if got := body(t, s, 0); !strings.Contains(got, hint) {
			t.Errorf("%s: no hint in %s", name, clip(got))
		}
	}
	s := server(tool("f", `{"properties":{"a":{"type":"array","items":{"enum":[1,2]}}}}`))
	if got := body(t, s, 0); strings.Contains(got, hint) {
		t.Errorf("a hint without need:\n%s", got)
	}
}

// TestRequiredIsShownFirst keeps what a call cannot do without, wherever it stands, and the number of members.
func TestRequiredIsShownFirst(t *testing.T) {
	var properties []string
	for i := range 150 {
		properties = append(properties, fmt.Sprintf(`"p%03d":{"type":"string"}`, i))
	}
	s := server(tool("f", `{"properties":{`+strings.Join(properties, ",")+`},"required":["p149","p000"]}`))
	got := body(t, s, 0)
	for _, want := range []string{"    p000: string;\n", "    p097?: string;\n", "    p098?: string;\n    p149: string;\n    // 50 more\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got[max(0, len(got)-400):])
		}
	}
}

// TestCutTextsAreNamed wants a hint where the text about a tool or a parameter ends early.
func TestCutTextsAreNamed(t *testing.T) {
	const hint = `Texts are cut: MCP.srv.$api("f", { schema: true }) gives them.`
	for name, test := range map[string]struct {
		description, schema string
		want                bool
	}{
		"whole":       {"Does it…", `{"properties":{"a":{"description":"short"}}}`, false},
		"description": {strings.Repeat("word ", 300), `{}`, true},
		"lines":       {strings.Repeat("a\n", 100), `{}`, true},
		"parameter":   {"Does it.", `{"properties":{"a":{"description":"` + strings.Repeat("word ", 50) + `"}}}`, true},
		"inner":       {"Does it.", `{"properties":{"a":{"properties":{"b":{"description":"` + strings.Repeat("word ", 50) + `"}}}}}`, true},
	} {
		tl := tool("f", test.schema)
		tl.Description = test.description
		if got := body(t, server(tl), 0); strings.Contains(got, hint) != test.want {
			t.Errorf("%s: hint %v, want %v:\n%s", name, !test.want, test.want, clip(got))
		}
	}
}

// TestInstructions has what a server says of itself in a comment that it cannot end, and each line marked.
func TestInstructions(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"none":      {" \n\x1b", ""},
		"lines":     {"Use it.\r\n\n  Well: */ evil() /*", "// > Use it.\n// > Well: * / evil() / *\n"},
		"hidden":    {"a\u2028evil()\u202e\x1b[31m", "// > a\n// > evil()[31m\n"},
		"directive": {"@ts-nocheck\n/ <reference path=\"x\" />", "// > \\@ts-nocheck\n// > / <reference path=\"x\" />\n"},
		"long":      {strings.Repeat("word ", 1000), strings.Repeat("word ", 399) + "word…\n// The text is cut: (await MCP.srv.$api()).instructions has more of it.\n"},
		"many":      {strings.Repeat("a\n", 100), "// > a…\n// The text is cut: (await MCP.srv.$api()).instructions has more of it.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := server(tool("f", `{}`))
			s.Instructions = test.text
			got := mcpapi.Declaration(s)
			head, _, _ := strings.Cut(got, "declare namespace")
			if own := strings.Contains(head, "// In the server's own words"); own != (test.want != "") || !strings.HasSuffix(head, test.want) || strings.Count(head, "\n") > 44 {
				t.Errorf("the head is %q, not %q", head, test.want)
			}
			if err := checkShape(got); err != nil {
				t.Errorf("the declaration %v", err)
			}
			parseTypeScript(t, got)
			if strings.Contains(mcpapi.ToolDeclaration(s, &s.Tools[0]), "own words") {
				t.Error("they are in the declaration of a tool")
			}
		})
	}
}

// TestLessIsShownBeforeNothing keeps the outer properties of a tool that is too large to be shown whole.
func TestLessIsShownBeforeNothing(t *testing.T) {
	var inner, outer []string
	for i := range 40 {
		inner = append(inner, fmt.Sprintf(`"inner%d":{"type":"string","description":"A text about the inner property that takes room"}`, i))
	}
	for i := range 40 {
		outer = append(outer, fmt.Sprintf(`"outer%d":{"type":"object","properties":{%s}}`, i, strings.Join(inner, ",")))
	}
	s := server(tool("f", `{"properties":{`+strings.Join(outer, ",")+`}}`))
	got := body(t, s, 0)
	if !strings.Contains(got, "outer0?: ") || !strings.Contains(got, "outer39?: ") || strings.Contains(got, "inner39") {
		t.Errorf("declaration:\n%s", clip(got))
	}
}

func TestServerNamesAreGuarded(t *testing.T) {
	s := &mcpapi.Server{Name: "x { } evil", Tools: []mcpapi.Tool{{Name: "a(): void; function b", Original: "a\n*/"}}}
	for _, text := range []string{mcpapi.Declaration(s), mcpapi.ToolDeclaration(s, &s.Tools[0])} {
		parseTypeScript(t, text)
		if err := checkShape(text); err != nil {
			t.Errorf("the declaration %v:\n%s", err, text)
		}
	}
	parseTypeScript(t, mcpapi.Index([]mcpapi.Server{*s}))
}

// FuzzDeclaration takes names, texts and schemas of a server.
func FuzzDeclaration(f *testing.F) {
	f.Add("create_issue", "Create it.", `{"properties":{"a":{"type":"string","description":"*/"}}}`, `{"type":"object"}`)
	f.Add("*/\u2028", "x\n@param y", `{"properties":{"*/":{"enum":["*/","\u202e"]}},"allOf":[{"$ref":"#"}]}`, `[`)
	for _, text := range bombs() {
		if len(text) < 10000 {
			f.Add("f", "x", text, `{}`)
		}
	}
	f.Fuzz(func(t *testing.T, name, description, parameters, returns string) {
		s := server(
			mcpapi.Tool{Original: name, Description: description, Parameters: json.RawMessage(parameters), Returns: json.RawMessage(returns)},
			mcpapi.Tool{Original: description, Description: name, Parameters: json.RawMessage(returns)},
		)
		s.Name, s.Title = mcpapi.ServerNames([]string{description})[0], description
		s.Instructions = mcpapi.Instructions(description)
		if again := mcpapi.Instructions(s.Instructions); again != s.Instructions || utf8.RuneCountInString(again) > mcpapi.MaxInstructions {
			t.Fatalf("instructions %q become %q", s.Instructions, again)
		}
		for i := range s.Tools {
			text := mcpapi.ToolDeclaration(s, &s.Tools[i])
			if len(body(t, s, i)) > mcpapi.MaxToolBytes {
				t.Fatalf("a tool has %d bytes", len(text))
			}
		}
		text := mcpapi.Declaration(s)
		if err := checkShape(text); err != nil {
			t.Fatalf("the declaration %v:\n%s", err, text)
		}
		parseTypeScript(t, text)
		parseTypeScript(t, mcpapi.Index([]mcpapi.Server{*s}))
		if mcpapi.Declaration(s) != text {
			t.Fatal("the declaration changes")
		}
	})
}
