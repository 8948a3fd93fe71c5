package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestEscapeText(t *testing.T) {
	for _, test := range []struct{ name, in, text, line string }{
		{"plain", "abc äöü 漢字 €", "abc äöü 漢字 €", "abc äöü 漢字 €"},
		{"white space", "a\tb\nc\r\n", "a\tb\nc\\r\n", `a\tb\nc\r\n`},
		{"colour", "\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`, `\x1b[31mred\x1b[0m`},
		{"title", "\x1b]0;pwned\a", `\x1b]0;pwned\x07`, `\x1b]0;pwned\x07`},
		{"eight-bit CSI", "\u009b2J", `\x9b2J`, `\x9b2J`},
		{"raw byte", "a\x9bb\xff", `a\x9bb\xff`, `a\x9bb\xff`},
		{"delete", "a\x7f", `a\x7f`, `a\x7f`},
		{"backspace", "a\b\bb", `a\x08\x08b`, `a\x08\x08b`},
		{"override", "a\u202egnp\u202c", `a\u{202e}gnp\u{202c}`, `a\u{202e}gnp\u{202c}`},
		{"isolate", "\u2066a\u2069", `\u{2066}a\u{2069}`, `\u{2066}a\u{2069}`},
		{"marks", "\u200e\u200f\u061c", `\u{200e}\u{200f}\u{61c}`, `\u{200e}\u{200f}\u{61c}`},
		{"invisible", "a\u200b\ufeff\u2060\u00adb", `a\u{200b}\u{feff}\u{2060}\xadb`, `a\u{200b}\u{feff}\u{2060}\xadb`},
		{"tags", "a\U000e0041", `a\u{e0041}`, `a\u{e0041}`},
		{"separators", "a\u2028b\u2029", `a\u{2028}b\u{2029}`, `a\u{2028}b\u{2029}`},
		{"next line", "a\u0085b", `a\x85b`, `a\x85b`},
		{"joined emoji", "👩\u200d💻", "👩\u200d💻", "👩\u200d💻"},
		{"number sign", "\u0600١", "\u0600١", "\u0600١"},
		{"replacement", "a\ufffdb", "a\ufffdb", "a\ufffdb"},
		{"nothing", "", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := escapeText(test.in); got != test.text {
				t.Errorf("escapeText(%q) = %q, want %q", test.in, got, test.text)
			}
			if got := escapeLine(test.in); got != test.line {
				t.Errorf("escapeLine(%q) = %q, want %q", test.in, got, test.line)
			}
		})
	}
}

// unsafeIn finds what must not reach a terminal, by another rule than the one
// that is tested: categories instead of ranges.
func unsafeIn(s, keep string) (rune, bool) {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return rune(s[i]), true
		}
		bad := unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
		if bad && !strings.ContainsRune(keep, r) {
			return r, true
		}
		i += n
	}
	return 0, false
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "a\x1b[2J", "\u202e\u2066", "\xff\xfe\x9b", "漢\u200d字\n\t\r", "\U000e0041\ufeff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if r, bad := unsafeIn(escapeText(s), "\n\t"); bad {
			t.Errorf("escapeText(%q) leaves %U", s, r)
		}
		if r, bad := unsafeIn(escapeLine(s), ""); bad {
			t.Errorf("escapeLine(%q) leaves %U", s, r)
		}
		if again := escapeText(escapeText(s)); again != escapeText(s) {
			t.Errorf("escaping %q twice gives %q", s, again)
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		escaped := escapeJSON(text)
		if r, bad := unsafeIn(string(escaped), "\n\t\r"); bad {
			t.Errorf("escapeJSON of %q leaves %U", s, r)
		}
		var before, after any
		if err := json.Unmarshal(text, &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(escaped, &after); err != nil || !reflect.DeepEqual(before, after) {
			t.Errorf("escapeJSON changes %q to %q (%v)", before, after, err)
		}
	})
}

func TestEscapeJSON(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{`{"a": 1}`, `{"a": 1}`},
		{"{\n\t\"a\": \"\u009b\u007f\"\r\n}", "{\n\t\"a\": \"\\u009b\\u007f\"\n}"},
		{"\"\u202e\"", `"\u202e"`},
		{"\"\U000e0041\"", `"\udb40\udc41"`},
		{"\"\xff\"", `"\ufffd"`},
		{"\"\ufffd漢\"", "\"\ufffd漢\""},
	} {
		if got := string(escapeJSON([]byte(test.in))); got != test.want {
			t.Errorf("escapeJSON(%q) = %q, want %q", test.in, got, test.want)
		}
	}
}
