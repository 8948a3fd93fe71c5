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

// Known stands where a secret was that somebody told. It is short, so that a text does
// not grow much where a secret is one letter.
const Known = "***"

// minEncoded is the shortest secret that is looked for inside of base64 and
// hexadecimal: less is found everywhere.
const minEncoded = 8

// Written lists how a secret may be written: plain, as URLs and JSON write it, in
// hexadecimal, and as [Encoded] has it. It is in no order.
func Written(secret string) []string {
	if secret == "" {
		return nil
	}
	list := []string{secret, url.QueryEscape(secret), url.PathEscape(secret)}
	// A string always has JSON; the two spellings differ in whether < > & are escaped.
	if quoted, err := json.Marshal(secret); err == nil {
		inner := string(quoted[1 : len(quoted)-1])
		list = append(list, inner, strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(inner))
	}
	if len(secret) >= minEncoded {
		h := hex.EncodeToString([]byte(secret))
		list = append(list, h, strings.ToUpper(h))
	}
	return append(list, Encoded(secret)...)
}

// Encoded gives a secret in both alphabets of base64, whole, and the part that is the
// same wherever it stands in a longer encoded text: one for each of the three
// alignments. Of a secret of less than eight bytes it gives nothing.
func Encoded(secret string) []string {
	if len(secret) < minEncoded {
		return nil
	}
	var list []string
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		list = append(list, enc.EncodeToString([]byte(secret)), enc.WithPadding(base64.StdPadding).EncodeToString([]byte(secret)))
		for shift := range 3 {
			text := enc.EncodeToString([]byte("\x00\x00"[:shift] + secret))
			// The first characters hold bits of what stands before, the last one of what stands behind.
			from := []int{0, 2, 3}[shift]
			to := (shift + len(secret)) * 8 / 6
			list = append(list, text[from:to])
		}
	}
	return list
}

// Forms puts what [Written] and [Encoded] gave into the order that [Replace] wants:
// longest first, so that no part of a secret is left over.
func Forms(list []string) []string {
	list = slices.DeleteFunc(list, func(f string) bool { return f == "" })
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(list)
}

// Replace puts [Known] where a text has one of the forms.
func Replace(text string, forms []string) string {
	for _, f := range forms {
		if len(f) <= len(text) && strings.Contains(text, f) {
			text = strings.ReplaceAll(text, f, Known)
		}
	}
	return text
}
