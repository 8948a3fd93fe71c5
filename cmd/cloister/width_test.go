package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTextWidth(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "abc": 3, "äöü": 3, "漢字": 4, "한국": 4, "ＡＢ": 4, "e\u0301": 1, "😀": 2, "🇩🇪": 2, "👩\u200d💻": 4, "…": 1, "→": 1, "⌚": 2, "⚡": 2, "⚽⛄": 4, "─": 1,
	} {
		if got := textWidth(s); got != want {
			t.Errorf("textWidth(%q) = %d, want %d", s, got, want)
		}
	}
}

// The tables of package unicode are searched by halving: they must be in order.
func TestWideTableIsSorted(t *testing.T) {
	last := rune(-1)
	for _, r := range wide.R16 {
		if rune(r.Lo) <= last || r.Hi < r.Lo || r.Stride == 0 || (r.Hi-r.Lo)%r.Stride != 0 {
			t.Errorf("%+v is out of order", r)
		}
		last = rune(r.Hi)
	}
	for _, r := range wide.R32 {
		if rune(r.Lo) <= last || r.Hi < r.Lo {
			t.Errorf("%+v is out of order", r)
		}
		last = rune(r.Hi)
	}
}

func TestClip(t *testing.T) {
	for _, test := range []struct {
		in    string
		width int
		want  string
	}{
		{"abcdef", 6, "abcdef"}, {"abcdef", 5, "abcd…"}, {"abc def", 5, "abc…"}, {"漢字漢字", 8, "漢字漢字"},
		{"漢字漢字", 7, "漢字漢…"}, {"漢字漢字", 6, "漢字…"}, {"abc", 0, "abc"}, {"abc", 1, "…"}, {"äöü", 3, "äöü"},
	} {
		if got := clip(test.in, test.width); got != test.want {
			t.Errorf("clip(%q, %d) = %q, want %q", test.in, test.width, got, test.want)
		}
	}
}

func TestWrapText(t *testing.T) {
	for _, test := range []struct {
		in    string
		width int
		want  string
	}{
		{"a b c", 0, "a b c"}, {"aaa bbb ccc", 7, "aaa bbb|ccc"}, {"toolongword a", 4, "toolongword|a"},
		{"a\nb  c\n", 10, "a|b c"}, {"", 10, ""}, {"漢字 漢字", 6, "漢字|漢字"},
	} {
		if diff := cmp.Diff(strings.Split(test.want, "|"), wrapText(test.in, test.width)); diff != "" {
			t.Errorf("wrapText(%q, %d): %s", test.in, test.width, diff)
		}
	}
}
