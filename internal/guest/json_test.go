package guest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/guestabi"
)

func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestCheckJSON(t *testing.T) {
	for _, test := range []struct {
		text, want string
		err        error
	}{
		{`{"a":[1,2]}`, `{"a":[1,2]}`, nil},
		{`"[[[[\"{{{"`, `"[[[[\"{{{"`, nil},
		{nested(guestabi.MaxValueDepth), nested(guestabi.MaxValueDepth), nil},
		{nested(guestabi.MaxValueDepth + 1), "", ErrTooDeep},
		{`"` + nested(guestabi.MaxValueDepth+1) + `"`, `"` + nested(guestabi.MaxValueDepth+1) + `"`, nil},
		{"\"\xed\xa0\x80\"", "\"\uFFFD\"", nil},
		{`{"a":`, "", ErrNotJSON},
		{``, "", ErrNotJSON},
		{`1 2`, "", ErrNotJSON},
	} {
		got, err := CheckJSON([]byte(test.text))
		if !errors.Is(err, test.err) || string(got) != test.want {
			t.Errorf("CheckJSON(%.40q) = %.40q, %v", test.text, got, err)
		}
	}
}

// FuzzCheckJSON wants what passes to be JSON, UTF-8 and no deeper than allowed.
func FuzzCheckJSON(f *testing.F) {
	f.Add([]byte(`{"a":"\\\"[","b":[[]]}`))
	f.Add([]byte(nested(guestabi.MaxValueDepth + 1)))
	f.Add([]byte("\"\xed\xa0\x80\""))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := CheckJSON(text)
		if err != nil {
			return
		}
		if !json.Valid(got) {
			t.Fatalf("%q passed", got)
		}
		d, depth := json.NewDecoder(strings.NewReader(string(got))), 0
		for {
			token, err := d.Token()
			if err != nil {
				break
			}
			switch token {
			case json.Delim('['), json.Delim('{'):
				if depth++; depth > guestabi.MaxValueDepth {
					t.Fatalf("%q is too deep", got)
				}
			case json.Delim(']'), json.Delim('}'):
				depth--
			}
		}
	})
}
