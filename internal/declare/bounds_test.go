package declare_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cloister-wasm/cloister/internal/declare"
)

func repeat(n int, open, closing string, part func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = part(i)
	}
	return open + strings.Join(parts, ",") + closing
}

// TestBombs writes schemas that cost much or grow. Package mcpapi has more of them, for whole declarations.
func TestBombs(t *testing.T) {
	defs := func(form string) string {
		return `{"properties":{"x":{"$ref":"#/$defs/d0"}},"$defs":` + repeat(30, "{", "}", func(i int) string {
			return fmt.Sprintf(`"d%d":`+strings.ReplaceAll(form, "NEXT", fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)), i)
		}) + `}`
	}
	for name, schema := range map[string]string{
		"deep":                  strings.Repeat(`{"type":"object","properties":{"a":`, 60) + `{}` + strings.Repeat(`}}`, 60),
		"deep lists":            strings.Repeat(`{"items":`, 100) + `{}` + strings.Repeat(`}`, 100),
		"exponential members":   defs(`{"properties":{"a":NEXT,"b":NEXT}}`),
		"exponential union":     defs(`{"anyOf":[NEXT,NEXT]}`),
		"exponential allOf":     defs(`{"allOf":[NEXT,{"items":NEXT}]}`),
		"circle":                `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`,
		"circle through a list": `{"properties":{"x":{"items":{"$ref":"#/properties/x"}},"y":{"$ref":"#"}}}`,
		"thousands of anyOf":    `{"properties":{"x":{"anyOf":` + repeat(10000, "[", "]", func(i int) string { return fmt.Sprintf(`{"const":%d}`, i) }) + `}}}`,
		"thousands of allOf":    `{"properties":{"x":{"allOf":` + repeat(20000, "[", "]", func(i int) string { return fmt.Sprintf(`{"const":%d}`, i) }) + `}}}`,
		"huge enum":             `{"properties":{"x":{"enum":` + repeat(20000, "[", "]", func(i int) string { return fmt.Sprintf(`"v%d"`, i) }) + `}}}`,
		"many members":          `{"properties":` + repeat(20000, "{", "}", func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }) + `}`,
		"references into a crowd": `{"properties":` + repeat(8000, "{", "}", func(i int) string { return fmt.Sprintf(`"p%d":{"$ref":"#/$defs/q%d"}`, i, i) }) +
			`,"$defs":` + repeat(8000, "{", "}", func(i int) string { return fmt.Sprintf(`"q%d":{}`, 8000-i) }) + `}`,
		"many required":  `{"properties":{"a":{}},"required":` + repeat(50000, "[", "]", func(int) string { return `"a"` }) + `}`,
		"many types":     `{"properties":{"a":{"type":` + repeat(20000, "[", "]", func(int) string { return `"string"` }) + `}}}`,
		"long name":      `{"properties":{"` + strings.Repeat("k", 100000) + `":{}}}`,
		"long reference": `{"$ref":"#/` + strings.Repeat("x", 100000) + `","` + strings.Repeat("x", 100000) + `":{}}`,
	} {
		t.Run(name, func(t *testing.T) { checkShapes(t, []byte(schema)) })
	}
}

// TestStepsAreShared wants types that stop where the work of their caller is used up.
func TestStepsAreShared(t *testing.T) {
	v, err := declare.Parse([]byte(`{"properties":{"a":{"type":"string"},"b":{"type":"string"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	steps := 12
	o := declare.Options{Shape: declare.Shape{Depth: 8, Members: 100}, Bytes: maxType, Steps: &steps}
	first, second := declare.Output(v, o), declare.Output(v, o)
	if first.Text != "{ a?: string; b?: string }" || first.Cut {
		t.Errorf("first: %+v", first)
	}
	if !second.Cut || second.Text == first.Text || steps != 0 {
		t.Errorf("second: %+v with %d steps left", second, steps)
	}
}

// TestHostileNames has names and texts that try to leave their place.
func TestHostileNames(t *testing.T) {
	for name, key := range map[string]string{
		"plain":          `plain`,
		"__proto__":      `["__proto__"]`,
		"constructor":    `constructor`,
		"*/":             `"*\/"`,
		"/*":             `"/\*"`,
		"a\nb":           `"a\nb"`,
		"\u2028":         `"\u2028"`,
		"\u202e}":        `"\u202e}"`,
		"\x00":           `"\u0000"`,
		"\\\"":           `"\\\""`,
		"é":              `"\u00e9"`,
		"😀":              `"\ud83d\ude00"`,
		"1":              `"1"`,
		"":               `""`,
		"x: never; evil": `"x: never; evil"`,
		"${x}`":          "\"${x}`\"",
	} {
		if got := declare.Key(name); got != key {
			t.Errorf("Key(%q) = %s, want %s", name, got, key)
		}
		text := "type T = { " + declare.Key(name) + "?: 1 }; " // the name in a type, and the texts in a comment
		parseTypeScript(t, text)
		comment := declare.Comment(1, declare.TextLines(name+"\n"+name, 100)) + declare.Comment(0, []string{declare.TextLine(name, 100)})
		if err := checkText(comment); err != nil || !utf8.ValidString(comment) {
			t.Errorf("the comment %q: %v", comment, err)
		}
	}
}

func TestTextsWithoutRoom(t *testing.T) {
	for _, limit := range []int{-1, 0} {
		if line, lines, text := declare.TextLine("a", limit), declare.TextLines("a\nb", limit), declare.Text("a", limit); line+text != "" || len(lines) > 0 {
			t.Errorf("in %d runes: %q, %q, %q", limit, line, lines, text)
		}
	}
}

func TestComment(t *testing.T) {
	for _, test := range []struct {
		level int
		lines []string
		want  string
	}{
		{1, nil, ""},
		{0, []string{"a"}, "/** a */\n"},
		{2, []string{"a", "b"}, "    /**\n     * a\n     * b\n     */\n"},
	} {
		if got := declare.Comment(test.level, test.lines); got != test.want {
			t.Errorf("Comment(%d, %q) = %q, want %q", test.level, test.lines, got, test.want)
		}
	}
}
