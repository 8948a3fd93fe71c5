package forms

import (
	"strings"
	"testing"
)

func TestForms(t *testing.T) {
	for _, test := range []struct {
		name      string
		check     func(string) string
		good, bad []string
	}{
		{"NotEmpty", NotEmpty, []string{" ", "a"}, []string{""}},
		{"Text", Text, []string{"", "a b\n"}, []string{"\x00", "a\x00b"}},
		{"PluginID", PluginID, []string{"acme.hello", "a1-b.c-2"}, []string{"", "acme", "Acme.hello", "acme.hello.more", "acme.-x", "acme.hello\n"}},
		{"ServerName", ServerName, []string{"a", "A_1.b-c", strings.Repeat("a", 64)}, []string{"", "core", ".a", "a b", "a:b", strings.Repeat("a", 65), "a\n"}},
		{"TokenName", TokenName, []string{"ann", "ann@example.org"}, []string{"", "@a", "a b", strings.Repeat("a", 65), "a\n"}},
		{"Variable", Variable, []string{"A", "_x1"}, []string{"", "1A", "A-B", "A=B", "A\n"}},
		{"Header", Header, []string{"Authorization", "X-A_b"}, []string{"", "A B", "A:", "Ä", "A\r\nB", strings.Repeat("a", 129)}},
		{"Address", Address, []string{"127.0.0.1:7420", "[::1]:0", ":80"}, []string{"", "127.0.0.1", "::1"}},
		{"Origin", Origin, []string{"https://app.example", "http://localhost:80/"}, []string{"", "app.example", "ftp://x", "https://x/path", "https://u@x", "https://"}},
		{"Approval", Approval, []string{"never", "ask", "always"}, []string{"", "Never", "sometimes"}},
		{"Rule", Rule, []string{"core", "mcp:a:*", "*"}, []string{"", "a b", strings.Repeat("a", 10_000)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, s := range test.good {
				if wrong := test.check(s); wrong != "" {
					t.Errorf("%q: %s", s, wrong)
				}
			}
			for _, s := range test.bad {
				if test.check(s) == "" {
					t.Errorf("%q is taken", s)
				}
			}
		})
	}
}
