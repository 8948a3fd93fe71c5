package plaintext_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/plaintext/plaintexttest"
)

func TestTexts(t *testing.T) {
	for _, text := range plaintexttest.Texts {
		for _, verb := range []struct {
			name string
			f    func(string, int) string
			want string
		}{
			{"Line", plaintext.Line, text.Line}, {"Short", plaintext.Short, text.Line}, {"Show", plaintext.Show, text.Show}, {"Prompt", plaintext.Prompt, text.Prompt},
			{"Clip", plaintext.Clip, strings.ToValidUTF8(text.In, "\ufffd")},
		} {
			if got := verb.f(text.In, plaintext.Whole); got != verb.want {
				t.Errorf("%s: %s(%q) = %q, want %q", text.Name, verb.name, text.In, got, verb.want)
			}
		}
	}
}

func TestLines(t *testing.T) {
	for _, test := range []struct{ in, lines, show, prompt string }{
		{"a\tb\nc", "a\tb\nc", "a\tb\nc", "a\tb\nc"},
		{"a\r\nb\rc\vd\u2028e", "a \nb c d e", "a\\r\nb\\rc\\x0bd\\u{2028}e", "a\nb\nc\nd\ne"},
		{"  two  blanks\n\n", "  two  blanks\n\n", "  two  blanks\n\n", "  two  blanks\n\n"},
		{"no\u00a0break\x1b", "no break\ufffd", `no\xa0break\x1b`, "no break"},
		{"a\n\u0301b", "a\n\ufffdb", "a\n\\u{301}b", "a\nb"},
	} {
		for _, got := range []struct{ name, text, want string }{
			{"Lines", plaintext.Lines(test.in, plaintext.Whole), test.lines},
			{"ShowLines", plaintext.ShowLines(test.in, plaintext.Whole), test.show},
			{"PromptLines", plaintext.PromptLines(test.in, plaintext.Whole), test.prompt},
		} {
			if got.text != got.want {
				t.Errorf("%s(%q) = %q, want %q", got.name, test.in, got.text, got.want)
			}
		}
	}
}

// TestInContext has the characters that are dangerous at some places only.
func TestInContext(t *testing.T) {
	for in, want := range map[string]string{
		"नमस्ते क्\u200dष":                "नमस्ते क्\u200dष",
		"ක්\u200dර":                       "ක්\u200dර",
		"می\u200cx":                       `می\u{200c}x`,
		"می\u200c":                        `می\u{200c}`,
		"می\u200c\u200cخ":                 `می\u{200c}\u{200c}خ`,
		"❤\ufe0f\u200d🔥":                  "❤\ufe0f\u200d🔥",
		"👩🏽\u200d💻\u200d":                 "👩🏽\u200d💻" + `\u{200d}`,
		"❤\ufe0f\ufe0f":                   "❤\ufe0f" + `\u{fe0f}`,
		"ℹ\ufe0f ‼\ufe0f ↔\ufe0f ©\ufe0e": "ℹ\ufe0f ‼\ufe0f ↔\ufe0f ©\ufe0e",
		"1\ufe0f\u20e3 #\ufe0f\u20e3":     "1\ufe0f\u20e3 #\ufe0f\u20e3",
		"1\ufe0f2 *\ufe0f":                `1\u{fe0f}2 *\u{fe0f}`,
		"🏴\U000e0067\U000e007f":           `🏴\u{e0067}\u{e007f}`,
		"葛\U000e0100城":                    `葛\u{e0100}城`,
		"\u0301a":                         `\u{301}a`,
		"\"\u20e0\"":                      `"\u{20e0}"`,
		"ti\u1ebf\u0323ng":                "ti\u1ebf\u0323ng",
		"\u0600١ \u110bdx":                "\u0600١ \u110bdx",
		"\u2800\u200d\u2800":              `\u{2800}\u{200d}\u{2800}`,
		"\ufffd\u200d\ufffd":              "\ufffd" + `\u{200d}` + "\ufffd",
	} {
		if got := plaintext.Show(in, plaintext.Whole); got != want {
			t.Errorf("Show(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestDangerous holds the list against Unicode's own properties, and all that passes against a list of categories.
func TestDangerous(t *testing.T) {
	visible := []*unicode.RangeTable{unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Zs, unicode.Prepended_Concatenation_Mark}
	ignorable := []*unicode.RangeTable{unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Bidi_Control, unicode.Join_Control,
		unicode.Noncharacter_Code_Point, unicode.Cc, unicode.Co, unicode.Zl, unicode.Zp, unicode.Deprecated}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		switch got := plaintext.Dangerous(r); {
		case !utf8.ValidRune(r):
		case !got && !unicode.In(r, visible...):
			t.Errorf("%U passes", r)
		case !got && unicode.In(r, ignorable...) && r != 0x149 && r != 0x673 && r != 0xf77 && r != 0xf79 && r != 0x17a3 && r != 0x17a4 && r != 0x2329 && r != 0x232a:
			t.Errorf("%U passes", r) // the eight are deprecated letters and brackets, which are visible
		case got && unicode.IsPrint(r) && !unicode.In(r, ignorable...) && r != 0x2800 && r != 0xfffc && r != 0x16fe4 && r != 0x1d159:
			t.Errorf("%U is dangerous", r)
		}
	}
}

func TestBounds(t *testing.T) {
	for _, test := range []struct {
		verb string
		f    func(string, int) string
		in   string
		n    int
		want string
	}{
		{"Clip", plaintext.Clip, "", 0, ""},
		{"Clip", plaintext.Clip, "abc", 3, "abc"},
		{"Clip", plaintext.Clip, "abcd", 3, "…"},
		{"Clip", plaintext.Clip, "abcde", 4, "a…"},
		{"Clip", plaintext.Clip, "äöü", 5, "ä…"}, // ö would end behind the bound
		{"Clip", plaintext.Clip, "日本語", 6, "日…"},
		{"Clip", plaintext.Clip, "日本語", 5, "…"},
		{"Clip", plaintext.Clip, "abc", 2, ""},
		{"Clip", plaintext.Clip, "abc", -1, ""},
		{"Clip", plaintext.Clip, "a\xffb", 4, "a…"}, // it has grown
		{"Clip", plaintext.Clip, "\x1b\n\u202e", math.MinInt, ""},
		{"Line", plaintext.Line, strings.Repeat("a", 10), 8, "aaaaa…"},
		{"Line", plaintext.Line, "a\x00b", 4, "a…"},
		{"Show", plaintext.Show, "abc\u202edef", 12, "abc…"}, // an escape is not cut
		{"Show", plaintext.Show, "abc\u202edef", 14, `abc\u{202e}def`},
		{"Show", plaintext.Show, "a👩\u200d💻x", 11, "a👩…"},   // nor is a joined emoji
		{"Prompt", plaintext.Prompt, "ab   cdef", 6, "ab…"}, // no blank before the mark
		{"Prompt", plaintext.Prompt, " a\u200b " + strings.Repeat("\u200b", 100) + " b ", 3, "a b"},
		{"Head", plaintext.Head, "äöü", 5, "äö"},
		{"Head", plaintext.Head, "äöü", 6, "äöü"},
		{"Head", plaintext.Head, "日本", -1, ""},
		{"Head", plaintext.Head, "\x80\x80\x80\x80\x80\x80", 5, "\x80\x80\x80\x80\x80"},
		{"Characters", plaintext.Characters, "日本語", 3, "日本語"},
		{"Characters", plaintext.Characters, "日本語", 2, "日…"},
		{"Characters", plaintext.Characters, "日本語", 1, "…"},
		{"Characters", plaintext.Characters, "日本語", 0, ""},
		{"Characters", plaintext.Characters, "a\xff\xff", 2, "a…"},
	} {
		if got := test.f(test.in, test.n); got != test.want {
			t.Errorf("%s(%q, %d) = %q, want %q", test.verb, test.in, test.n, got, test.want)
		}
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]bool{
		"": true, "a b": true, "日本 🙂": true, "❤\ufe0f": true, "a\tb": false, "a\nb": false, "a\u00a0b": false, "\xff": false, "a\u3164": false, "\ufffd": true,
	} {
		if got := plaintext.Plain(in); got != want {
			t.Errorf("Plain(%q) = %v", in, got)
		}
	}
	if r, found := plaintext.FirstDangerous("a\n\t\u3000\u3164b\u202e"); r != '\u3164' || !found {
		t.Errorf("found %U, %v", r, found)
	}
}

// FuzzVerbs wants what the package promises of all verbs.
func FuzzVerbs(f *testing.F) {
	f.Add("a👩\u200d💻\u200d 1\ufe0f\u20e3 می\u200cخ", 12)
	f.Add(strings.Repeat("\u00a0", 50)+"\n\u0301", 20)
	f.Fuzz(promises)
}

// TestMixtures has many texts of the characters that matter.
func TestMixtures(t *testing.T) {
	alphabet := []string{"a", "1", "#", " ", "\n", "\r", "\t", "\x1b", "\xff", "\xe2", "\"", "\u0301", "\u20e3", "\u200c", "\u200d", "\ufe0f", "\ufe0e", "❤", "👩", "🏽", "‼",
		"\u2800", "\u3164", "م", "خ", "\u064b", "क", "\u094d", "\u202e", "\U000e0041", "\u2028", "\u00a0", "…", "\ufffd", "\u0600"}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var b strings.Builder
		for range rng.IntN(10) {
			b.WriteString(alphabet[rng.IntN(len(alphabet))])
		}
		promises(t, b.String(), rng.IntN(40)-2)
	}
}

func promises(t *testing.T, s string, n int) {
	for name, verb := range map[string]func(string, int) string{
		"Clip": plaintext.Clip, "Line": plaintext.Line, "Lines": plaintext.Lines, "Show": plaintext.Show, "ShowLines": plaintext.ShowLines,
		"Prompt": plaintext.Prompt, "PromptLines": plaintext.PromptLines,
	} {
		got := verb(s, n)
		if len(got) > max(n, 0) || !utf8.ValidString(got) {
			t.Errorf("%s(%q, %d): %d bytes: %q", name, s, n, len(got), got)
		}
		if again := verb(got, n); again != got {
			t.Errorf("%s(%q, %d) is %q, then %q", name, s, n, got, again)
		}
		whole := verb(s, plaintext.Whole)
		if len(whole) > 4*len(s) || name != "Show" && name != "ShowLines" && len(whole) > 3*len(s) || n >= len(whole) && got != whole {
			t.Errorf("%s(%q, %d) is %q, and %q without a bound", name, s, n, got, whole)
		}
		if name == "Show" && n > len(whole) {
			each := ""
			for _, shown := range plaintext.ShowEach(s) {
				each += shown
			}
			if each != got {
				t.Errorf("ShowEach(%q) gives %q, not %q", s, each, got)
			}
		}
		if name == "Clip" {
			continue
		}
		lines := strings.HasSuffix(name, "Lines")
		if r, found := plaintext.FirstDangerous(got); found || unsafe(got, lines) {
			t.Errorf("%s(%q, %d): %U is in %q", name, s, n, r, got)
		}
		if !lines && !plaintext.Plain(got) {
			t.Errorf("%s(%q, %d) is not plain: %q", name, s, n, got)
		}
	}
	if plaintext.Plain(s) != (plaintext.Line(s, plaintext.Whole) == s) {
		t.Errorf("Plain(%q) and Line do not agree", s)
	}
	if h := plaintext.Head(s, n); !strings.HasPrefix(s, h) || len(h) > max(n, 0) || len(h) < min(len(s), max(n, 0)-3) || utf8.ValidString(s) && !utf8.ValidString(h) {
		t.Errorf("Head(%q, %d) = %q", s, n, h)
	}
	if n < 1<<20 && utf8.RuneCountInString(plaintext.Characters(s, n)) > max(n, 0) {
		t.Errorf("Characters(%q, %d) = %q", s, n, plaintext.Characters(s, n))
	}
}

// unsafe is another rule than the package's: categories, and what stands beside it for the few that depend on their place.
func unsafe(s string, lines bool) bool {
	last, marks := rune(0), 0
	for i, r := range s {
		rest := s[i+utf8.RuneLen(r):]
		switch {
		case lines && (r == '\n' || r == '\t'):
		case r == '\u200c' || r == '\u200d':
			next, _ := utf8.DecodeRuneInString(rest)
			if last < 0x100 || rest == "" || !unicode.In(next, unicode.L, unicode.S, unicode.P) {
				return true
			}
		case r == '\ufe0e' || r == '\ufe0f':
			if last == 0 || unicode.In(last, unicode.M, unicode.Zs) || last < 0x80 && !strings.HasPrefix(rest, "\u20e3") {
				return true
			}
		case !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Prepended_Concatenation_Mark) && r != ' ',
			unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector), r == '\u2800':
			return true
		}
		if marks++; !unicode.Is(unicode.M, r) {
			marks = 0
		}
		if marks > 5 { // an emoji selector is one as well
			return true
		}
		last = r
	}
	return false
}
