package transpile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLineMap(t *testing.T) {
	m := NewLineMap([]Mapping{
		{Position{5, 3}, Position{2, 1}},
		{Position{3, 1}, Position{1, 1}},
		{Position{3, 9}, Position{1, 20}},
		{Position{0, 1}, Position{1, 1}}, // no place
		{Position{1, 1}, Position{1, 0}}, // no place
	})
	if m.Len() != 3 {
		t.Errorf("%d mappings, want 3", m.Len())
	}
	for _, c := range []struct {
		line, column int
		want         string
	}{
		{1, 1, "none"}, {2, 99, "none"}, // in front of everything: helpers
		{3, 1, "1:1"}, {3, 8, "1:1"}, {3, 9, "1:20"}, {3, 500, "1:20"},
		{3, 0, "1:1"}, {3, -7, "1:1"}, // the whole line
		{4, 1, "1:20"},               // a line without mappings belongs to what is before
		{5, 1, "2:1"}, {5, 3, "2:1"}, // in front of the first of its line
		{6, 1, "2:1"}, {1 << 40, 1, "2:1"}, {-1, 1, "none"}, {0, 0, "none"},
	} {
		got := "none"
		if p, ok := m.Source(c.line, c.column); ok {
			got = p.String()
		}
		if got != c.want {
			t.Errorf("%d:%d: got %s, want %s", c.line, c.column, got, c.want)
		}
	}
}

func TestLineMapWithout(t *testing.T) {
	if p, ok := (LineMap{}).Source(7, 3); !ok || p != (Position{7, 3}) {
		t.Errorf("the zero map leads to %v, %v, want the place itself", p, ok)
	}
	if p, ok := (LineMap{}).Source(0, 0); ok {
		t.Errorf("the zero map leads from no place to %v", p)
	}
	if p, ok := NewLineMap(nil).Source(7, 3); ok {
		t.Errorf("an empty map leads to %v", p)
	}
}

func TestLineTable(t *testing.T) {
	text := "a\nb\r\nc\rd\u2028e\u2029\n中f"
	lines := newLineTable(text)
	var got []string
	for i, part := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("\n\r\u2028\u2029", r) }) {
		p := lines.position(strings.Index(text, part))
		got = append(got, fmt.Sprint(p))
		if back := lines.offset(p); text[back:back+len(part)] != part {
			t.Errorf("part %d: %v leads to %q", i, p, text[back:])
		}
	}
	if diff := cmp.Diff([]string{"1:1", "2:1", "3:1", "4:1", "5:1", "7:1"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, p := range []Position{{0, 0}, {-1, 5}, {99, 1}, {1, 99}, {7, -4}} {
		if at := lines.offset(p); at < 0 || at > len(text) {
			t.Errorf("%v is at %d", p, at)
		}
	}
	if p := lines.position(1 << 30); p != lines.position(len(text)) {
		t.Errorf("behind the end is %v", p)
	}
}

func TestColumns(t *testing.T) {
	text := "ab\n中😀c\nd"
	c := newColumns(text, newLineTable(text))
	for _, q := range []struct{ line, unit, want int }{
		{0, 0, 0}, {0, 1, 1}, {1, 0, 3}, {1, 1, 6}, {1, 3, 10}, {1, 4, 11}, {1, 1, 6}, {1, 2, 10}, // inside of a pair
		{2, 0, 12}, {2, 1, 13}, {2, 50, 13}, {0, 0, 0}, {9, 0, 13}, {-1, 0, 13},
	} {
		if got := c.offset(q.line, q.unit); got != q.want {
			t.Errorf("%d:%d is at %d, want %d", q.line, q.unit, got, q.want)
		}
	}
}

func TestLineText(t *testing.T) {
	long := strings.Repeat("a", 1000) + "中X中" + strings.Repeat("b", 1000)
	lines := newLineTable(long)
	got := lineText(long, lines, Position{1, 1004})
	if len(got) > maxLineText || !strings.Contains(got, "中X中") {
		t.Errorf("got %q", got)
	}
	for column := range 2010 {
		if text := lineText(long, lines, Position{1, column}); len(text) > maxLineText || strings.ToValidUTF8(text, "") != text {
			t.Errorf("column %d: got %q", column, text)
		}
	}
	if got := lineText("a\r\nb", newLineTable("a\r\nb"), Position{1, 1}); got != "a" {
		t.Errorf("got %q, want a line without its end", got)
	}
	if got := lineText("a", newLineTable("a"), Position{2, 1}); got != "" {
		t.Errorf("got %q of a line that is not there", got)
	}
}

func TestOffsets(t *testing.T) {
	//           0123456789
	before := "one two three"
	e := edits{{at: 0, length: 3, text: "1"}, {at: 8, length: 5, text: "threescore"}}
	after := e.apply(before)
	if after != "1 two threescore" {
		t.Fatalf("got %q", after)
	}
	o := newOffsets(e)
	for b, a := range map[int]int{0: 0, 1: 0, 2: 0, 3: 1, 4: 2, 7: 5, 8: 6, 12: 6, 13: 16} {
		if got := o.forward(b); got != a {
			t.Errorf("forward %d: got %d, want %d", b, got, a)
		}
	}
	for a, b := range map[int]int{0: 0, 1: 3, 2: 4, 5: 7, 6: 8, 9: 8, 15: 8, 16: 13} {
		if got := o.back(a); got != b {
			t.Errorf("back %d: got %d, want %d", a, got, b)
		}
	}
	if none := newOffsets(nil); none.forward(5) != 5 || none.back(5) != 5 {
		t.Error("no edits move an offset")
	}
}
