package declare_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// generator writes a schema that bytes choose: mutated text is seldom JSON, and then says nothing about types.
type generator struct {
	choices []byte
	b       strings.Builder
}

func (g *generator) choose(n int) int {
	if len(g.choices) == 0 {
		return 0
	}
	c := g.choices[0]
	g.choices = g.choices[1:]
	return int(c) % n
}

var hostileTexts = []string{
	"plain", "a b", "*/", "/*", "*/ evil() /*", "\n", "\r\n", "\u2028}", "\u202e", "\x1b[31m", "\"", "\\", "`${x}`", "//", "*", "/", "*\u200b/", "@param x y",
	"__proto__", "new", "é", "😀", "", "\x00", "constructor", "}): void; function evil(", "</script>", "\ufeff", "\u0085", strings.Repeat("long ", 300),
}

func (g *generator) text() string {
	return hostileTexts[g.choose(len(hostileTexts))] + hostileTexts[g.choose(len(hostileTexts))]
}

func (g *generator) quoted(s string) {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings always have a form
	}
	g.b.Write(text)
}

// value writes a JSON value of any kind, as may stand in enum, const, default, and where it is wrong.
func (g *generator) value(depth int) {
	switch g.choose(7) {
	case 0:
		g.quoted(g.text())
	case 1:
		g.b.WriteString([]string{"0", "-1", "1e99", "12345678901234567890123456789012345678901234567890", "0.5"}[g.choose(5)])
	case 2:
		g.b.WriteString([]string{"true", "false", "null"}[g.choose(3)])
	case 3:
		g.list(depth, g.value)
	case 4:
		g.b.WriteString("{}")
	default:
		g.schema(depth + 1)
	}
}

func (g *generator) list(depth int, item func(int)) {
	g.b.WriteByte('[')
	for i := range g.choose(4) {
		if i > 0 {
			g.b.WriteByte(',')
		}
		item(depth + 1)
	}
	g.b.WriteByte(']')
}

func (g *generator) object(depth int, member func(int)) {
	g.b.WriteByte('{')
	seen := map[string]bool{}
	for range g.choose(5) {
		name := g.text()
		if seen[name] {
			continue
		}
		if len(seen) > 0 {
			g.b.WriteByte(',')
		}
		seen[name] = true
		g.quoted(name)
		g.b.WriteByte(':')
		member(depth + 1)
	}
	g.b.WriteByte('}')
}

// schema writes a schema with some keywords, most of them well-formed.
func (g *generator) schema(depth int) {
	if depth > 12 || len(g.choices) == 0 {
		g.b.WriteString([]string{`{"type":"string"}`, "true", "false", "{}"}[g.choose(4)])
		return
	}
	words := []struct {
		name  string
		write func(int)
	}{
		{"type", func(int) {
			g.quoted([]string{"string", "number", "integer", "boolean", "null", "array", "object", "*/"}[g.choose(8)])
		}},
		{"properties", func(d int) { g.object(d, g.schema) }},
		{"items", g.schema},
		{"prefixItems", func(d int) { g.list(d, g.schema) }},
		{"anyOf", func(d int) { g.list(d, g.schema) }},
		{"oneOf", func(d int) { g.list(d, g.schema) }},
		{"allOf", func(d int) { g.list(d, g.schema) }},
		{"$ref", func(int) {
			g.quoted([]string{"#", "#/$defs/a", "#/properties", "#/$defs/*~1", "https://x"}[g.choose(5)])
		}},
		{"enum", func(d int) { g.list(d, g.value) }},
		{"const", g.value},
		{"default", g.value},
		{"description", func(int) { g.quoted(g.text()) }},
		{"title", func(int) { g.quoted(g.text()) }},
		{"format", func(int) { g.quoted(g.text()) }},
		{"required", func(d int) { g.list(d, g.value) }},
		{"additionalProperties", g.schema},
		{"patternProperties", func(d int) { g.object(d, g.schema) }},
		{"minimum", g.value},
		{"nullable", g.value},
		{"deprecated", g.value},
		{"additionalItems", g.schema},
		{"maxItems", g.value},
		{"properties", g.value},
		{"anyOf", g.value},
		{"type", func(d int) { g.list(d, g.value) }},
	}
	g.b.WriteByte('{')
	seen := map[string]bool{}
	for range 1 + g.choose(5) {
		w := words[g.choose(len(words))]
		if seen[w.name] {
			continue
		}
		if len(seen) > 0 {
			g.b.WriteByte(',')
		}
		seen[w.name] = true
		g.quoted(w.name)
		g.b.WriteByte(':')
		w.write(depth)
	}
	if depth == 0 && !seen["$defs"] {
		g.b.WriteString(`,"$defs":{"a":`)
		g.schema(8)
		g.b.WriteString(`,"*/":`)
		g.schema(8)
		g.b.WriteByte('}')
	}
	g.b.WriteByte('}')
}

// FuzzTypes takes well-formed JSON that is more or less a schema, in all shapes.
func FuzzTypes(f *testing.F) {
	f.Add([]byte("\x01\x04\x01\x02\x03\x04\x05\x06\x07\x08"))
	f.Add([]byte(strings.Repeat("\x04\x01\x03\x02\x05", 60)))
	f.Fuzz(func(t *testing.T, choices []byte) {
		if len(choices) > 2000 {
			return
		}
		g := generator{choices: choices}
		g.schema(0)
		text := g.b.String()
		if !json.Valid([]byte(text)) {
			t.Fatalf("the generator writes no JSON: %s", text)
		}
		checkShapes(t, []byte(text))
	})
}

// TestGeneratedSchemas runs the generator over bytes of a fixed sequence, so that each run of the tests covers many shapes.
func TestGeneratedSchemas(t *testing.T) {
	state := uint32(1)
	next := func() byte {
		state = state*1664525 + 1013904223
		return byte(state >> 24)
	}
	marks := []string{" | ", " & ", "[]", "Record<", "/**", "[...", "never", "/* default"}
	shown := map[string]bool{}
	for range 500 {
		choices := make([]byte, 20+int(next())*2)
		for i := range choices {
			choices[i] = next()
		}
		g := generator{choices: choices}
		g.schema(0)
		got := checkShapes(t, []byte(g.b.String()))
		for _, mark := range marks {
			shown[mark] = shown[mark] || strings.Contains(got, mark)
		}
	}
	for _, mark := range marks {
		if !shown[mark] {
			t.Errorf("no generated type has %q: the generator is too tame", mark)
		}
	}
}
