package schema

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestCompileDrafts(t *testing.T) {
	tests := []struct{ name, schema, good, bad string }{
		{"default is 2020-12", `{"prefixItems":[{"type":"string"}],"items":false}`, `["a"]`, `["a",1]`},
		{"draft 4", `{"$schema":"http://json-schema.org/draft-04/schema#","minimum":3,"exclusiveMinimum":true}`, `4`, `3`},
		{"draft 6", `{"$schema":"http://json-schema.org/draft-06/schema#","const":{"a":1}}`, `{"a":1.0}`, `{"a":2}`},
		{"draft 7", `{"$schema":"http://json-schema.org/draft-07/schema#","if":{"type":"string"},"then":{"minLength":2},"else":{"type":"null"}}`, `"ab"`, `"a"`},
		{"draft 7 asserts format", `{"$schema":"http://json-schema.org/draft-07/schema#","format":"date"}`, `"2026-01-31"`, `"soon"`},
		{"2019-09", `{"$schema":"https://json-schema.org/draft/2019-09/schema","dependentRequired":{"a":["b"]}}`, `{"a":1,"b":2}`, `{"a":1}`},
		{"2020-12", `{"$schema":"https://json-schema.org/draft/2020-12/schema","$ref":"#/$defs/n","$defs":{"n":{"type":"integer"}}}`, `3`, `"3"`},
		{"boolean true", `true`, `{"any":"thing"}`, ``},
		{"boolean false", `false`, ``, `null`},
		{"anchor", `{"$ref":"#here","$defs":{"x":{"$anchor":"here","type":"null"}}}`, `null`, `0`},
		{"embedded id", `{"$ref":"other","$defs":{"x":{"$id":"other","type":"null"}}}`, `null`, `0`},
		{"meta-schema", `{"properties":{"s":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}}`, `{"s":{"type":"string"}}`, `{"s":{"type":"text"}}`},
		{"meta-schema of draft 7", `{"properties":{"s":{"$ref":"http://json-schema.org/draft-07/schema#"}}}`, `{"s":{"items":[true]}}`, `{"s":{"type":3}}`},
		{"definitions of draft 7 under $defs", `{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/$defs/n","$defs":{"n":{"type":"integer"}}}`, `3`, `"3"`},
		{"escaped names", `{"$ref":"#/$defs/a~1b%3Cc%3E","$defs":{"a/b<c>":{"type":"integer"}}}`, `3`, `"3"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := mustCompile(t, tt.schema)
			if got := string(s.JSON()); got != tt.schema {
				t.Errorf("JSON() = %s", got)
			}
			if tt.good != "" {
				if err := s.Validate(mustDecode(t, tt.good)); err != nil {
					t.Errorf("Validate(%s) = %v, want nil", tt.good, err)
				}
			}
			if tt.bad != "" {
				if err := s.Validate(mustDecode(t, tt.bad)); !errors.Is(err, ErrInvalid) {
					t.Errorf("Validate(%s) = %v, want ErrInvalid", tt.bad, err)
				}
			}
		})
	}
}

func TestCompileRefuses(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(secret, []byte(`{"description":"TOPSECRET"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	many := func(n int, format, sep string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = strings.ReplaceAll(format, "%N", strconv.Itoa(i))
		}
		return strings.Join(parts, sep)
	}
	tests := []struct {
		name, schema string
		kind         error
		detail       string
	}{
		{"file ref", `{"$ref":"file://` + secret + `"}`, ErrRemoteRef, "$defs"},
		{"file ref nested", `{"properties":{"a":{"items":{"$ref":"file://` + secret + `#/x"}}}}`, ErrRemoteRef, ""},
		{"path ref", `{"$ref":"` + secret + `"}`, ErrRemoteRef, ""},
		{"relative ref", `{"$ref":"other.json"}`, ErrRemoteRef, "other.json"},
		{"parent ref", `{"$ref":"../../etc/passwd"}`, ErrRemoteRef, ""},
		{"http ref", `{"$ref":"http://169.254.169.254/latest/meta-data"}`, ErrRemoteRef, ""},
		{"urn ref", `{"$ref":"urn:x:y"}`, ErrRemoteRef, ""},
		{"file id", `{"$id":"file://` + secret + `","$ref":"secret.json#/x"}`, ErrInvalidSchema, ""},
		{"file base by id", `{"$id":"file://` + filepath.Dir(secret) + `/","$ref":"secret.json"}`, ErrRemoteRef, ""},
		{"file meta-schema", `{"$schema":"file://` + secret + `"}`, ErrRemoteRef, "draft"},
		{"unknown draft", `{"$schema":"http://json-schema.org/draft-03/schema#"}`, ErrRemoteRef, "draft"},
		{"dynamicRef", `{"$dynamicRef":"#x","$defs":{"x":{"$dynamicAnchor":"x"}}}`, ErrUnsupported, "$ref"},
		{"recursiveRef", `{"$schema":"https://json-schema.org/draft/2019-09/schema","items":{"$recursiveRef":"#"}}`, ErrUnsupported, "$ref"},
		{"loop", `{"$ref":"#"}`, ErrInvalidSchema, "back to itself"},
		{"loop through alternatives", `{"anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"allOf":[{"$ref":"#"}]}}}`, ErrInvalidSchema, "back to itself"},
		{"dangling", `{"$ref":"#/$defs/none"}`, ErrInvalidSchema, "not found"},
		{"wrong keyword type", `{"type":"strin"}`, ErrInvalidSchema, ""},
		{"wrong keyword form", `{"required":"name"}`, ErrInvalidSchema, ""},
		{"keyword of the library's own", `{"regexProperties":"x"}`, ErrInvalidSchema, "wrong form"},
		{"look-ahead", `{"pattern":"(?=a)b"}`, ErrPattern, "look-around"},
		{"back-reference", `{"pattern":"(a)\\1"}`, ErrPattern, "escape"},
		{"bad pattern property", `{"patternProperties":{"[":{}}}`, ErrPattern, ""},
		{"pattern bomb", `{"pattern":"((a{1000}){1000}){1000}"}`, ErrPattern, ""},
		{"pattern bomb that parses", `{"pattern":"((a{30}){30})"}`, nil, ""},
		{"pattern too large", `{"pattern":"(abcdefgh){900}"}`, ErrPattern, "too large"},
		{"pattern too long", `{"pattern":"` + strings.Repeat("a", MaxPatternBytes+1) + `"}`, ErrPattern, "longer"},
		{"patterns too large together", `{"properties":{` + many(40, `"p%N":{"pattern":"^[a-z]{1,999}$"}`, ",") + `}}`, ErrPattern, "together"},
		{"pattern where only a reference makes it one", `{"$ref":"#/x","x":{"pattern":"(abcdefgh){900}"}}`, ErrPattern, ""},
		{"number bomb", `{"minimum":1e999999999}`, ErrInvalidJSON, "exponent"},
		{"duplicate keyword", `{"type":"string","type":"number"}`, ErrInvalidJSON, "twice"},
		{"not a schema", `["type"]`, ErrInvalidSchema, "an object or a boolean"},
		{"not JSON", `{type:"string"}`, ErrInvalidJSON, ""},
		{"too many bytes", `{"description":"` + strings.Repeat("x", MaxSchemaBytes) + `"}`, ErrSchemaTooLarge, "bytes"},
		{"too deep", strings.Repeat(`{"not":`, MaxSchemaDepth+1) + `{}` + strings.Repeat("}", MaxSchemaDepth+1), ErrInvalidJSON, "deeper"},
		{"too many values", `{"properties":{` + many(MaxSchemaValues, `"p%N":{}`, ",") + `}}`, ErrInvalidJSON, "too many"},
		{"too many references", `{"allOf":[` + many(MaxSchemaRefs+1, `{"$ref":"#/$defs/a"}`, ",") + `],"$defs":{"a":{}}}`, ErrSchemaTooLarge, "references"},
		{"copies by spelling", `{"allOf":[{"$ref":"#/xx"},{"$ref":"#/%78x"},{"$ref":"#/x%78"},{"$ref":"#/%78%78"}],"xx":{"enum":[` + many(2500, `%N`, ",") + `]}}`, ErrSchemaTooLarge, "$defs"},
		{"copies by nesting", `{"allOf":[` + many(30, `{"$ref":"#/x/%N"}`, ",") + `],"x":[` + many(30, `{"enum":[`+many(150, `%N`, ",")+`]}`, ",") + `]}`, ErrSchemaTooLarge, "$defs"},
		{"copies by id", `{"$id":"http://a/","$defs":{"s":{"$id":"http://b/"}},"allOf":[{"$ref":"http://b/#/x"},{"$ref":"http://b/#/y"}],"x":{"enum":[` + many(3000, `%N`, ",") + `]}}`, ErrSchemaTooLarge, "$defs"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Compile([]byte(tt.schema))
			if !errors.Is(err, tt.kind) || (tt.kind == nil) != (err == nil) {
				t.Fatalf("Compile = %v, want %v", err, tt.kind)
			}
			if err == nil {
				return
			}
			if !strings.Contains(err.Error(), tt.detail) {
				t.Errorf("error %q does not say %q", err, tt.detail)
			}
			if n := len(err.Error()); n > 700 {
				t.Errorf("error text of %d bytes", n)
			}
			for _, leak := range []string{"TOPSECRET", "jsonschema", base, "*"} {
				if strings.Contains(err.Error(), leak) {
					t.Errorf("error %q shows %q", err, leak)
				}
			}
		})
	}
}

func TestCompileKeepsNoReference(t *testing.T) {
	raw := []byte(`{"type":"string"}`)
	s, err := Compile(raw)
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		raw[i] = ' '
	}
	if got := string(s.JSON()); got != `{"type":"string"}` {
		t.Errorf("JSON() = %q after the source changed", got)
	}
}

func TestCache(t *testing.T) {
	c := NewCache(2)
	get := func(raw string) *Schema {
		t.Helper()
		s, err := c.Compile([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a := get(`{"type":"string"}`)
	get(`{"type":"number"}`)
	if get(`{"type":"string"}`) != a {
		t.Error("compiled again")
	}
	get(`{"type":"null"}`) // pushes out the least recently used: number
	if c.Len() != 2 {
		t.Errorf("Len = %d, want 2", c.Len())
	}
	if get(`{"type":"string"}`) != a {
		t.Error("the most recently used was pushed out")
	}
	if _, err := c.Compile([]byte(`{"type":1}`)); !errors.Is(err, ErrInvalidSchema) {
		t.Errorf("Compile = %v, want ErrInvalidSchema", err)
	}
	if c.Len() != 2 {
		t.Errorf("a refusal was kept: Len = %d", c.Len())
	}
}

func TestFor(t *testing.T) {
	type inner struct {
		Tags []string `json:"tags,omitempty" jsonschema:"labels to look for"`
	}
	type input struct {
		Path  string `json:"path" jsonschema:"where to look"`
		Limit int    `json:"limit,omitempty"`
		Inner inner  `json:"inner,omitzero"`
	}
	raw, err := For[input]()
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		again, err := For[input]()
		if err != nil || string(again) != string(raw) {
			t.Fatalf("not deterministic: %s, then %s (%v)", raw, again, err)
		}
	}
	s := mustCompile(t, string(raw))
	if err := s.Validate(mustDecode(t, `{"path":"/","inner":{"tags":["a"]}}`)); err != nil {
		t.Error(err)
	}
	err = s.Validate(mustDecode(t, `{"pth":"/","limit":1.5}`))
	want := `missing required property "path" (string); /limit: expected integer, got 1.5; /pth: unknown property "pth", did you mean "path"?`
	if err == nil || err.Error() != want {
		t.Errorf("Validate = %v\nwant %s", err, want)
	}
	if !strings.Contains(string(raw), "where to look") {
		t.Errorf("no description in %s", raw)
	}
	if _, err := For[chan int](); err == nil {
		t.Error("For[chan int] succeeded")
	}
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{toolSchema, `{"$ref":"#/$defs/a","$defs":{"a":{"type":["null","object"]}}}`, `true`,
		`{"patternProperties":{"^x-":{}},"unevaluatedProperties":false}`, `{"$id":"http://a/b","$ref":"c"}`} {
		f.Add([]byte(s), []byte(`{"a":[1,"x"]}`))
	}
	f.Fuzz(func(t *testing.T, raw, data []byte) {
		s, err := Compile(raw)
		if err != nil {
			var ce *CompileError
			var de *DecodeError
			if !errors.As(err, &ce) && !errors.As(err, &de) {
				t.Fatalf("untyped error %v", err)
			}
			if len(err.Error()) > 1000 {
				t.Fatalf("error text of %d bytes", len(err.Error()))
			}
			return
		}
		v, err := Decode(data)
		if err != nil {
			return
		}
		checkOutcome(t, s.Validate(v))
	})
}

// checkOutcome holds for every answer of Validate on decoded data.
func checkOutcome(t *testing.T, err error) {
	t.Helper()
	var ve *ValidationError
	switch {
	case err == nil, errors.Is(err, ErrTooCostly):
	case errors.As(err, &ve):
		if len(ve.Problems) == 0 || len(ve.Problems) > MaxProblems {
			t.Fatalf("%d problems", len(ve.Problems))
		}
		if len(err.Error()) > MaxErrorBytes {
			t.Fatalf("error text of %d bytes", len(err.Error()))
		}
	default:
		t.Fatalf("unexpected error %v", err)
	}
}
