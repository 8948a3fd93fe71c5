package json5_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/internal/json5"
)

func TestParseBounds(t *testing.T) {
	spaces := func(size int) []byte { return []byte("1" + strings.Repeat(" ", size-1)) }
	nested := func(depth int) []byte {
		return []byte(strings.Repeat("[{a:", depth/2) + "1" + strings.Repeat("}]", depth/2))
	}
	tests := []struct {
		name     string
		in       []byte
		want     error
		position json5.Pos
	}{
		{"largest", spaces(json5.MaxBytes), nil, json5.Pos{}},
		{"too large", spaces(json5.MaxBytes + 1), json5.ErrTooLarge, json5.Pos{1, 1}},
		{"size is checked before the text", append(spaces(json5.MaxBytes), 0xFF), json5.ErrTooLarge, json5.Pos{1, 1}},
		{"deepest", nested(json5.MaxDepth), nil, json5.Pos{}},
		{"too deep", nested(json5.MaxDepth + 2), json5.ErrTooDeep, json5.Pos{1, 4*json5.MaxDepth/2 + 1}},
		{"depth bomb", []byte(strings.Repeat("[", json5.MaxBytes)), json5.ErrTooDeep, json5.Pos{1, json5.MaxDepth + 1}},
		{"depth is left again", []byte("[" + strings.Repeat("[[]],", 1000) + "]"), nil, json5.Pos{}},
		{"not UTF-8", []byte("{a: '\xff'}"), json5.ErrInvalidUTF8, json5.Pos{1, 6}},
		{"not UTF-8 in a comment", []byte("\ufeff1 // é\n// \xc3("), json5.ErrInvalidUTF8, json5.Pos{2, 4}},
		{"cut code point at the end", []byte("1\n \xe2\x82"), json5.ErrInvalidUTF8, json5.Pos{2, 2}},
		{"encoded surrogate", []byte("'\xed\xa0\x80'"), json5.ErrInvalidUTF8, json5.Pos{1, 2}},
		{"overlong", []byte("'\xc0\x80'"), json5.ErrInvalidUTF8, json5.Pos{1, 2}},
		{"UTF-16", []byte("\xff\xfe{\x00}\x00"), json5.ErrInvalidUTF8, json5.Pos{1, 1}},
		{"decimal beyond float64", []byte("[ -1e309]"), json5.ErrNumberRange, json5.Pos{1, 3}},
		{"long integer beyond float64", []byte(strings.Repeat("9", 400)), json5.ErrNumberRange, json5.Pos{1, 1}},
		{"hexadecimal beyond float64", []byte("0x1" + strings.Repeat("0", 256)), json5.ErrNumberRange, json5.Pos{1, 1}},
		{"exponent bomb", []byte("1e" + strings.Repeat("9", 100000)), json5.ErrNumberRange, json5.Pos{1, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := json5.Parse("in.json5", tt.in)
			if !errors.Is(err, tt.want) {
				t.Fatalf("error = %v, want %v", err, tt.want)
			}
			if tt.want == nil {
				return
			}
			syntax, ok := errors.AsType[*json5.SyntaxError](err)
			if !ok {
				t.Fatalf("error is a %T", err)
			}
			if got := (json5.Pos{syntax.Line, syntax.Column}); got != tt.position {
				t.Errorf("position = %v, want %v", got, tt.position)
			}
			if len(err.Error()) > 200 {
				t.Errorf("the error has %d bytes: it repeats the document", len(err.Error()))
			}
		})
	}
}

// Duplicates are told by the key that is meant, whatever its spelling, and by both positions.
func TestParseDuplicateKeys(t *testing.T) {
	tests := []struct {
		name, in      string
		key           string
		first, second json5.Pos
	}{
		{"same spelling", "{a: 1,\n  a: 2}", "a", json5.Pos{1, 2}, json5.Pos{2, 3}},
		{"quotes differ", "{a: 1, 'a': 2}", "a", json5.Pos{1, 2}, json5.Pos{1, 8}},
		{"escaped in a name", `{ab: 1, \u0061b: 2}`, "ab", json5.Pos{1, 2}, json5.Pos{1, 9}},
		{"escaped in a string", `{"a": 1, "\x61": 2}`, "a", json5.Pos{1, 2}, json5.Pos{1, 10}},
		{"empty", "{'': 1, \"\": 2}", "", json5.Pos{1, 2}, json5.Pos{1, 9}},
		{"first told before a fault in the value", "{a: 1, a: oops}", "a", json5.Pos{1, 2}, json5.Pos{1, 8}},
		{"inner object", "[{b: {c: 1, c: 1}}]", "c", json5.Pos{1, 7}, json5.Pos{1, 13}},
		{"surrogates that become the same", `{'\ud800': 1, '\udfff': 2}`, "\uFFFD", json5.Pos{1, 2}, json5.Pos{1, 15}},
		{"far apart", "{z:1,\n" + letters(100) + "z:2}", "z", json5.Pos{1, 2}, json5.Pos{2, 501}},
		{"at the change to a map", "{" + letters(15) + "z:1,z:2}", "z", json5.Pos{1, 77}, json5.Pos{1, 81}},
		{"just after the change to a map", "{" + letters(16) + "z:1,z:2}", "z", json5.Pos{1, 82}, json5.Pos{1, 86}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := json5.Parse("in.json5", []byte(tt.in))
			got, ok := errors.AsType[*json5.DuplicateKeyError](err)
			if !ok {
				t.Fatalf("error = %v, want a duplicate key", err)
			}
			want := &json5.DuplicateKeyError{Key: tt.key, First: tt.first, Second: tt.second}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if text := err.Error(); !strings.Contains(text, tt.first.String()) || !strings.Contains(text, tt.second.String()) {
				t.Errorf("error text %q lacks a position", text)
			}
		})
	}
}

// letters gives count members with five characters each and different keys.
func letters(count int) string {
	var text strings.Builder
	for i := range count {
		text.WriteString(string(rune('a'+i/10)) + string(rune('0'+i%10)) + ":0,")
	}
	return text.String()
}
