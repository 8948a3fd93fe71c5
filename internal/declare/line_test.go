package declare

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSignature(t *testing.T) {
	deep := `{"type":"string"}`
	for i := range 6 {
		deep = fmt.Sprintf(`{"type":"object","properties":{"l%d":%s}}`, i, deep)
	}
	var wide, long, values, hundreds []string
	for i := range 300 {
		hundreds = append(hundreds, fmt.Sprintf(`"p%03d":{"type":"string"}`, i))
	}
	for i := range lineForm.values {
		values = append(values, fmt.Sprintf(`"a value of thirty characters %d"`, i))
	}
	for i := range 30 {
		wide = append(wide, fmt.Sprintf(`"p%02d":{"type":"string"}`, i))
		long = append(long, fmt.Sprintf(`"a_rather_long_parameter_name_%02d":{"type":"object","properties":{"x":{"type":"string"}}}`, i))
	}
	tests := []struct{ name, schema, want string }{
		{"nothing declared", `{"type":"object"}`, ""},
		{"no parameters", `{"type":"object","properties":{},"additionalProperties":false}`, ""},
		{"open", `{"type":"object","additionalProperties":true}`, "input?: object"},
		{"open with a type", `{"additionalProperties":{"type":"string"}}`, "input?: object"},
		{"plain", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"number"},"d":{"type":"boolean"},"e":{"type":"null"},"f":{}},"required":["c","a"]}`,
			"{a: string, c: number, b?: number, d?: boolean, e?: null, f?: any}"},
		{"lists", `{"properties":{"a":{"type":"array","items":{"type":"string"}},"b":{"type":"array"},"c":{"items":{"enum":["x","y"]}},"d":{"type":"array","items":{"type":"array","items":{"type":"integer"}}}}}`,
			`{a?: string[], b?: any[], c?: ("x" | "y")[], d?: number[][]}`},
		{"list of objects", `{"properties":{"a":{"type":"array","items":{"properties":{"x":{"type":["string","null"]}}}}}}`, "{a?: {x?: string | null}[]}"},
		{"list of a union that ends in a brace", `{"properties":{"a":{"type":"array","items":{"anyOf":[{"type":"string"},{"properties":{"x":{}}}]}}}}`, "{a?: (string | {x?: any})[]}"},
		{"enums", `{"properties":{"a":{"enum":["x",1,null,true]},"b":{"const":"k"},"c":{"const":{}},"d":{"enum":[]}}}`, `{a?: "x" | 1 | null | true, b?: "k", c?: any, d?: any}`},
		{"many values", `{"properties":{"a":{"enum":["1","2","3","4","5","6","7"]},"b":{"enum":[1,2,3,4,5,6,7]},"c":{"enum":[1,"2",3,4,5,6,7]}}}`, "{a?: string, b?: number, c?: any}"},
		{"unions", `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"number"}]},"b":{"oneOf":[{"type":"string"},{}]},"c":{"type":["string","null"]},"d":{"allOf":[{"type":"boolean"}]}}}`,
			"{a?: string | number, b?: any, c?: string | null, d?: boolean}"},
		{"references", `{"properties":{"a":{"$ref":"#/$defs/A"},"b":{"$ref":"#/$defs/no"},"c":{"$ref":"http://evil/x"},"d":{"$ref":"file:///etc/passwd"},"e":{"$ref":"#/$defs/x~1y~0z"}},"$defs":{"A":{"enum":["q"]},"x/y~z":{"type":"string"}}}`,
			`{a?: "q", b?: any, c?: any, d?: any, e?: string}`},
		{"circle", `{"properties":{"a":{"$ref":"#"}}}`, "{a?: {a?: {a?: object}}}"},
		{"circle of references", `{"properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"$ref":"#/$defs/B"},"B":{"$ref":"#/$defs/A"}}}`, "{a?: any}"},
		{"unions of circles", `{"properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"anyOf":[{"$ref":"#/$defs/A"},{"$ref":"#/$defs/A"}]}}}`, "{a?: any}"},
		{"deep", deep, "{l5?: {l4?: {l3?: object}}}"},
		{"wide", `{"properties":{` + strings.Join(wide, ",") + `},"required":["p29"]}`,
			"{p29: string, p00?: string, p01?: string, p02?: string, p03?: string, p04?: string, p05?: string, p06?: string, p07?: string, p08?: string, p09?: string, p10?: string, ...}"},
		{"too long in full", `{"properties":{` + strings.Join(long, ",") + `}}`,
			"{a_rather_long_parameter_name_00?: object, a_rather_long_parameter_name_01?: object, a_rather_long_parameter_name_02?: object, ...}"},
		{"too long in any form", `{"properties":{"a":{"enum":[` + strings.Join(values, ",") + `]},"b":{"enum":[` + strings.Join(values, ",") + `]}}}`, "input?: object"},
		{"too many alternatives", `{"properties":{"a":{"anyOf":[` + strings.Repeat(`{"type":"string"},`, 6) + `{"type":"null"}]},"b":{"type":["string","null","number","boolean","array","object","integer"]}}}`, "{a?: any, b?: any}"},
		{"too many members", `{"properties":{` + strings.Join(hundreds, ",") + `},"required":["p299",` + strings.Repeat(`"x",`, 3) + `"p001"]}`,
			"{p001: string, p000?: string, p002?: string, p003?: string, p004?: string, p005?: string, p006?: string, p007?: string, p008?: string, p009?: string, p010?: string, p011?: string, ...}"},
		{"bounded by a property count", `{"minProperties":1}`, "input?: object"},
		{"a reference at the top", `{"$ref":"#/$defs/A","$defs":{"A":{"properties":{"x":{"const":[1]}}}}}`, "{x?: any}"},
		{"a lost reference at the top", `{"$ref":"#/$defs/B/` + strings.Repeat("x/", 40) + `"}`, "input?: object"},
		{"odd names", `{"properties":{"a-b":{},"1a":{},"":{},"a\nb\u001b":{},"x\u202e` + "`" + `<b>\"":{},"$ok_1":{}}}`,
			`{"a-b"?: any, "1a"?: any, ""?: any, "a?b?"?: any, "x???b??"?: any, $ok_1?: any}`},
		{"long name", `{"properties":{"` + strings.Repeat("x", 100) + `":{}}}`, "{" + strings.Repeat("x", maxLineKey) + "?: any}"},
		{"odd values", "{\"properties\":{\"a\":{\"enum\":[\"`rm`\"]},\"b\":{\"const\":\"a\\nb\"},\"c\":{\"enum\":[\"é\"]},\"d\":{\"const\":\"" + strings.Repeat("x", 50) + "\"},\"e\":{\"const\":\"</tool>\"}}}",
			"{a?: string, b?: string, c?: string, d?: string, e?: string}"},
		{"wrong shapes", `{"type":5,"properties":{"a":7,"b":{"type":{}},"c":{"enum":"x"},"d":{"anyOf":{}},"e":{"properties":[]},"f":{"required":{},"type":"object"},"g":{"$ref":1},"h":{"type":[]},"i":{"anyOf":[]},"j":{"allOf":[]}}}`,
			"input?: object"},
		{"wrong shapes inside", `{"properties":{"a":7,"b":{"type":{}},"c":{"enum":"x"},"d":{"anyOf":{}},"e":{"properties":[]},"f":{"required":{},"type":"object"},"g":{"$ref":1},"h":{"type":[]},"i":{"anyOf":[]},"j":{"allOf":[]}}}`,
			"{a?: any, b?: any, c?: any, d?: any, e?: object, f?: object, g?: any, h?: any, i?: any, j?: any}"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := Parse([]byte(test.schema))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, Signature(s)); diff != "" {
				t.Errorf("signature (-want +got):\n%s", diff)
			}
		})
	}
}

// TestBracesInValues has parentheses around a union of values with brackets in them, which are no brackets of the type.
func TestBracesInValues(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"array","items":{"enum":["{","x"]}}`:                              `("{" | "x")[]`,
		`{"type":"array","items":{"enum":["}","x"]}}`:                              `("}" | "x")[]`,
		`{"type":"array","items":{"type":"array","items":{"enum":["x","y"]}}}`:     `(("x" | "y")[])[]`,
		`{"type":"array","items":{"const":"a|b"}}`:                                 `("a|b")[]`,
		`{"type":"array","items":{"properties":{"a":{"type":["null","string"]}}}}`: `{a?: null | string}[]`,
	} {
		v, err := Parse([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		if got := Line(v); got != want {
			t.Errorf("Line(%s) = %s, want %s", schema, got, want)
		}
	}
}
