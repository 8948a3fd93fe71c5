package json5_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/internal/json5"
)

func TestJSON(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"words", "[null,true,false]", "[null,true,false]"},
		{"space and commas go", "{ a : [ 1 , ] , // x\n }", `{"a":[1]}`},
		{"empty", "{a:[],b:{}}", `{"a":[],"b":{}}`},
		{"keys sorted at each level", "{b:{z:1,y:2},a:1}", `{"a":1,"b":{"y":2,"z":1}}`},
		// The order of RFC 8785, section 3.2.3.
		{"keys sorted by UTF-16", `{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`,
			"{\"\\r\":2,\"1\":4,\"\u0080\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\ufb33\":3}"},
		{"prefix first", "{ab:1,a:2,'':3}", `{"":3,"a":2,"ab":1}`},
		{"escapes", `'\b\f\n\r\t\v\0\x1f\x7f"\'\\/<>&\u2028é'`, `"\b\f\n\r\t\u000b\u0000\u001f` + "\x7f" + `\"'\\/<>&` + "\u2028é\""},
		{"integers", "[0,+1,-1,007E0,10]", ""},
		{"numbers", "[+1,-1,10,1.,.5,-.5,1.50,1e3,1E-7,1e21,123456789.125]", "[1,-1,10,1,0.5,-0.5,1.5,1000,1e-7,1e+21,123456789.125]"},
		{"zeros", "[0,-0,+0,0.0,-0.0,0x0,-0x00,0e9,1e-400]", "[0,0,0,0,0,0,0,0,0]"},
		{"hexadecimal", "[0xff,-0XFF,+0x0010]", "[255,-255,16]"},
		{"integers keep their digits", "[9007199254740993,-9223372036854775808,0xFFFFFFFFFFFFFFFF,100000000000000000000000]",
			"[9007199254740993,-9223372036854775808,18446744073709551615,100000000000000000000000]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, err := json5.Parse("in.json5", []byte(tt.in))
			if tt.want == "" {
				if err == nil {
					t.Fatal("accepted")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := n.JSON()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("JSON (-want +got):\n%s", diff)
			}
			if !json.Valid(got) {
				t.Errorf("not JSON: %s", got)
			}
		})
	}
}

func TestJSONRefusesWhatJSONLacks(t *testing.T) {
	tests := []struct {
		in   string
		want json5.NotJSONError
	}{
		{"NaN", json5.NotJSONError{File: "in.json5", Pos: json5.Pos{Line: 1, Column: 1}, Literal: "NaN"}},
		{"{a: 1,\n b: [0, +Infinity]}", json5.NotJSONError{File: "in.json5", Pos: json5.Pos{Line: 2, Column: 9}, Literal: "+Infinity"}},
		{"[[-Infinity]]", json5.NotJSONError{File: "in.json5", Pos: json5.Pos{Line: 1, Column: 3}, Literal: "-Infinity"}},
		{"[-NaN]", json5.NotJSONError{File: "in.json5", Pos: json5.Pos{Line: 1, Column: 2}, Literal: "-NaN"}},
	}
	for _, tt := range tests {
		n, err := json5.Parse("in.json5", []byte(tt.in))
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		out, err := n.JSON()
		got, ok := errors.AsType[*json5.NotJSONError](err)
		if !ok || out != nil {
			t.Errorf("%s: JSON = %q, %v; want a NotJSONError", tt.in, out, err)
			continue
		}
		if diff := cmp.Diff(tt.want, *got); diff != "" {
			t.Errorf("%s: error (-want +got):\n%s", tt.in, diff)
		}
		if want := fmt.Sprintf("in.json5:%s: %s has no JSON form", tt.want.Pos, tt.want.Literal); !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: text = %q, want it to begin %q", tt.in, err, want)
		}
	}
}

// The parts of a tree beside the faulty one have their JSON.
func TestJSONOfAPart(t *testing.T) {
	n, err := json5.Parse("in.json5", []byte("{good: {b: 0x10, a: 'x'}, bad: NaN}"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := n.Lookup("good").JSON()
	if err != nil || string(got) != `{"a":"x","b":16}` {
		t.Errorf("JSON = %s, %v", got, err)
	}
}

func TestJSONOfANodeNotParsed(t *testing.T) {
	if out, err := new(json5.Node).JSON(); err == nil {
		t.Errorf("JSON = %s", out)
	}
}
