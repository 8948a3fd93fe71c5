package redact

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// minEncoded is the shortest secret that is looked for inside of base64 and
// hexadecimal: less is found everywhere.
const minEncoded = 8

// forms lists how the secrets may be written, longest first, so that no part of
// one is left over.
func forms(secrets []string) []string {
	var list []string
	for _, s := range secrets {
		if s == "" {
			continue
		}
		list = append(list, s, url.QueryEscape(s), url.PathEscape(s))
		if quoted, err := json.Marshal(s); err == nil { // a string always has JSON
			list = append(list, string(quoted[1:len(quoted)-1]))
		}
		if len(s) >= minEncoded {
			h := hex.EncodeToString([]byte(s))
			list = append(list, h, strings.ToUpper(h))
			list = append(list, base64Forms(s)...)
		}
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(list)
}

// base64Forms gives a secret in both alphabets: whole, and what of it is the same
// wherever it stands inside of a longer encoded text.
func base64Forms(s string) []string {
	var list []string
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		list = append(list, enc.EncodeToString([]byte(s)))
		for shift, from := range []int{0, 2, 3} { // the first characters hold bits of what stands before
			text := enc.WithPadding(base64.NoPadding).EncodeToString([]byte("\x00\x00"[:shift] + s))
			list = append(list, text[from:(shift+len(s))*8/6])
		}
	}
	return list
}

// replaceKnown takes the forms out of a text.
func replaceKnown(s string, forms []string) string {
	for _, f := range forms {
		if len(f) <= len(s) && strings.Contains(s, f) {
			s = strings.ReplaceAll(s, f, known)
		}
	}
	return s
}

// known stands where a secret was that the Redactor was told. It is short, so that
// a text does not grow much where a secret is one letter.
const known = "***"
