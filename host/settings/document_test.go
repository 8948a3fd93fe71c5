package settings

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/internal/json5"
)

// A change is made where it belongs, and the rest of the text stays.
func TestDocumentSetAndRemove(t *testing.T) {
	for _, test := range []struct{ name, before, path, after string }{
		{"empty", `{}`, "a", "{\n  \"a\": 1\n}"},
		{"empty with space", "{ }\n", "a", "{\n  \"a\": 1\n}\n"},
		{"empty with a note", "{ // none yet\n}\n", "a", "{ // none yet\n  \"a\": 1\n}\n"},
		{"objects on the way", "{}\n", "a.b", "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n"},
		{"no comma", "{\n\tx: 2\n}\n", "a", "{\n\tx: 2,\n\t\"a\": 1\n}\n"},
		{"comma stays", "{\n  x: 2,\n}\n", "a", "{\n  x: 2,\n  \"a\": 1,\n}\n"},
		{"one line", "{ x: 2 }\n", "a", "{ x: 2,\n  \"a\": 1\n}\n"},
		{"notes", "{\n  x: 2, // two }\n  /* , */\n}\n", "a", "{\n  x: 2, // two }\n  \"a\": 1,\n  /* , */\n}\n"},
		{"note without comma", "{\n  x: 2 // two }\n}\n", "a", "{\n  x: 2, // two }\n  \"a\": 1\n}\n"},
		{"strings", `{x:'\'}',"y":"\"//"}`, "a", "{x:'\\'}',\"y\":\"\\\"//\",\n  \"a\": 1\n}"},
		{"byte order mark", "\ufeff{}", "a", "\ufeff{\n  \"a\": 1\n}"},
		{"other letters before it", `{ "ä": "😀" }`, "a", "{ \"ä\": \"😀\",\n  \"a\": 1\n}"},
		{"carriage returns", "{\r\n  x: 2,\r\n}\r\n", "a", "{\r\n  x: 2,\n  \"a\": 1,\r\n}\r\n"},
		{"nested", "{ x: [{ y: {} }], z: {} }", "z.a", "{ x: [{ y: {} }], z: {\n  \"a\": 1\n} }"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, err := parseDocument("f.json5", []byte(test.before))
			if err != nil {
				t.Fatal(err)
			}
			path := strings.Split(test.path, ".")
			got, err := d.set(path, json.RawMessage("1"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.after, string(got)); diff != "" {
				t.Error(diff)
			}
			d, err = parseDocument("f.json5", got)
			if err != nil {
				t.Fatal(err)
			}
			if got, err = d.remove(path); err != nil {
				t.Fatal(err)
			}
			if m := mustParse(t, got).Lookup(path...); m != nil {
				t.Errorf("it is still there:\n%s", got)
			}
		})
	}
}

func mustParse(t *testing.T, text []byte) *json5.Node {
	t.Helper()
	n, err := json5.Parse("f.json5", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return n
}

func TestDocumentReplacesAValue(t *testing.T) {
	d, err := parseDocument("f.json5", []byte("{\n  a: { x: 1 }, // first\n  b: 2,\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.set([]string{"a"}, json.RawMessage(`{"y":[1]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := "{\n  a: {\n    \"y\": [\n      1\n    ]\n  }, // first\n  b: 2,\n}\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

// What cannot be changed safely is not changed.
func TestDocumentRefuses(t *testing.T) {
	for _, text := range []string{"{ a: 1 }", "{ a: [] }", "{ n: NaN }", "{ x: 1, //\u2028 }\n}"} {
		d, err := parseDocument("f.json5", []byte(text))
		if err != nil {
			continue // no document at all
		}
		if got, err := d.set([]string{"a", "b"}, json.RawMessage("1")); err == nil {
			if n := mustParse(t, got); n.Lookup("a", "b") == nil {
				t.Errorf("%q became %q", text, got)
			}
		}
	}
	if _, err := parseDocument("f.json5", []byte("[]")); err == nil {
		t.Error("a list was taken")
	}
}

func FuzzDocument(f *testing.F) {
	for _, text := range []string{"{}", "{ a: { b: 1, }, }", "// x\n{'a':\"\\u2028\" /*}*/ , b: [1, {}]}", "\ufeff{a:+.5,}", "{\r\n$: Infinity // }\r}"} {
		f.Add([]byte(text), "a", "b")
	}
	f.Fuzz(func(t *testing.T, text []byte, one, two string) {
		d, err := parseDocument("f", text)
		if err != nil {
			return
		}
		path := []string{one, two}
		got, err := d.set(path, json.RawMessage(`{"v":[1,"}"]}`))
		if err != nil {
			return
		}
		after, err := parseDocument("f", got)
		if err != nil {
			t.Fatalf("%v\n%q", err, got)
		}
		value, err := after.root.Lookup(one).Member(two).Value.JSON()
		if err != nil || string(value) != `{"v":[1,"}"]}` {
			t.Fatalf("%s %v\n%q", value, err, got)
		}
		back, err := after.remove(path)
		if err != nil {
			return
		}
		if bytes.Contains(text, []byte(`"}"`)) || d.root.Member(one) == nil || d.root.Member(one).Value.Member(two) != nil {
			return
		}
		before, err1 := plainValue(d.root)
		now, err2 := plainValue(mustParse(t, back))
		if err1 != nil || err2 != nil || !reflect.DeepEqual(before, now) {
			t.Fatalf("%v %v\n%q\n%q", err1, err2, text, back)
		}
	})
}
