package egress

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
)

// redacted stands where a secret was.
const redacted = "***"

// Redact replaces secrets in a text by "***": the value, alone and with its prefix, plain, as JSON, URL, hexadecimal and
// base64 write it, and where the secret is HTTP Basic's, what it encodes. It is for servers that send back what they
// got, such as error pages and debug endpoints. A server that is on the plugin's side can write a secret in ways that
// nobody recognises; against that only the list of hosts helps.
func Redact(text string, secrets map[string]Secret) string {
	return redactForms(text, forms(secrets))
}

func redactForms(text string, forms []string) string {
	for _, f := range forms {
		if strings.Contains(text, f) {
			text = strings.ReplaceAll(text, f, redacted)
		}
	}
	return text
}

// redact removes secrets from a response.
func (r *Response) redact(secrets map[string]Secret) {
	list := forms(secrets)
	if len(list) == 0 {
		return
	}
	r.URL = redactForms(r.URL, list)
	for name, value := range r.Headers {
		r.Headers[name] = redactForms(value, list)
	}
	body := string(r.Body)
	if clean := redactForms(body, list); clean != body {
		r.Body = []byte(clean)
	}
}

// redactError removes secrets that a server put into the address of a redirect.
func redactError(err error, secrets map[string]Secret) error {
	if e, ok := errors.AsType[*Error](err); ok {
		cause := e.cause
		if cause != nil {
			cause = redactError(cause, secrets)
		}
		return &Error{Kind: e.Kind, Detail: Redact(e.Detail, secrets), cause: cause}
	}
	return err
}

// minEncoded is the shortest value that is looked for inside base64: less is found everywhere.
const minEncoded = 8

// forms lists the ways in which the secrets may be written, longest first, so that no part of one is left over.
func forms(secrets map[string]Secret) []string {
	var list []string
	for _, s := range secrets {
		if s.Value == "" {
			continue
		}
		list = append(list, written(s.Value)...)
		if s.Prefix != "" {
			list = append(list, base64All(s.Prefix+s.Value)...)
		}
		list = append(list, basic(s)...)
	}
	list = slices.DeleteFunc(list, func(f string) bool { return f == "" })
	slices.SortFunc(list, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	return slices.Compact(list)
}

func written(v string) []string {
	list := []string{v, url.QueryEscape(v), url.PathEscape(v)}
	// A string always has JSON; the two spellings differ in whether < > & are escaped.
	if quoted, err := json.Marshal(v); err == nil {
		inner := string(quoted[1 : len(quoted)-1])
		list = append(list, inner, strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(inner))
	}
	if len(v) >= minEncoded {
		h := hex.EncodeToString([]byte(v))
		list = append(list, h, strings.ToUpper(h))
	}
	return append(list, base64All(v)...)
}

// base64All gives the value in both alphabets of base64, whole, and the part that is the same wherever it stands in a
// longer encoded text: one for each of the three alignments.
func base64All(v string) []string {
	if len(v) < minEncoded {
		return nil
	}
	var list []string
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		list = append(list, enc.EncodeToString([]byte(v)), enc.WithPadding(base64.StdPadding).EncodeToString([]byte(v)))
		for shift := range 3 {
			text := enc.EncodeToString([]byte("\x00\x00"[:shift] + v))
			// The first characters hold bits of what stands before, the last one of what stands behind.
			from := []int{0, 2, 3}[shift]
			to := (shift + len(v)) * 8 / 6
			list = append(list, text[from:to])
		}
	}
	return list
}

// basic gives user:password and the password of a secret that is the credentials of HTTP Basic.
func basic(s Secret) []string {
	if !strings.EqualFold(strings.TrimSpace(s.Prefix), "basic") {
		return nil
	}
	plain, err := base64.StdEncoding.DecodeString(s.Value)
	if err != nil {
		return nil
	}
	_, password, _ := strings.Cut(string(plain), ":")
	list := []string{string(plain)}
	if password != "" {
		list = append(list, written(password)...)
	}
	return list
}
