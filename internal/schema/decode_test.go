package schema

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecode(t *testing.T) {
	tests := []struct {
		in   string
		want any
	}{
		{`null`, nil},
		{` true `, true},
		{`"a\u00e9"`, "aé"},
		{`12345678901234567890`, json.Number("12345678901234567890")},
		{`-0.5e-3`, json.Number("-0.5e-3")},
		{`[]`, []any{}},
		{`{}`, map[string]any{}},
		{`{"a":[1,{"b":null}]}`, map[string]any{"a": []any{json.Number("1"), map[string]any{"b": nil}}}},
		{`{"a":1,"A":2}`, map[string]any{"a": json.Number("1"), "A": json.Number("2")}},
		{strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth), nest(MaxDepth)},
	}
	for _, tt := range tests {
		got, err := Decode([]byte(tt.in))
		if err != nil {
			t.Errorf("Decode(%.40q): %v", tt.in, err)
			continue
		}
		if !reflect.DeepEqual(tt.want, got) { // cmp.Diff is exponential in the depth
			t.Errorf("Decode(%.40q) = %.200v, want %.200v", tt.in, got, tt.want)
		}
		if err := Check([]byte(tt.in)); err != nil {
			t.Errorf("Check(%.40q): %v", tt.in, err)
		}
	}
}

func nest(n int) any {
	v := any([]any{})
	for range n - 1 {
		v = []any{v}
	}
	return v
}

// Each of these passes encoding/json or means different things to different readers.
func TestDecodeRefuses(t *testing.T) {
	tests := []struct{ name, in, path, detail string }{
		{"duplicate key", `{"a":{"x":1,"x":2}}`, "/a/x", "appears twice"},
		{"duplicate key by escape", `{"x":1,"\u0078":2}`, "/x", "appears twice"},
		{"invalid UTF-8", "\"\xff\"", "", "UTF-8"},
		{"invalid UTF-8 in key", "{\"\xff\":1}", "", "UTF-8"},
		{"lone surrogate", `["\ud800"]`, "/0", ""},
		{"trailing value", `{} {}`, "", ""},
		{"trailing garbage", `1x`, "", ""},
		{"empty", ``, "", "ends before"},
		{"cut off", `{"a":[1,`, "", ""},
		{"too deep", strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1), "", "nested deeper"},
		{"unclosed bomb", strings.Repeat("[", 1<<20), "", "nested deeper"},
		{"object bomb", strings.Repeat(`{"a":`, 1<<18), "", "nested deeper"},
		{"exponent bomb", `[1e1000001]`, "/0", "exponent"},
		{"exponent overflow", `[1e99999999999999999999]`, "/0", "exponent"},
		{"digits bomb", strings.Repeat("9", MaxNumberBytes+1), "", "longer than"},
		{"NaN", `NaN`, "", ""},
		{"leading zero", `01`, "", ""},
		{"comment", `{/**/}`, "", ""},
		{"trailing comma", `[1,]`, "", ""},
		{"single quotes", `{'a':1}`, "", ""},
		{"byte order mark", "\ufeff{}", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Decode([]byte(tt.in))
			var de *DecodeError
			if !errors.As(err, &de) || !errors.Is(err, ErrInvalidJSON) {
				t.Fatalf("Decode = %v, want a DecodeError", err)
			}
			if tt.path != "" && de.Path != tt.path {
				t.Errorf("Path = %q, want %q", de.Path, tt.path)
			}
			if !strings.Contains(de.Detail, tt.detail) {
				t.Errorf("Detail = %q, want it to hold %q", de.Detail, tt.detail)
			}
			if n := len(err.Error()); n > 700 {
				t.Errorf("error text of %d bytes", n)
			}
			if err := Check([]byte(tt.in)); !errors.Is(err, ErrInvalidJSON) {
				t.Errorf("Check = %v, want ErrInvalidJSON", err)
			}
		})
	}
}

func TestDecodeBoundsValues(t *testing.T) {
	in := "[" + strings.Repeat("1,", MaxDecodeValues) + "1]"
	if _, err := Decode([]byte(in)); !errors.Is(err, ErrInvalidJSON) {
		t.Fatalf("Decode of %d values = %v, want a refusal", MaxDecodeValues+1, err)
	}
}

func TestDecodeSharesNothing(t *testing.T) {
	in := []byte(`{"key":"value"}`)
	v, err := Decode(in)
	if err != nil {
		t.Fatal(err)
	}
	for i := range in {
		in[i] = 'x'
	}
	if diff := cmp.Diff(map[string]any{"key": "value"}, v); diff != "" {
		t.Errorf("value changed with its source (-want +got):\n%s", diff)
	}
}

type target struct {
	Name  string          `json:"name"`
	Count int             `json:"count,omitempty"`
	Raw   json.RawMessage `json:"raw,omitempty"`
}

func TestDecodeInto(t *testing.T) {
	var got target
	if err := DecodeInto([]byte(`{"name":"n","count":3,"raw":{"a":[1]}}`), &got, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(target{"n", 3, json.RawMessage(`{"a":[1]}`)}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDecodeIntoRefuses(t *testing.T) {
	tests := []struct{ name, in, path, detail string }{
		{"unknown", `{"name":"n","extra":1}`, "/extra", "unknown property"},
		{"other case", `{"Name":"n"}`, "/Name", "unknown property"},
		{"wrong type", `{"name":3}`, "/name", "expected string, got number"},
		{"fraction", `{"count":1.5}`, "/count", "expected integer"},
		{"overflow", `{"count":1e30}`, "/count", "expected integer"},
		{"duplicate in raw", `{"raw":{"a":1,"a":2}}`, "/raw/a", "appears twice"},
		{"deep in raw", `{"raw":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, "", "nested deeper"},
		{"not an object", `[]`, "", "expected object, got array"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var dst target
			err := DecodeInto([]byte(tt.in), &dst, nil)
			var de *DecodeError
			if !errors.As(err, &de) {
				t.Fatalf("DecodeInto = %v, want a DecodeError", err)
			}
			if tt.path != "" && de.Path != tt.path {
				t.Errorf("Path = %q, want %q", de.Path, tt.path)
			}
			if !strings.Contains(de.Detail, tt.detail) {
				t.Errorf("Detail = %q, want it to hold %q", de.Detail, tt.detail)
			}
			if strings.Contains(err.Error(), "schema.target") || strings.Contains(err.Error(), "json:") {
				t.Errorf("error text shows Go: %v", err)
			}
		})
	}
	var dst target
	if err := DecodeInto([]byte(`{"name":"n","extra":1}`), &dst, &DecodeOptions{AllowUnknown: true}); err != nil || dst.Name != "n" {
		t.Errorf("AllowUnknown: %v, %+v", err, dst)
	}
	// Even then another case is another name.
	dst = target{}
	if err := DecodeInto([]byte(`{"NAME":"n"}`), &dst, &DecodeOptions{AllowUnknown: true}); err != nil || dst.Name != "" {
		t.Errorf("AllowUnknown with another case: %v, %+v", err, dst)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,"x",null,true]}`, `{"a":1,"a":2}`, `"\ud83d\ude00"`, `[[[[]]]]`, `-1e-400`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Decode(data)
		if (err == nil) != (Check(data) == nil) {
			t.Fatalf("Decode: %v, Check: %v", err, Check(data))
		}
		if err != nil {
			if !errors.Is(err, ErrInvalidJSON) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		// What is accepted is JSON to everyone, means the same to everyone, and comes back the same.
		if !json.Valid(data) {
			t.Fatalf("accepted %q, encoding/json does not", data)
		}
		again, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		w, err := Decode(again)
		if err != nil {
			t.Fatalf("own output %q: %v", again, err)
		}
		if !reflect.DeepEqual(v, w) {
			t.Fatalf("round trip of %q: %v, then %v", data, v, w)
		}
	})
}
