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

func TestDistance(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"issue", "issue", 0}, {"isue", "issue", 1}, {"emial", "email", 1}, {"calender", "calendar", 1},
		{"kuberntes", "kubernetes", 1}, {"repositry", "repository", 1}, {"forcast", "forecast", 1}, {"kitten", "sitting", 3}, {"abc", "xyz", 3}, {"ca", "abc", 3},
	}
	for _, test := range tests {
		if got := Distance(test.a, test.b, 3); got != test.want {
			t.Errorf("%s to %s is %d, want %d", test.a, test.b, got, test.want)
		}
		if got := Distance(test.b, test.a, 3); got != test.want {
			t.Errorf("%s to %s is %d, want %d", test.b, test.a, got, test.want)
		}
	}
	if got := Distance("aaaaaaaa", "bbbbbbbb", 2); got != 3 {
		t.Errorf("beyond the bound it is %d, want 3", got)
	}
	if got := Distance(strings.Repeat("a", MaxWord+1), "a", 2); got != 3 {
		t.Errorf("for a word that is too long it is %d, want 3", got)
	}
}
