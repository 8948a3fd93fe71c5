package safefile

import (
	"errors"
	"strings"
	"testing"
)

func TestReadLine(t *testing.T) {
	for _, test := range []struct{ in, want, wrong string }{
		{"secret", "secret", ""},
		{"secret\n", "secret", ""},
		{"secret\r\n", "secret", ""},
		{"12345678\r\n", "12345678", ""},
		{" a \n \n", " a ", ""},
		{"", "", "the first line is empty"},
		{"\nsecret", "", "the first line is empty"},
		{"one\ntwo", "", "there is more than one line"},
		{"123456789", "", "more than 8 bytes"},
		{strings.Repeat("x", 1<<20), "", "more than 8 bytes"},
	} {
		got, err := ReadLine(strings.NewReader(test.in), 8)
		wrong := ""
		if err != nil {
			wrong = err.Error()
		}
		if string(got) != test.want || wrong != test.wrong {
			t.Errorf("%.20q: %q, %q; want %q, %q", test.in, got, wrong, test.want, test.wrong)
		}
		if errors.Is(err, ErrMoreLines) != (wrong == ErrMoreLines.Error()) {
			t.Errorf("%.20q: %v is not ErrMoreLines", test.in, err)
		}
	}
}
