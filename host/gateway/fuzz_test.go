package gateway

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// FuzzCheckMessage wants that what is let through is to the SDK what it is to the
// checks: the same method, a call or not.
func FuzzCheckMessage(f *testing.F) {
	for _, text := range badMessages {
		f.Add([]byte(text))
	}
	f.Add([]byte(initialize))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := checkMessage(text)
		if err != nil {
			if !errors.Is(err, ErrMessage) {
				t.Errorf("%v is no ErrMessage", err)
			}
			return
		}
		msg, err := jsonrpc.DecodeMessage(text)
		if err != nil {
			return // the SDK may be stricter
		}
		req, ok := msg.(*jsonrpc.Request)
		if ok != (e.method != "") || ok && (req.Method != e.method || req.IsCall() != (e.id != nil)) {
			t.Errorf("%s is %+v to the SDK and %+v to the check", text, msg, e)
		}
	})
}

// FuzzRequestState wants that no state is taken but the one that was written.
func FuzzRequestState(f *testing.F) {
	s, c, state := sealed(f, "alice")
	f.Add("x.y")
	f.Fuzz(func(t *testing.T, text string) {
		c.state = text
		if _, err := s.openRound(c); text != "" && err == nil && text != state {
			t.Errorf("%q was taken", text)
		}
	})
}

// FuzzDecision wants that an approval is one that any strict reader sees.
func FuzzDecision(f *testing.F) {
	f.Add([]byte(`{"approved":true}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := readDecision(text)
		if err != nil || !d.Approved {
			return
		}
		var plain struct {
			Approved bool `json:"approved"`
		}
		if err := json.Unmarshal(text, &plain); err != nil || !plain.Approved || !bytes.Contains(text, []byte("true")) {
			t.Errorf("%s approves", text)
		}
	})
}

// FuzzQuestion wants that a person sees all that steers text, and no more than fits.
func FuzzQuestion(f *testing.F) {
	f.Add("tool", `{"a":1}`, "client")
	f.Fuzz(func(t *testing.T, tool, input, name string) {
		p := pending(tool, input, host.ApprovalAsk)
		text := questionText(p, Client{Name: name})
		if len(text) > 64<<10 || !utf8.ValidString(text) {
			t.Errorf("%d bytes", len(text))
		}
		for line := range strings.SplitSeq(text, "\n") {
			if r, found := plaintext.FirstDangerous(line); found || strings.ContainsRune(line, '\t') {
				t.Errorf("%U in %q", r, text)
			}
		}
		if utf8.RuneCountInString(input) <= maxShownArguments && strings.Count(text, "\n") > 5 {
			t.Errorf("the text has lines of its own: %q", text)
		}
	})
}

// FuzzClientTools wants that a capability of any form is tools or an error.
func FuzzClientTools(f *testing.F) {
	f.Add([]byte(`{"app":"editor","tools":[{"name":"pick","description":"d"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var v any
		if json.Unmarshal(text, &v) != nil {
			return
		}
		if tools, err := readClientTools(v); err == nil && len(tools) > MaxClientTools {
			t.Errorf("%d tools", len(tools))
		}
	})
}

// FuzzReadLine wants lines within their bound, and all of them.
func FuzzReadLine(f *testing.F) {
	f.Add([]byte("a\nbb\n\nccc"))
	f.Fuzz(func(t *testing.T, text []byte) {
		const limit = 32
		r := bufio.NewReaderSize(bytes.NewReader(text), 16)
		var want []string
		for _, l := range strings.SplitAfter(string(text), "\n") {
			if l != "" {
				want = append(want, l)
			}
		}
		for i := 0; ; i++ {
			line, err := readLine(r, limit)
			switch {
			case errors.Is(err, errLong):
				if i >= len(want) || len(want[i]) <= limit {
					t.Fatalf("line %d of %q is too long", i, text)
				}
			case err != nil:
				if i < len(want) && len(want[i]) <= limit {
					t.Fatalf("%v before line %d of %q", err, i, text)
				}
				return
			case i >= len(want) || string(line) != want[i] || len(line) > limit+1:
				t.Fatalf("line %d of %q is %q", i, text, line)
			}
		}
	})
}
