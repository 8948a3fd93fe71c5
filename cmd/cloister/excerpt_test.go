package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestExcerpt(t *testing.T) {
	for _, test := range []struct {
		name, line string
		at, width  int
		want       string
	}{
		{"start", "let a = ;", 0, 40, "let a = ;\n^"},
		{"middle", "let a = ;", 8, 40, "let a = ;\n        ^"},
		{"end", "let a = ", 8, 40, "let a =\n        ^"},
		{"beyond the end", "abc", 99, 40, "abc\n   ^"},
		{"before the start", "abc", -5, 40, "abc\n^"},
		{"empty line", "", 0, 40, "\n^"},
		{"tabs", "\t\ta\tb", 4, 40, "        a   b\n            ^"},
		{"wide characters", "漢字 = x", 9, 40, "漢字 = x\n       ^"},
		{"combining", "e\u0301 = x", 6, 40, "e\u0301 = x\n    ^"},
		{"escapes", "a\x1b[2Jb", 5, 40, `a\x1b[2Jb` + "\n        ^"},
		{"raw byte", "a\xffb", 2, 40, `a\xffb` + "\n     ^"},
		{"inside a character", "äb", 1, 40, "äb\n^"},
		{"cut right", "abcdefghijklmnopqrstuvwxyz", 2, 12, "abcdefghijk…\n  ^"},
		{"cut left", "abcdefghijklmnopqrstuvwxyz", 25, 12, "…qrstuvwxyz\n          ^"},
		{"cut both", "abcdefghijklmnopqrstuvwxyz", 13, 12, "…hijklmnopq…\n       ^"},
		{"cut at the end", "abcdefghijklmnopqrstuvwxyz", 26, 12, "…rstuvwxyz\n          ^"},
	} {
		t.Run(test.name, func(t *testing.T) {
			text, caret := excerpt(test.line, test.at, test.width)
			if diff := cmp.Diff(test.want, text+"\n"+caret); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSourceLine(t *testing.T) {
	const source = "one\ntwo\r\nthree\rfour\u2028five\u2029six\n"
	for i, want := range []string{"one", "two", "three", "four", "five", "six", ""} {
		if got, ok := sourceLine(source, i+1); got != want || !ok {
			t.Errorf("line %d is %q, %v; want %q", i+1, got, ok, want)
		}
	}
	if got, ok := sourceLine(source, 8); ok {
		t.Errorf("line 8 is %q, and there is none", got)
	}
}

// Whatever a line holds, the excerpt fits the width, is safe to show, and the
// caret stands at the character.
func FuzzExcerpt(f *testing.F) {
	f.Add("let ä = 漢字\t\x1b[2J;", 9, 20)
	f.Add(strings.Repeat("x", 9000)+"\u202e"+strings.Repeat("y", 9000), 9000, 80)
	f.Add("\xff\xfe", 1, 0)
	f.Add("", -1, -1)
	f.Fuzz(func(t *testing.T, line string, at, width int) {
		line, _ = sourceLine(line, 1)
		text, caret := excerpt(line, at, width)
		if r, bad := unsafeIn(text+caret, ""); bad {
			t.Errorf("%q at %d: %U", line, at, r)
		}
		// A character's escape takes up to 9 columns, and stays whole.
		if limit := max(width, 8) + 9; textWidth(text) > limit || textWidth(caret) > limit {
			t.Errorf("%q at %d: wider than %d:\n%s\n%s", line, at, width, text, caret)
		}
		if strings.TrimLeft(caret, " ") != "^" {
			t.Errorf("%q at %d: caret line %q", line, at, caret)
		}
		if at < 0 || at >= len(line) || !utf8.RuneStart(line[at]) {
			return
		}
		want := glyphs(line[at:], 0)[0]
		column := len(caret) - 1
		if r := []rune(want.text)[0]; r != ' ' && runeWidth(r) > 0 && !strings.HasPrefix(fromColumn(text, column), string(r)) {
			t.Errorf("%q at %d: the caret is not under %q:\n%s\n%s", line, at, want.text, text, caret)
		}
	})
}

// fromColumn gives the rest of a line from a column on.
func fromColumn(s string, column int) string {
	for i, r := range s {
		if column <= 0 && runeWidth(r) > 0 {
			return s[i:]
		}
		column -= runeWidth(r)
	}
	return ""
}
