package redact

import (
	"slices"
	"strings"
)

// Mark stands where a secret was.
const Mark = "[redacted]"

// inName are words that make a member secret wherever they stand in its name, and
// atEnd are those that do so at its end: "max_tokens" and "token_count" are no
// secrets, "accessToken" is.
var (
	inName = []string{"password", "passwd", "passphrase", "secret", "apikey", "accesskey", "privatekey", "signingkey", "authorization", "credential", "cookie", "bearer"}
	atEnd  = []string{"token", "pwd", "jwt", "otp"}
	whole  = []string{"auth", "pass", "pin", "xauth", "tokens", "code_verifier", "codeverifier", "sessionkey"}
)

// Sensitive says whether the value of a member, a header or a variable with this
// name is a secret. Case, dashes, dots and underscores do not matter.
func Sensitive(name string) bool {
	if len(name) > maxName {
		name = name[len(name)-maxName:]
	}
	n := fold(name)
	return slices.Contains(whole, n) ||
		slices.ContainsFunc(inName, func(w string) bool { return strings.Contains(n, w) }) ||
		slices.ContainsFunc(atEnd, func(w string) bool { return strings.HasSuffix(n, w) })
}

// maxName bounds the names that are looked at; of longer ones it is the end.
const maxName = 200

// fold leaves letters and digits, in lower case. The two letters beyond ASCII that
// readers of JSON take for ASCII ones are taken for them here as well.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == 'ſ':
			return 's'
		case r == '\u212A': // the Kelvin sign
			return 'k'
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'ａ' && r <= 'ｚ': // full width
			return r - 'ａ' + 'a'
		case r >= 'Ａ' && r <= 'Ｚ':
			return r - 'Ａ' + 'a'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r > 127:
			return r
		}
		return -1
	}, name)
}

// names are members that name what the member "value" beside them holds, as in
// lists of headers and of environment variables.
var names = []string{"name", "key", "header", "variable", "field"}
