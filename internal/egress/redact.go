package egress

import (
	"errors"

	"github.com/cloister-wasm/cloister/internal/redact"
)

// Redact replaces secrets in a text by "***": the value, alone and with its prefix, plain, as JSON, URL, hexadecimal and
// base64 write it, and where the secret is HTTP Basic's, what it encodes. It is for servers that send back what they
// got, such as error pages and debug endpoints. A server that is on the plugin's side can write a secret in ways that
// nobody recognises; against that only the list of hosts helps.
func Redact(text string, secrets map[string]Secret) string {
	return redact.Replace(text, forms(secrets))
}

// redact removes secrets from a response.
func (r *Response) redact(secrets map[string]Secret) {
	list := forms(secrets)
	if len(list) == 0 {
		return
	}
	r.URL = redact.Replace(r.URL, list)
	for name, value := range r.Headers {
		r.Headers[name] = redact.Replace(value, list)
	}
	body := string(r.Body)
	if clean := redact.Replace(body, list); clean != body {
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

// forms lists the ways in which the secrets may be written, longest first, so that no part of one is left over.
func forms(secrets map[string]Secret) []string {
	var list []string
	for _, s := range secrets {
		if s.Value == "" {
			continue
		}
		list = append(list, redact.Written(s.Value)...)
		if s.Prefix != "" {
			list = append(list, redact.Encoded(s.Prefix+s.Value)...)
		}
		list = append(list, basic(s)...)
	}
	return redact.Forms(list)
}

// basic gives the credentials of HTTP Basic in a secret, and the part of them that is one.
func basic(s Secret) []string {
	plain, part := s.credentials()
	if part == "" {
		return nil
	}
	return append(redact.Written(part), plain)
}
