package json5_test

import (
	"errors"
	"testing"

	"github.com/cloister-wasm/cloister/internal/json5"
)

func TestLookup(t *testing.T) {
	root, err := json5.Parse("in.json5", []byte("{a: {b: [10, {c: null}], '0': 'zero', '': 'empty'}}"))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		path []string
		want string // "" for nil
	}{
		{nil, `{"a":{"":"empty","0":"zero","b":[10,{"c":null}]}}`},
		{[]string{"a", "b"}, `[10,{"c":null}]`},
		{[]string{"a", "b", "0"}, "10"},
		{[]string{"a", "b", "1", "c"}, "null"},
		{[]string{"a", "0"}, `"zero"`},
		{[]string{"a", ""}, `"empty"`},
		{[]string{"a", "b", "2"}, ""},
		{[]string{"a", "b", "-1"}, ""},
		{[]string{"a", "b", "+0"}, ""},
		{[]string{"a", "b", "00"}, ""},
		{[]string{"a", "b", "99999999999999999999"}, ""},
		{[]string{"a", "b", "0", "0"}, ""},
		{[]string{"A"}, ""},
		{[]string{"x", "y", "z"}, ""},
	}
	for _, tt := range tests {
		got, err := root.Lookup(tt.path...).JSON()
		if tt.want == "" {
			if !errors.Is(err, json5.ErrNoNode) {
				t.Errorf("Lookup(%q): error = %v, want ErrNoNode", tt.path, err)
			}
		} else if err != nil || string(got) != tt.want {
			t.Errorf("Lookup(%q) = %s, %v; want %s", tt.path, got, err, tt.want)
		}
	}
	var none *json5.Node
	if none.Lookup() != nil || none.Lookup("a") != nil || none.Member("a") != nil || none.File() != "" {
		t.Error("a nil node has something in it")
	}
}
