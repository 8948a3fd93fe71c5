package suggest

import (
	"strings"
	"testing"
)

func TestClosest(t *testing.T) {
	keys := []string{"codeMode", "allow", "deny", "sandbox", "alsoAllow"}
	for word, want := range map[string]string{
		"codemode": "codeMode", "code_mode": "codeMode", "alow": "allow", "dney": "deny", "sandbx": "sandbox", "zzzzzz": "", "": "",
		"alsoAlow": "alsoAllow", "code": "codeMode", "sa": "", strings.Repeat("a", 1000): "",
	} {
		if got := Closest(word, keys); got != want {
			t.Errorf("Closest(%q) = %q, want %q", word, got, want)
		}
	}
}
