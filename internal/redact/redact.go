package redact

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// MaxInput is how many bytes of a text or a document are looked at.
const MaxInput = 1 << 20

// Redactor takes secrets out of texts. It is safe for concurrent use; the zero
// value knows no secrets but finds what looks like one.
type Redactor struct {
	forms  []string // of the secrets that it knows, longest first
	pieces bool
	look   int // how many bytes are looked at; 0 is MaxInput
}

// New makes a Redactor that knows some secrets. Empty ones are ignored.
func New(secrets ...string) *Redactor {
	var written []string
	for _, s := range secrets {
		written = append(written, Written(s)...)
	}
	return &Redactor{forms: Forms(written)}
}

// Pieces gives a Redactor that also hides the members in which streams of model
// providers send arguments in pieces, since no secret can be recognised there.
func (r *Redactor) Pieces() *Redactor {
	c := *r
	c.pieces = true
	return &c
}

// Looking gives a Redactor that looks at n bytes of what it is given, for texts of
// which little is shown.
func (r *Redactor) Looking(n int) *Redactor {
	c := *r
	c.look = min(n, MaxInput)
	return &c
}

// input is how many bytes are looked at.
func (r *Redactor) input() int {
	if r.look > 0 {
		return r.look
	}
	return MaxInput
}

// Text takes secrets out of plain text, and replaces control characters. It gives
// at most limit bytes and a note of what was cut.
func (r *Redactor) Text(s string, limit int) string {
	in := s
	if n := r.input(); len(in) > n {
		// What is cut in the middle may be a secret that is not recognised any more.
		in = in[:max(0, n-r.margin())]
	}
	return cut(plaintext.Lines(r.text(in), plaintext.Whole), limit, len(s)-len(in))
}

// margin is the length of the longest thing that has to be seen as a whole.
func (r *Redactor) margin() int {
	n := 256
	if len(r.forms) > 0 {
		n = max(n, len(r.forms[0]))
	}
	return n
}

// JSON gives a document without secrets, without white space, and at most limit
// bytes of it with a note of what was cut. What is no JSON is handled as text.
func (r *Redactor) JSON(data []byte, limit int) string {
	head := data
	if n := r.input(); len(head) > n {
		head = head[:n]
	}
	if !looksLikeJSON(string(head)) {
		return r.Text(string(data), limit)
	}
	w := walker{r: r, in: head}
	if !w.run() {
		w.end()
		return cut(string(w.out), limit, len(data)-w.at)
	}
	return cut(string(w.out), limit, 0)
}

// Header gives the names and values of a header, one a line, without secrets: the
// values of names that are secret, and those that look like one.
func (r *Redactor) Header(h http.Header) string {
	var b strings.Builder
	for name, values := range h {
		for _, v := range values {
			if Sensitive(name) {
				v = Mark
			}
			fmt.Fprintf(&b, "%s: %s\n", name, v)
		}
	}
	return r.Text(b.String(), MaxInput)
}

// cut bounds a text that has no secrets any more. left is what was never looked at.
func cut(s string, limit, left int) string {
	head := plaintext.Head(s, limit)
	left += len(s) - len(head)
	if left > 0 {
		head += fmt.Sprintf("… %d bytes left out", left)
	}
	return head
}
