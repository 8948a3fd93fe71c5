package declare

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestParseRefuses(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", "", "not valid JSON"},
		{"blank", " \n", "not valid JSON"},
		{"two values", `{} {}`, "something after"},
		{"duplicate key", `{"a":1,"b":2,"a":3}`, "twice"},
		{"duplicate key in disguise", `{"type":1,"typ\u0065":3}`, "twice"},
		{"duplicate key in disguise, first", `{"typ\u0065":1,"type":3}`, "twice"},
		{"duplicate among many", `{` + manyKeys(40) + `,"k3":1}`, "twice"},
		{"duplicate in disguise among many", `{` + manyKeys(40) + `,"\u006b3":1}`, "twice"},
		{"duplicate at the border", `{` + manyKeys(16) + `,"k15":1}`, "twice"},
		{"trailing comma", `{"a":1,}`, "member name"},
		{"trailing comma in a list", `[1,]`, "not valid"},
		{"no colon", `{"a" 1}`, "colon"},
		{"no comma", `[1 2]`, "comma"},
		{"unclosed object", `{"a":1`, "closing"},
		{"unclosed string", `"a`, "without an end"},
		{"unclosed escape", `"a\`, "without an end"},
		{"bad escape", `"\x"`, "bad escape"},
		{"bad unicode escape", `"\u12g4"`, "bad escape"},
		{"control character", "\"a\nb\"", "control character"},
		{"single quotes", `{'a':1}`, "member name"},
		{"comment", `{/**/}`, "member name"},
		{"bare word", `{"a":undefined}`, "not valid"},
		{"half a word", `tru`, "not valid"},
		{"leading zero", `01`, "something after"},
		{"plus", `+1`, "not valid"},
		{"bare point", `1.`, "bad number"},
		{"bare exponent", `1e`, "bad number"},
		{"bare minus", `-`, "bad number"},
		{"NaN", `NaN`, "not valid"},
		{"byte order mark", "\ufeff{}", "not valid"},
		{"invalid UTF-8", "\"\xff\"", "UTF-8"},
		{"nul", "{}\x00", "something after"},
		{"too deep", strings.Repeat("[", maxDepth+2) + strings.Repeat("]", maxDepth+2), "deeper"},
		{"bomb of brackets", strings.Repeat("[", MaxBytes), "deeper"},
		{"bomb of values", "[" + strings.Repeat("0,", maxNodes) + "0]", "more than"},
		{"too long", strings.Repeat(" ", MaxBytes+1), "more than"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v, err := Parse([]byte(test.text))
			if err == nil || v.Exists() || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error is %v, want %q in it", err, test.want)
			}
			bounds := test.want == "deeper" || test.want == "more than"
			if errors.Is(err, ErrBounds) != bounds || errors.Is(err, ErrSyntax) == bounds {
				t.Errorf("%v matches the wrong sentinel", err)
			}
		})
	}
}

func manyKeys(n int) string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = `"k` + string(rune('0'+i/10)) + string(rune('0'+i%10)) + `":0`
	}
	return strings.ReplaceAll(strings.Join(keys, ","), `"k0`, `"k`)
}

func TestParseKeepsOrder(t *testing.T) {
	s, err := Parse([]byte(" {\"b\" : [ 1 , -2.5e+3 , {} ] ,\n\"a\":{\"\\u0063\":\"x\\n\"}, \"t\":true, \"f\":false, \"n\":null}"))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"b":[1,-2.5e+3,{}],"a":{"\u0063":"x\n"},"t":true,"f":false,"n":null}`; s.Raw() != want {
		t.Errorf("text is %s, want %s", s.Raw(), want)
	}
	var keys []string
	for key := range s.Children() {
		keys = append(keys, key)
	}
	if diff := cmp.Diff([]string{"b", "a", "t", "f", "n"}, keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	if got := s.Member("a").Member("c").Text(); got != "x\n" {
		t.Errorf("a.c is %q", got)
	}
	if !s.Member("t").IsTrue() || s.Member("f").IsTrue() || s.Member("b").Member("").Exists() || s.Member("x").Exists() {
		t.Error("the accessors disagree with the text")
	}
}

// FuzzParse compares the parser with encoding/json: what it takes is valid JSON of the same meaning; what it refuses is
// invalid, or breaks one of the stricter rules.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, `[1,-0,0.5,1e9,"\ud83d\ude00",null,true]`, `{"a":1,"a":2}`,
		` { } `, `"\ud800"`, `[[[[]]]]`, "\"\u2028\"", `{"":{"":""}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse(text)
		if err != nil {
			stricter := !utf8.Valid(text) || strings.Contains(err.Error(), "twice") || errors.Is(err, ErrBounds)
			if json.Valid(text) && !stricter {
				t.Errorf("%q is valid JSON, but: %v", text, err)
			}
			return
		}
		var want bytes.Buffer
		if err := json.Compact(&want, text); err != nil {
			t.Fatalf("%q is taken, but: %v", text, err)
		}
		if want.String() != s.Raw() {
			t.Errorf("%q became %q, want %q", text, s.Raw(), want.String())
		}
		checkTree(t, s, want.Bytes())
	})
}

// checkTree compares the tree with what encoding/json makes of each value.
func checkTree(t *testing.T, v Value, text []byte) {
	t.Helper()
	switch {
	case v.IsObject():
		var want map[string]json.RawMessage
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		count := 0
		for key, c := range v.Children() {
			count++
			member, ok := want[key]
			if !ok || v.Member(key) != c {
				t.Fatalf("%s has no member %q", text, key)
			}
			checkTree(t, c, member)
		}
		if count != len(want) {
			t.Errorf("%s has %d members, the tree %d", text, len(want), count)
		}
	case v.IsArray():
		var want []json.RawMessage
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		count := 0
		for _, c := range v.Children() {
			checkTree(t, c, want[count])
			count++
		}
		if count != len(want) {
			t.Errorf("%s has %d elements, the tree %d", text, len(want), count)
		}
	case v.IsString():
		var want string
		if err := json.Unmarshal(text, &want); err != nil || want != v.Text() {
			t.Errorf("%s is %q in the tree, want %q (%v)", text, v.Text(), want, err)
		}
	default:
		if string(text) != v.Raw() {
			t.Errorf("%s is %s in the tree", text, v.Raw())
		}
	}
}
