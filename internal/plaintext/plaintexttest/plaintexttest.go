// Package plaintexttest holds each place that shows texts of strangers to the same list of hostile ones.
package plaintexttest

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// Text is a hostile text, and what the verbs of package plaintext make of it. It stands between letters, so that what a place trims
// does not matter.
type Text struct {
	Name, In           string
	Line, Show, Prompt string
}

// Texts is the list, each with one thing that has to be decided about.
var Texts = []Text{
	{"plain", "abc ~ äöü 漢字 €", "abc ~ äöü 漢字 €", "abc ~ äöü 漢字 €", "abc ~ äöü 漢字 €"},
	{"not UTF-8", "a\xffb", "a\ufffdb", `a\xffb`, "a\ufffdb"},
	{"escape sequence", "a\x1b[31mb", "a\ufffd[31mb", `a\x1b[31mb`, "a[31mb"},
	{"C1 control", "a\u009b2Jb", "a\ufffd2Jb", `a\x9b2Jb`, "a2Jb"},
	{"delete", "a\x7fb", "a\ufffdb", `a\x7fb`, "ab"},
	{"line feed", "a\nb", "a b", `a\nb`, "a b"},
	{"carriage return", "a\rb", "a b", `a\rb`, "a b"},
	{"next line", "a\u0085b", "a b", `a\x85b`, "a b"},
	{"line separator", "a\u2028b", "a b", `a\u{2028}b`, "a b"},
	{"paragraph separator", "a\u2029b", "a b", `a\u{2029}b`, "a b"},
	{"no-break space", "a\u00a0b", "a b", `a\xa0b`, "a b"},
	{"bidirectional override", "a\u202eb", "a\ufffdb", `a\u{202e}b`, "ab"},
	{"bidirectional isolate", "a\u2066b", "a\ufffdb", `a\u{2066}b`, "ab"},
	{"bidirectional mark", "a\u200fb", "a\ufffdb", `a\u{200f}b`, "ab"},
	{"Arabic letter mark", "a\u061cb", "a\ufffdb", `a\u{61c}b`, "ab"},
	{"zero width space", "a\u200bb", "a\ufffdb", `a\u{200b}b`, "ab"},
	{"word joiner", "a\u2060b", "a\ufffdb", `a\u{2060}b`, "ab"},
	{"byte order mark", "a\ufeffb", "a\ufffdb", `a\u{feff}b`, "ab"},
	{"joiner in Latin", "a\u200db", "a\ufffdb", `a\u{200d}b`, "ab"},
	{"soft hyphen", "a\u00adb", "a\ufffdb", `a\xadb`, "ab"},
	{"grapheme joiner", "a\u034fb", "a\ufffdb", `a\u{34f}b`, "ab"},
	{"Mongolian vowel separator", "a\u180eb", "a\ufffdb", `a\u{180e}b`, "ab"},
	{"Hangul filler", "a\u3164b", "a\ufffdb", `a\u{3164}b`, "ab"},
	{"Hangul choseong filler", "a\u115fb", "a\ufffdb", `a\u{115f}b`, "ab"},
	{"Hangul jungseong filler", "a\u1160b", "a\ufffdb", `a\u{1160}b`, "ab"},
	{"half width filler", "a\uffa0b", "a\ufffdb", `a\u{ffa0}b`, "ab"},
	{"braille blank", "a\u2800b", "a\ufffdb", `a\u{2800}b`, "ab"},
	{"emoji selector in Latin", "a\ufe0fb", "a\ufffdb", `a\u{fe0f}b`, "ab"},
	{"variation selector", "a\U000e0100b", "a\ufffdb", `a\u{e0100}b`, "ab"},
	{"tag", "a\U000e0041b", "a\ufffdb", `a\u{e0041}b`, "ab"},
	{"annotation", "a\ufff9b", "a\ufffdb", `a\u{fff9}b`, "ab"},
	{"private use", "a\ue000b", "a\ufffdb", `a\u{e000}b`, "ab"},
	{"noncharacter", "a\ufdd0b", "a\ufffdb", `a\u{fdd0}b`, "ab"},
	{"pile of marks", "a" + strings.Repeat("\u0300", 5) + "b", "a" + strings.Repeat("\u0300", 4) + "\ufffdb", "a" + strings.Repeat("\u0300", 4) + `\u{300}b`, "a" + strings.Repeat("\u0300", 4) + "b"},
	{"joined emoji", "a👩\u200d💻b", "a👩\u200d💻b", "a👩\u200d💻b", "a👩\u200d💻b"},
	{"symbol as emoji", "a⚠\ufe0fb", "a⚠\ufe0fb", "a⚠\ufe0fb", "a⚠\ufe0fb"},
	{"Persian", "می\u200cخواهم", "می\u200cخواهم", "می\u200cخواهم", "می\u200cخواهم"},
}

// Line wants that a place shows the list as [plaintext.Line] does. show puts a text into the place and returns what stands there.
func Line(t *testing.T, show func(string) string) {
	t.Helper()
	check(t, show, func(text Text) string { return text.Line })
}

// Show is [Line] for a place that shows texts as [plaintext.Show] does.
func Show(t *testing.T, show func(string) string) {
	t.Helper()
	check(t, show, func(text Text) string { return text.Show })
}

// Prompt is [Line] for a place that shows texts as [plaintext.Prompt] does.
func Prompt(t *testing.T, show func(string) string) {
	t.Helper()
	check(t, show, func(text Text) string { return text.Prompt })
}

// JSON is [Line] for a place that shows JSON as [plaintext.ShowJSON] does. Each text is handed over as a string of JSON.
func JSON(t *testing.T, show func(json.RawMessage) string) {
	t.Helper()
	quoted := func(text Text) json.RawMessage {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(strings.ToValidUTF8(text.In, "\ufffd")); err != nil {
			t.Fatal(err)
		}
		return bytes.TrimSpace(b.Bytes())
	}
	for _, text := range Texts {
		in := quoted(text)
		got, want := show(in), plaintext.ShowJSON(string(in))
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s is shown as %q, without %q", text.Name, in, got, want)
		}
		safe(t, text.Name, got)
	}
}

func check(t *testing.T, show func(string) string, want func(Text) string) {
	t.Helper()
	for _, text := range Texts {
		got := show(text.In)
		if !strings.Contains(got, want(text)) || !utf8.ValidString(got) {
			t.Errorf("%s: %q is shown as %q, without %q", text.Name, text.In, got, want(text))
		}
		safe(t, text.Name, got)
	}
}

// safe wants that nothing dangerous reaches a reader, whatever else the place writes.
func safe(t *testing.T, name, got string) {
	t.Helper()
	for l := range strings.SplitSeq(got, "\n") {
		if r, found := plaintext.FirstDangerous(l); found {
			t.Errorf("%s: %U is in %q", name, r, l)
		}
	}
}
