package host_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
)

// answerOf gives what a model reads of an exec.
func answerOf(t *testing.T, r *host.Run, code string) string {
	t.Helper()
	args, err := json.Marshal(map[string]string{"code": code})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := r.Answer(t.Context(), host.ModelCall{Name: "exec", Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return string(answer.JSON)
}

// TestWrittenOutput: maxOutputBytes bounds the bytes that are written, whatever is in them, and nothing is written
// with escapes that only HTML needs.
func TestWrittenOutput(t *testing.T) {
	const limit = 4096
	r := setup(t, host.Options{CodeMode: host.CodeModeConfig{MaxOutputBytes: limit}})
	for _, text := range []string{"x", "<", "&", ">", `"`, `\\`, `\n`, `\x01`, `\u2028`, "é", "🙂", `\ud800`, "'"} {
		for _, form := range []string{"return '%s'.repeat(%d)", "text('%s'.repeat(%d)); return 1", "json('%s'.repeat(%d)); return 1", "console.log('%s'.repeat(%d)); return 1", "for (let i = 0; i < %[2]d; i++) text('%[1]s'); return 1"} {
			completed := 0
			for _, n := range []int{100, 340, 680, 1300, 2000, 4000, 5000} {
				code := fmt.Sprintf(form, strings.ReplaceAll(text, "'", `\'`), n)
				answer := answerOf(t, r, code)
				var written struct{ Value, Output json.RawMessage }
				if err := json.Unmarshal([]byte(answer), &written); err != nil {
					t.Fatal(err)
				}
				if n := len(written.Value) + len(written.Output); n > limit+len("[]") {
					t.Errorf("%s: value and output have %d bytes", code, n)
				}
				if strings.Contains(answer, `"completed"`) {
					completed++
				} else if !strings.Contains(answer, string(guestabi.ReasonOutputLimitExceeded)) {
					t.Errorf("%s: %.300s", code, answer)
				}
				if strings.Contains(answer, `\u003c`) || strings.Contains(answer, `\u0026`) || strings.Contains(answer, `\u003e`) {
					t.Errorf("%s: escapes for HTML", code)
				}
			}
			if completed == 7 && !strings.HasPrefix(form, "return") {
				t.Errorf("%s of %s: nothing was over the cap", form, text)
			}
			if completed == 0 && form[0] != 'f' {
				t.Errorf("%s of %s: nothing was within the cap", form, text)
			}
		}
	}
}

// TestOverflowEndsTheCell: a program over its cap does not go on, also one that catches what it can.
func TestOverflowEndsTheCell(t *testing.T) {
	r := setup(t, host.Options{CodeMode: host.CodeModeConfig{TimeoutMs: 500}})
	for _, code := range []string{
		"for (;;) console.log('x'.repeat(100))",
		"for (;;) { try { text('x'.repeat(100)) } catch {} }",
		"for (;;) { try { json('x'.repeat(100)) } finally { continue } }",
		"await tools.echo({}); for (;;) console.log('x'.repeat(100))",
	} {
		res, _ := waitToEnd(t, r, exec(t, r, code), 0)
		wantFailed(t, res, guestabi.ReasonOutputLimitExceeded)
		if res.Code != guestabi.CodeOutputLimitExceeded || len(res.Output) == 0 {
			t.Errorf("%s: code %s, %d items", code, res.Code, len(res.Output))
		}
	}
}

// TestEmptyTextHasItsMember: the union {type: "text", text: string} holds for empty texts.
func TestEmptyTextHasItsMember(t *testing.T) {
	answer := answerOf(t, setup(t, host.Options{}), `text(""); console.log(); json(null); return ""`)
	for _, want := range []string{`{"type":"text","text":""}`, `{"type":"text","text":"","level":"log"}`, `{"type":"json","value":null}`} {
		if !strings.Contains(answer, want) {
			t.Errorf("no %s in %s", want, answer)
		}
	}
}

// TestTimeoutKeepsOutput: what a program put out before it ran out of time is there, with the line where it was.
func TestTimeoutKeepsOutput(t *testing.T) {
	r := setup(t, host.Options{CodeMode: host.CodeModeConfig{TimeoutMs: 300}})
	for code, line := range map[string]int{
		"console.log('before');\nlet n = 0;\nfor (;;) n++":                                     3,
		"text('before');\n\n\nwhile (true) { Math.max(1) }":                                    4,
		"console.log('before');\nfunction f(n) {\n  while (true) n = Math.min(n, 1);\n}\nf(1)": 3,
		"await tools.echo({});\nconsole.log('before');\nfor (;;);":                             3,
	} {
		res, _ := waitToEnd(t, r, exec(t, r, code), 0)
		wantFailed(t, res, guestabi.ReasonTimeout)
		if got := texts(res); len(got) != 1 || got[0] != "before" || res.Line != line {
			t.Errorf("%s: output %q, line %d, want %d", code, got, res.Line, line)
		}
	}
}
