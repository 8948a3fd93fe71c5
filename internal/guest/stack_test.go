package guest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/guestabi"
)

func TestPlace(t *testing.T) {
	first := len(guestabi.WrapPrefix)
	for _, test := range []struct {
		stack        string
		line, column int
	}{
		{"", 0, 0},
		{"    at f (native)\n", 0, 0},
		{"    at cell (cell.js:3:14)\n", 3, 14},
		{"    at a (other.js:1:2)\n    at cell (cell.js:2:1)", 2, 1},
		{"cell.js:1:" + strconv.Itoa(first+5), 1, 5},
		{"cell.js:1:1", 1, 1}, // inside of the wrapper
		{"cell.js:7", 7, 0},
		{"cell.js:0:1", 0, 0},
		{"cell.js:-4:1", 0, 0},
		{"cell.js:99999999999999999999:1", 0, 0},
		{"cell.js:2:99999999999999999999", 2, 0},
		{"cell.js:", 0, 0},
	} {
		line, column, _ := Place(test.stack)
		if line != test.line || column != test.column {
			t.Errorf("Place(%q) = %d:%d, want %d:%d", test.stack, line, column, test.line, test.column)
		}
	}
	_, _, rest := Place("at f (cell.js:2:1)\nat g (cell.js:9:3)")
	if line, column, _ := Place(rest); line != 9 || column != 3 {
		t.Errorf("the next place is %d:%d", line, column)
	}
}

func TestModuleSyntax(t *testing.T) {
	for _, test := range []struct {
		code         string
		line, column int
		want         bool
	}{
		{"import x from 'y'", 1, 8, true},
		{"export default 1", 1, 1, true},
		{"const a = 1;\nexport { a }", 2, 8, true},
		{"important = (", 1, 14, false},
		{"a.import (", 1, 11, false},
		{"x = }", 1, 5, false},
		{"", 1, 1, false},
		{"import", 9, 1, false},
		{"import", 0, -3, false},
	} {
		if got := ModuleSyntax(test.code, test.line, test.column); got != test.want {
			t.Errorf("ModuleSyntax(%q, %d, %d) = %v", test.code, test.line, test.column, got)
		}
	}
}

// FuzzPlace wants no stack trace, which is a guest's word, to give a place that no source has, or to be read for ever.
func FuzzPlace(f *testing.F) {
	f.Add("    at cell (cell.js:3:14)\n    at f (cell.js:1:1)")
	f.Add("cell.js:cell.js:0:-1cell.js:9999999999:2")
	f.Add(strings.Repeat("cell.js:", 50))
	f.Fuzz(func(t *testing.T, stack string) {
		for stack != "" {
			line, column, rest := Place(stack)
			if line < 0 || column < 0 || line == 0 && column != 0 {
				t.Fatalf("%d:%d", line, column)
			}
			if len(rest) >= len(stack) {
				t.Fatalf("%q after %q", rest, stack)
			}
			stack = rest
		}
	})
}
