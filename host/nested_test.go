package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

// TestNestedFailureNamesItsTool: a failure that a program let pass says which tool it was, and where it was called if the
// program names the tool once; it does not guess.
func TestNestedFailureNamesItsTool(t *testing.T) {
	failing := func(name string) host.RawTool {
		return hosttest.Failing(name, &host.ToolError{Message: "rate limit exceeded", Code: "limited"})
	}
	r := setup(t, host.Options{Tools: []host.RawTool{failing("first"), failing("second"), hosttest.Echo("echo")}})
	for code, want := range map[string]struct {
		from         string
		line, column int
	}{
		"const n = 1;\n  await tools.first({ n })":                                           {"cloister:core:first", 2, 9},
		"await tools.call('cloister:core:first', {})":                                        {"cloister:core:first", 1, 18},
		"await tools.first({}).catch(() => 0);\nawait tools.first({})":                       {"cloister:core:first", 0, 0},
		"await tools.first({}).catch(() => 0);\nawait tools.second({})":                      {"", 0, 0},
		"tools.second({});\nreturn 'fine'":                                                   {"cloister:core:second", 1, 1},
		"const f = tools['first'];\nawait f({})":                                             {"cloister:core:first", 1, 11},
		"let go; const p = new Promise((r) => { go = r }); tools.first().then(go);\nawait p": {"cloister:core:first", 1, 51},
	} {
		res := exec(t, r, code)
		wantFailed(t, res, guestabi.ReasonNestedToolFailed)
		named := strings.HasSuffix(res.Error, " (from "+want.from+")")
		if want.from == "" {
			named = !strings.Contains(res.Error, "(from")
		}
		if !named || res.Line != want.line || res.Column != want.column || res.Code != guestabi.CodeInvalidInput {
			t.Errorf("%s: %q at %d:%d, code %s", code, res.Error, res.Line, res.Column, res.Code)
		}
	}
	// What the program made of a failure is its own error.
	res := exec(t, r, "try { await tools.first({}) } catch (e) { throw new Error('gave up', { cause: e }) }")
	wantFailed(t, res, guestabi.ReasonGuestError)
	if !strings.Contains(res.Error, "gave up (cause: Error: rate limit exceeded") {
		t.Errorf("%q", res.Error)
	}
}

// TestRefusalIsNoInternalError: a person who says no is no fault of the host.
func TestRefusalIsNoInternalError(t *testing.T) {
	tool := hosttest.Echo("remove")
	tool.Approval = host.ApprovalAsk
	r := setup(t, host.Options{Tools: []host.RawTool{tool}, Approve: func(context.Context, *host.ToolCall) (host.Decision, error) {
		return host.Decision{Reason: "not today"}, nil
	}})
	res := exec(t, r, "return await tools.remove({})")
	wantFailed(t, res, guestabi.ReasonNestedToolFailed)
	if res.Code != guestabi.CodeInvalidInput || !strings.Contains(res.Error, "cloister:core:remove") || res.Line != 1 {
		t.Errorf("%q, code %s, line %d", res.Error, res.Code, res.Line)
	}
}
