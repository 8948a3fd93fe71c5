package plaintext_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

func TestLine(t *testing.T) {
	for in, want := range map[string][2]string{ // Line, Lines
		"":                       {"", ""},
		"plain ~text~":           {"plain ~text~", "plain ~text~"},
		"a\tb\nc":                {"a b c", "a\tb\nc"},
		"a\r\nb":                 {"a  b", "a \nb"},
		"\x1b[31mred\x1b[0m":     {"\ufffd[31mred\ufffd[0m", "\ufffd[31mred\ufffd[0m"},
		"nul\x00del\x7fc1\u009b": {"nul\ufffddel\ufffdc1\ufffd", "nul\ufffddel\ufffdc1\ufffd"},
		"bytes \xff\xfe":         {"bytes \ufffd\ufffd", "bytes \ufffd\ufffd"},
		"turn\u202eed\u2066":     {"turn\ufffded\ufffd", "turn\ufffded\ufffd"},
		"zero\u200bwidth\ufeff":  {"zero\ufffdwidth\ufffd", "zero\ufffdwidth\ufffd"},
		"line\u2028para\u2029":   {"line para ", "line para "},
		"tag\U000e0041s":         {"tag\ufffds", "tag\ufffds"},
		"private\ue000":          {"private\ufffd", "private\ufffd"},
		"no\u00a0break":          {"no break", "no break"},
		"Ünï 日本 🙂":               {"Ünï 日本 🙂", "Ünï 日本 🙂"},
	} {
		if got := plaintext.Line(in); got != want[0] {
			t.Errorf("Line(%q) = %q, want %q", in, got, want[0])
		}
		if got := plaintext.Lines(in); got != want[1] {
			t.Errorf("Lines(%q) = %q, want %q", in, got, want[1])
		}
	}
}

func TestClip(t *testing.T) {
	for _, test := range []struct {
		in   string
		n    int
		want string
	}{
		{"", 0, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "…"},
		{"abcde", 4, "a…"},
		{"äöü", 5, "ä…"}, // ö would end behind the bound
		{"日本語", 6, "日…"},
		{"日本語", 5, "…"},
		{"abc", 2, ""},
		{"abc", -1, ""},
	} {
		if got := plaintext.Clip(test.in, test.n); got != test.want {
			t.Errorf("Clip(%q, %d) = %q, want %q", test.in, test.n, got, test.want)
		}
	}
}

func FuzzShort(f *testing.F) {
	f.Add("plain", 3)
	f.Add("\x1b]0;title\a\xff\u202e", 7)
	f.Add(strings.Repeat("\u00a0", 50)+"\n", 20)
	f.Fuzz(func(t *testing.T, s string, n int) {
		got := plaintext.Short(s, n)
		if len(got) > max(n, 0) {
			t.Errorf("%d bytes of %d: %q", len(got), n, got)
		}
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("not plain: %q", got)
		}
	})
}
