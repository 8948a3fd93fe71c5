package json5_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/internal/json5"
)

// plain turns a tree into the Go values that encoding/json would make, with NaN and infinities as themselves.
func plain(n *json5.Node) any {
	switch n.Kind {
	case json5.Bool:
		return n.Bool
	case json5.Number:
		return n.Number
	case json5.String:
		return n.Text
	case json5.Array:
		list := make([]any, len(n.Elements))
		for i, element := range n.Elements {
			list[i] = plain(element)
		}
		return list
	case json5.Object:
		object := make(map[string]any, len(n.Members))
		for _, m := range n.Members {
			object[m.Key] = plain(m.Value)
		}
		return object
	}
	return nil
}

type object = map[string]any
type list = []any

var sameNumbers = cmp.Comparer(func(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
})

func TestParseValues(t *testing.T) {
	inf, nan, negativeZero := math.Inf(1), math.NaN(), math.Copysign(0, -1)
	tests := []struct {
		name, in string
		want     any
	}{
		// Section 1.2 and the front page of json5.org.
		{"short example", "{\n  // comments\n  unquoted: 'and you can quote me on that',\n" +
			"  singleQuotes: 'I can use \"double quotes\" here',\n  lineBreaks: \"Look, Mom! \\\nNo \\\\n's!\",\n" +
			"  hexadecimal: 0xdecaf,\n  leadingDecimalPoint: .8675309, andTrailing: 8675309.,\n  positiveSign: +1,\n" +
			"  trailingComma: 'in objects', andIn: ['arrays',],\n  \"backwardsCompatible\": \"with JSON\",\n}", object{
			"unquoted": "and you can quote me on that", "singleQuotes": `I can use "double quotes" here`,
			"lineBreaks": `Look, Mom! No \n's!`, "hexadecimal": 912559.0, "leadingDecimalPoint": .8675309,
			"andTrailing": 8675309.0, "positiveSign": 1.0, "trailingComma": "in objects", "andIn": list{"arrays"},
			"backwardsCompatible": "with JSON"}},

		// Section 3: objects, with its examples.
		{"empty object", "{}", object{}},
		{"two properties", "{ width: 1920, height: 1080, }", object{"width": 1920.0, "height": 1080.0}},
		{"objects in objects", "{ image: { width: 1920, height: 1080, 'aspect-ratio': '16:9', } }",
			object{"image": object{"width": 1920.0, "height": 1080.0, "aspect-ratio": "16:9"}}},
		{"quoted keys", `{"a b":1,'':2,'it\'s':3}`, object{"a b": 1.0, "": 2.0, "it's": 3.0}},
		{"reserved words as keys", "{null:1,true:2,while:3,NaN:4,Infinity:5}",
			object{"null": 1.0, "true": 2.0, "while": 3.0, "NaN": 4.0, "Infinity": 5.0}},
		{"names", "{$_:1,_$:2,a1:3,ümlåût:4,Ⅷ:5,x\u0301y:6,a\u200cb\u200d:7,a\u203fb:8,a\u0661:9}",
			object{"$_": 1.0, "_$": 2.0, "a1": 3.0, "ümlåût": 4.0, "Ⅷ": 5.0, "x\u0301y": 6.0, "a\u200cb\u200d": 7.0,
				"a\u203fb": 8.0, "a\u0661": 9.0}},
		{"name beyond the basic plane", "{𐐷:1}", object{"𐐷": 1.0}},
		{"escapes in names", `{\u0061b\u0063:1,ma\u00f1ana:2,sig\u03A3ma:3,a\u0031:4}`,
			object{"abc": 1.0, "mañana": 2.0, "sigΣma": 3.0, "a1": 4.0}},
		{"keys that JavaScript treats specially", "{__proto__:1,constructor:2}", object{"__proto__": 1.0, "constructor": 2.0}},
		{"same key in different objects", "{a:{a:1},b:{a:2}}", object{"a": object{"a": 1.0}, "b": object{"a": 2.0}}},
		{"keys that differ in case", "{a:1,A:2}", object{"a": 1.0, "A": 2.0}},

		// Section 4: arrays, with its examples.
		{"empty array", "[]", list{}},
		{"mixed array", "[ 1, true, 'three', ]", list{1.0, true, "three"}},
		{"arrays in arrays", `[ [1, true, 'three'], [4, "five", 0x6], ]`,
			list{list{1.0, true, "three"}, list{4.0, "five", 6.0}}},

		// Section 5: strings, with its examples.
		{"either quotes", `["it's", 'say "x"', '\'', "\""]`, list{"it's", `say "x"`, "'", `"`}},
		{"line continuations", "'Lorem ipsum dolor sit amet, \\\nconsectetur adipiscing elit.'",
			"Lorem ipsum dolor sit amet, consectetur adipiscing elit."},
		{"all line terminators continue", "'a\\\nb\\\rc\\\r\nd\\\u2028e\\\u2029f'", "abcdef"},
		{"continuation over two lines", "'a\\\n\\\nb'", "ab"},
		{"escapes that mean themselves", `'\A\C\/\D\C'`, "AC/DC"},
		{"single escapes", `'\b\f\n\r\t\v\0\\'`, "\b\f\n\r\t\v\x00\\"},
		{"null before a letter", `'\0a'`, "\x00a"},
		{"hexadecimal escapes", `'\x41\x7f\xe9'`, "A\x7fé"},
		{"unicode escapes", `'\u0041\u00E9\u2603'`, "Aé☃"},
		{"surrogate pair", `'\uD83D\uDE00'`, "😀"},
		{"surrogate pair over a continuation", "'\\uD83D\\\n\\uDE00'", "😀"},
		{"surrogates alone", `['\uD83D', '\uDE00', '\uD83Dx', '\uD83D\uD83D\uDE00', '\uDE00\uD83D']`,
			list{"\uFFFD", "\uFFFD", "\uFFFDx", "\uFFFD😀", "\uFFFD\uFFFD"}},
		{"separators inside strings", "'a\u2028b\u2029c'", "a\u2028b\u2029c"},
		{"tab and controls inside strings", "'a\tb\x01'", "a\tb\x01"},
		{"replacement character as it is", "'\uFFFD'", "\uFFFD"},

		// Section 6: numbers, with its examples.
		{"number examples", "{ integer: 123, withFractionPart: 123.456, onlyFractionPart: .456, withExponent: 123e-456 }",
			object{"integer": 123.0, "withFractionPart": 123.456, "onlyFractionPart": .456, "withExponent": 0.0}},
		{"hexadecimal examples", "{ positiveHex: 0xdecaf, negativeHex: -0xC0FFEE }",
			object{"positiveHex": 912559.0, "negativeHex": -12648430.0}},
		{"special examples", "{ positiveInfinity: Infinity, negativeInfinity: -Infinity, notANumber: NaN }",
			object{"positiveInfinity": inf, "negativeInfinity": -inf, "notANumber": nan}},
		{"signed words", "[+Infinity, +NaN, -NaN]", list{inf, nan, nan}},
		{"decimal forms", "[0, -0, +0, 5., .5, -.5, 0., 5.e3, 1e2, 1E+2, 1e-2, .5e1, 0e0]",
			list{0.0, negativeZero, 0.0, 5.0, .5, -.5, 0.0, 5000.0, 100.0, 100.0, .01, 5.0, 0.0}},
		{"hexadecimal forms", "[0x0, 0XaB, +0xff, -0x1, 0x00000000000000000000000001]", list{0.0, 171.0, 255.0, -1.0, 1.0}},
		{"largest and smallest", "[1.7976931348623157e308, 5e-324, 1e-400]", list{math.MaxFloat64, 5e-324, 0.0}},
		{"hexadecimal is rounded to even", "[0x20000000000001, 0x20000000000003]", list{9007199254740992.0, 9007199254740996.0}},

		// Sections 7 and 8: comments and white space, with the examples.
		{"comments", "// one\n/* two\n * lines // */ [1, /**/ 2 /***/, // three\r 3 /* ' */] // end", list{1.0, 2.0, 3.0}},
		{"comment ended by each line terminator", "[1,//a\n2,//b\r3,//c\r\n4,//d\u20285,//e\u20296]",
			list{1.0, 2.0, 3.0, 4.0, 5.0, 6.0}},
		{"comments between key and value", "{/*a*/k/*b*/:/*c*/1/*d*/,/*e*/}", object{"k": 1.0}},
		{"comment marks in strings", `["// no", '/* no */']`, list{"// no", "/* no */"}},
		{"all white space", "\t\v\f \u00a0\ufeff\n\r\u2028\u2029\u1680\u2000\u200a\u202f\u205f\u30001\u3000", 1.0},
		{"byte order mark", "\ufeff{a:1}", object{"a": 1.0}},

		{"null", "null", nil},
		{"true", " true ", true},
		{"false", "false//", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, err := json5.Parse("in.json5", []byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, plain(n), sameNumbers); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParsePositions(t *testing.T) {
	// Lines end with LF, CR LF and CR; é, 😀 and the tab are one column each; the byte order mark is none.
	in := "\ufeff{ // é\n\ta: 'x😀', b: -1,\r\n  \"c\": [\r    true,\r    {ümlaut : null}, 'a\\\nb', .5],\n\u2028d: {}}"
	root, err := json5.Parse("in.json5", []byte(in))
	if err != nil {
		t.Fatal(err)
	}
	values := []struct {
		path []string
		want json5.Pos
	}{
		{nil, json5.Pos{1, 1}},
		{[]string{"a"}, json5.Pos{2, 5}},
		{[]string{"b"}, json5.Pos{2, 14}},
		{[]string{"c"}, json5.Pos{3, 8}},
		{[]string{"c", "0"}, json5.Pos{4, 5}},
		{[]string{"c", "1"}, json5.Pos{5, 5}},
		{[]string{"c", "1", "ümlaut"}, json5.Pos{5, 15}},
		{[]string{"c", "2"}, json5.Pos{5, 22}},
		{[]string{"c", "3"}, json5.Pos{6, 5}},
		{[]string{"d"}, json5.Pos{7, 5}},
	}
	for _, tt := range values {
		n := root.Lookup(tt.path...)
		if n == nil {
			t.Errorf("Lookup(%q) = nil", tt.path)
			continue
		}
		if n.Pos != tt.want {
			t.Errorf("position of %q = %v, want %v", tt.path, n.Pos, tt.want)
		}
		if n.File() != "in.json5" {
			t.Errorf("file of %q = %q", tt.path, n.File())
		}
	}
	var keys []json5.Pos
	for _, m := range root.Members {
		keys = append(keys, m.KeyPos)
	}
	keys = append(keys, root.Lookup("c", "1").Member("ümlaut").KeyPos)
	want := []json5.Pos{{2, 2}, {2, 11}, {3, 3}, {7, 2}, {5, 6}}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("key positions (-want +got):\n%s", diff)
	}
}

func TestParseKeepsTheOrderOfKeys(t *testing.T) {
	n, err := json5.Parse("in.json5", []byte("{z:1,a:2,'m':3}"))
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, m := range n.Members {
		keys = append(keys, m.Key)
	}
	if diff := cmp.Diff([]string{"z", "a", "m"}, keys); diff != "" {
		t.Error(diff)
	}
}
