package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// The first two are the examples of RFC 8785, sections 3.2.2 and 3.2.3.
func TestCanonical(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"RFC 8785 values", "{\n  \"numbers\": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],\n" +
			"  \"string\": \"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\",\n  \"literals\": [null, true, false]\n}",
			"{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"},
		{"RFC 8785 sorting", `{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",` +
			`"\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\"," +
				"\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}"},
		{"space", " [ 1 , { \"b\" : 1 , \"a\" : { } } ] \n", `[1,{"a":{},"b":1}]`},
		{"order of arrays", `[2,1]`, `[2,1]`},
		{"equal numbers", `[1,1.0,1e0,10e-1,-0,-0.0,0.0]`, `[1,1,1,1,0,0,0]`},
		{"largest exact integer", `9007199254740992`, `9007199254740992`},
		{"large round integers", `[100000000000000000000,1e21]`, `[100000000000000000000,1e+21]`},
		{"smallest double", `5e-324`, `5e-324`},
		{"largest double", `1.7976931348623157e308`, `1.7976931348623157e+308`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := []byte(tt.in)
			got, err := Canonical(in)
			if tt.name == "RFC 8785 values" {
				// The RFC's own example has a number with more digits than its double: refused here, see Canonical.
				if !errors.Is(err, ErrInvalidJSON) {
					t.Fatalf("a number that would be rounded passed: %s", got)
				}
				got, err = Canonical([]byte(strings.Replace(tt.in, "333333333.33333329", "333333333.3333333", 1)))
			}
			if err != nil || string(got) != tt.want {
				t.Fatalf("Canonical = %s, %v\nwant        %s", got, err, tt.want)
			}
			if string(in) != tt.in {
				t.Error("the input was changed")
			}
			if again, err := Canonical(got); err != nil || !bytes.Equal(again, got) {
				t.Errorf("not stable: %s, %v", again, err)
			}
		})
	}
}

func TestCanonicalRefuses(t *testing.T) {
	tests := []struct{ name, in, path string }{
		{"integer beyond 2^53", `{"maximum":9007199254740993}`, "/maximum"},
		{"negative", `[-9007199254740993]`, "/0"},
		{"rounded fraction", `0.10000000000000000001`, ""},
		{"underflow", `[0,1e-400]`, "/1"},
		{"overflow", `[1e400]`, "/0"},
		{"duplicate key", `{"a":1,"a":1}`, "/a"},
		{"duplicate key by escape", `{"a":1,"\u0061":1}`, "/a"},
		{"invalid UTF-8", "[\"\xff\"]", ""},
		{"lone surrogate", `["\ud800"]`, ""},
		{"two values", `1 2`, ""},
		{"nothing", ` `, ""},
		{"bomb", strings.Repeat("[", 1<<20), ""},
		{"digits", strings.Repeat("9", MaxNumberBytes+1), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Canonical([]byte(tt.in))
			var de *DecodeError
			if !errors.As(err, &de) || got != nil {
				t.Fatalf("Canonical = %.80q, %v, want a DecodeError", got, err)
			}
			if tt.path != "" && de.Path != tt.path {
				t.Errorf("Path = %q, want %q", de.Path, tt.path)
			}
		})
	}
}

func TestFitsDouble(t *testing.T) {
	for _, f := range []float64{0, 0.1, 1.0 / 3, math.Pi, math.MaxFloat64, math.SmallestNonzeroFloat64, 1 << 60, 123456789.125} {
		for _, format := range []byte{'e', 'f', 'g'} {
			if lit := strconv.FormatFloat(f, format, -1, 64); len(lit) <= MaxNumberBytes && !fitsDouble(lit) {
				t.Errorf("fitsDouble(%s) = false", lit)
			}
		}
	}
	for _, lit := range []string{"0.3333333333333333148", "18446744073709551615", "123456789012345678", "1e999"} {
		if fitsDouble(lit) {
			t.Errorf("fitsDouble(%s) = true", lit)
		}
	}
}

// FuzzCanonical: the form means the same as the text, is stable, and never comes from a text that Decode refuses.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{`{}`, `{"b":[1,2.50,"\u00e9"],"a":null}`, `9007199254740993`, `[1e21,-0]`, `{"a":1,"a":2}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		got, err := Canonical(data)
		want, derr := Decode(data)
		if err != nil {
			return
		}
		if derr != nil {
			t.Fatalf("Canonical took what Decode refuses: %v", derr)
		}
		again, err := Canonical(got)
		if err != nil || !bytes.Equal(again, got) {
			t.Fatalf("not stable: %q, then %q, %v", got, again, err)
		}
		back, err := Decode(got)
		if err != nil || !reflect.DeepEqual(exactNumbers(back), exactNumbers(want)) {
			t.Fatalf("%q became %q, %v", data, got, err)
		}
	})
}

// exactNumbers replaces numbers by their exact value.
func exactNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return literalNumber(string(v)).exact().RatString()
	case []any:
		for i := range v {
			v[i] = exactNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = exactNumbers(v[k])
		}
	}
	return v
}
