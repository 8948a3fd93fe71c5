package declare_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/internal/declare"
)

func TestTable(t *testing.T) {
	for _, test := range []struct {
		name, schema string
		want         []string // depth, name, type, about, default
	}{
		{"nothing", `{"type":"object"}`, nil},
		{"types", `{"type":"object","required":["b"],"properties":{"a":{"type":"integer","default":1,"description":"An a."},"b":{"type":["string","null"]},
			"c":{"type":"array","items":{"type":"integer"}},"d":{"enum":["x",1,{"y":2}]},"e":true,"f":false,"g":7,"h":{"title":"H","const":[1]}}}`,
			[]string{"0 a? integer; An a.; 1", "0 b string | null", "0 c? integer[]", `0 d? "x" | 1 | {"y":2} (3)`, "0 e? any", "0 f? never", "0 g? any", "0 h? [1]; H"}},
		{"combinations", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{"allOf":[{"type":"object","properties":{"x":{}}}]},"c":{"type":"string","nullable":true},
			"d":{"items":{"oneOf":[{"type":"string"},{"type":"object"}]}},"e":{"prefixItems":[{"type":"string"}],"items":false}}}`,
			[]string{"0 a? string | null", "0 b? object", "0 c? string | null", "0 d? (string | object)[]", "0 e? [string]"}},
		{"members of members", `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"array","items":{"type":"object","required":["c"],"properties":{"c":{"type":"object","properties":{"d":{}}}}}}}},"e":{}}}`,
			[]string{"0 a? object", "1 b? object[]", "2 c object", "0 e? any"}},
		{"references", `{"$ref":"#/$defs/in","$defs":{"in":{"type":"object","properties":{"a":{"$ref":"#/$defs/in"},"b":{"type":"array","items":{"$ref":"#/$defs/s"}},"c":{"$ref":"#/no"},"d":{"$ref":"https://x"}}},"s":{"type":"string"}}}`,
			[]string{"0 a? object", "1 a? object", "2 a? object", "2 b? string[]", "2 c? any", "2 d? any", "1 b? string[]", "1 c? any", "1 d? any", "0 b? string[]", "0 c? any", "0 d? any"}},
		{"hostile", `{"properties":{"\u202e*/":{"enum":["\u001b[2J"],"description":"\u001b[2J"}}}`, []string{"0 \u202e*/? \"\\u001b[2J\" (1); \x1b[2J"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			v, err := declare.Parse([]byte(test.schema))
			if err != nil {
				t.Fatal(err)
			}
			rows, more, ok := declare.Table(v, 3, 100)
			if !ok || more {
				t.Fatalf("ok %v, more %v", ok, more)
			}
			var got []string
			for _, r := range rows {
				text := fmt.Sprintf("%d %s", r.Depth, r.Name)
				if !r.Required {
					text += "?"
				}
				text += " " + r.Type
				if len(r.Values) > 0 {
					text += fmt.Sprintf(" (%d)", len(r.Values))
				}
				for _, more := range []string{r.About, r.Default} {
					if more != "" {
						text += "; " + more
					}
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTableIsNotForAll(t *testing.T) {
	for _, schema := range []string{`true`, `7`, `{}`, `{"type":"string"}`, `{"type":["object","null"]}`, `{"type":"object","anyOf":[{"required":["a"]}]}`, `{"type":"object","patternProperties":{"x":{}}}`,
		`{"$ref":"#"}`, `{"$ref":"#/no"}`, `{"type":"object","properties":[]}`, `{"enum":[{}]}`} {
		v, err := declare.Parse([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		if rows, more, ok := declare.Table(v, 3, 100); ok || more || len(rows) > 0 {
			t.Errorf("%s: %d rows, %v, %v", schema, len(rows), more, ok)
		}
	}
}

// TestTableIsBounded leaves out members beyond the bound, and the values of an enum that has too many.
func TestTableIsBounded(t *testing.T) {
	v, err := declare.Parse([]byte(`{"properties":{"x":{"enum":` + repeat(300, "[", "]", func(i int) string { return fmt.Sprintf(`"v%d"`, i) }) + `},` +
		strings.TrimPrefix(repeat(60, "{", "}", func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) }), "{") + `}`))
	if err != nil {
		t.Fatal(err)
	}
	rows, more, ok := declare.Table(v, 3, 50)
	if !ok || !more || len(rows) != 50 || rows[0].Type != "string" || rows[0].Values != nil {
		t.Errorf("%d rows, more %v, ok %v, first %+v", len(rows), more, ok, rows[:min(len(rows), 1)])
	}
}
