package plaintext_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/plaintext/plaintexttest"
)

func TestShowJSON(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{`{"a": 1}`, `{"a": 1}`},
		{"{\n\t\"a\": \"\u009b\u007f\"\r\n}\r", "{\n\t\"a\": \"\\u009b\\u007f\"\n}\n"},
		{"\"\u202e\"", `"\u202e"`},
		{"\"\u3164\u00a0\"", `"\u3164\u00a0"`},
		{"\"\U000e0041\"", `"\udb40\udc41"`},
		{"\"\xff\"", `"\ufffd"`},
		{"\"\ufffd漢❤\ufe0f\"", "\"\ufffd漢❤\ufe0f\""},
		{"\"\u20e0\"", `"\u20e0"`}, // it would enclose the quote
		{"no JSON\x1b\u2028", `no JSON\u001b\u2028`},
	} {
		if got := plaintext.ShowJSON(test.in); got != test.want {
			t.Errorf("ShowJSON(%q) = %q, want %q", test.in, got, test.want)
		}
	}
	for _, text := range plaintexttest.Texts {
		in, err := json.Marshal(text.In)
		if err != nil {
			t.Fatal(err)
		}
		var want, got string
		shown := plaintext.ShowJSON(string(in))
		if err := json.Unmarshal(in, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(shown), &got); err != nil || got != want || len(shown) > 6*len(in) {
			t.Errorf("%s: %s is shown as %s (%v)", text.Name, in, shown, err)
		}
		if r, found := plaintext.FirstDangerous(shown); found || strings.ContainsRune(shown, '\n') {
			t.Errorf("%s: %U is in %s", text.Name, r, shown)
		}
	}
}
