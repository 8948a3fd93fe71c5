package textedit

import "testing"

const text = "{\n  \"a\": 1, // one\n\t\"b\": 2\n}\n"

func TestParts(t *testing.T) {
	a, b := 4, 20 // where the keys begin
	if got := string(Splice([]byte(text), a, a+3, "new")); got != "{\n  new: 1, // one\n\t\"b\": 2\n}\n" {
		t.Errorf("spliced: %q", got)
	}
	if got := string(LineBefore([]byte(text), b)); got != "\t" {
		t.Errorf("before b: %q", got)
	}
	if got := IndentAt([]byte(text), a+5); got != "  " {
		t.Errorf("indent of a: %q", got)
	}
	for _, c := range []struct{ at, want int }{{11, 18}, {26, 26}, {len(text), len(text)}} {
		if got := AfterNote([]byte(text), c.at); got != c.want {
			t.Errorf("after the note at %d: %d, want %d", c.at, got, c.want)
		}
	}
	for _, c := range []struct{ from, to, wantFrom, wantTo int }{
		{b, b + 6, b - 1, b + 7}, // alone in its line
		{a, a + 6, a, a + 6},     // a comment stands behind it
		{0, 1, 0, 1},             // the first line has no line before it
	} {
		if from, to := WholeLines([]byte(text), c.from, c.to); from != c.wantFrom || to != c.wantTo {
			t.Errorf("whole lines of %d to %d: %d to %d, want %d to %d", c.from, c.to, from, to, c.wantFrom, c.wantTo)
		}
	}
}
