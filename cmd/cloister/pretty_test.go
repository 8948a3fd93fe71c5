package main

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPrettyJSON(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"scalar", `1`, `1`},
		{"digits stay", `[12345678901234567890, 1e400, 0.10]`, `[12345678901234567890, 1e400, 0.10]`},
		{"order stays", `{"b":1,"a":{}}`, `{"b": 1, "a": {}}`},
		{"empty", `[[],{}]`, `[[], {}]`},
		{"text", `"a<b>&c"`, `"a<b>&c"`},
		{"empty key", `{"":1}`, `{"": 1}`},
		{"repeated key", `{"a":1,"a":2}`, `{"a": 1, "a": 2}`},
		{"hostile", "{\"k\u202e\":\"\u009b31m\\u001b\"}", `{"k\u202e": "\u009b31m\u001b"}`},
		{
			"too wide", `{"list":[1,2,3],"long":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxx","n":{"a":["yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"]}}`,
			`{
  "list": [1, 2, 3],
  "long": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
  "n": {
    "a": [
      "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"
    ]
  }
}`,
		},
		{"just fits", `["xxxxxxxxxxxxxxxxxx","yyyyyyyyyyyyy"]`, `["xxxxxxxxxxxxxxxxxx", "yyyyyyyyyyyyy"]`},
		{"not JSON", "{\"a\x1b", `{"a\x1b`},
		{"more than one", "1 2", "1 2"},
		{"nothing", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, prettyJSON([]byte(test.in), 40)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Deep nesting must neither overflow the stack nor multiply the size.
func TestPrettyJSONDeep(t *testing.T) {
	const depth = 9000
	in := strings.Repeat("[", depth) + strings.Repeat("]", depth)
	out := prettyJSON([]byte(in), 40)
	if len(out) > depth*2*(maxIndent+2) {
		t.Errorf("%d bytes became %d", len(in), len(out))
	}
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(out)); err != nil || b.String() != in {
		t.Errorf("the value changed: %v", err)
	}
}

func FuzzPrettyJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,2,{"b":null}],"c":"x\u001by"}`), 10)
	f.Add([]byte("[\"\u202e\", -0, 1E5, true]"), 0)
	f.Add([]byte(`{"a`), 80)
	f.Fuzz(func(t *testing.T, in []byte, width int) {
		out := prettyJSON(in, width)
		if r, bad := unsafeIn(out, "\n"); bad {
			t.Errorf("%q gives %U", in, r)
		}
		if !json.Valid(in) {
			return
		}
		if got, want := decodeAll(t, []byte(out)), decodeAll(t, in); !reflect.DeepEqual(got, want) {
			t.Errorf("%q became %q", in, out)
		}
	})
}

func decodeAll(t *testing.T, text []byte) any {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}
