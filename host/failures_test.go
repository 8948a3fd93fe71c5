package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

func TestToolFailures(t *testing.T) {
	slow := hosttest.Stuck("stuck")
	slow.Timeout = time.Millisecond
	plugin := hosttest.Failing("plugin_fault", errors.New("open /etc/passwd: no"))
	plugin.Owner = "acme.demo"
	exits := hosttest.Echo("exits")
	exits.Call = func(context.Context, json.RawMessage) (json.RawMessage, error) { runtime.Goexit(); return nil, nil }
	r := setup(t, host.Options{
		MaxToolOutputBytes: 1000,
		Tools: []host.RawTool{
			slow, plugin, exits,
			hosttest.Panicking("panics", "secret in the panic: /etc/ssh/id"), hosttest.Panicking("panics_nil", nil), hosttest.Panicking("panics_error", fs.ErrExist),
			hosttest.Failing("fails", errors.New("no route to printer")), hosttest.Failing("fails_path", &fs.PathError{Op: "open", Path: "/etc/secret.txt", Err: fs.ErrNotExist}),
			hosttest.Failing("typed", &host.ToolError{Name: "RangeError", Message: "too far", Code: "too_far"}),
			hosttest.Failing("wrapped", fmt.Errorf("walking: %w", &host.ToolError{Message: "rain", Code: "rain"})),
			hosttest.Failing("bare", &host.ToolError{}),
			hosttest.Failing("long", &host.ToolError{Name: strings.Repeat("n", 5000), Message: strings.Repeat("é", 50_000), Code: host.ToolErrorCode(strings.Repeat("c", 5000))}),
			hosttest.Failing("not_utf8", &host.ToolError{Name: "\xff", Message: "a\xffb\x00", Code: "\xfe"}),
			hosttest.Static("large", `"`+strings.Repeat("x", 1000)+`"`), hosttest.Static("fits", `"`+strings.Repeat("x", 998)+`"`),
		},
	})
	for _, tt := range []struct{ tool, name, code, message string }{
		{"stuck", "Error", "tool_timeout", "the tool cloister:core:stuck ran out of time"},
		{"plugin_fault", "Error", "tool_failed", "the tool cloister:acme.demo:plugin_fault failed"},
		{"panics", "Error", "tool_failed", "the tool cloister:core:panics failed inside"},
		{"panics_nil", "Error", "tool_failed", "the tool cloister:core:panics_nil failed inside"},
		{"panics_error", "Error", "tool_failed", "the tool cloister:core:panics_error failed inside"},
		{"fails", "Error", "tool_failed", "no route to printer"},
		{"fails_path", "Error", "tool_failed", "open (path): file does not exist"},
		{"typed", "RangeError", "too_far", "too far"},
		{"wrapped", "Error", "rain", "rain"},
		{"bare", "Error", "tool_failed", ""},
		{"large", "Error", "tool_output_too_large", "the result of cloister:core:large has 1002 bytes, more than the 1000 that are allowed; ask for less"},
		{"not_utf8", "�", "�", "a�b\x00"},
	} {
		got := catch(t, r, "tools."+tt.tool+"()")
		if want := (thrown{Name: tt.name, Code: tt.code, Message: tt.message}); got.Name != want.Name || got.Code != want.Code || got.Message != want.Message {
			t.Errorf("%s: %+v, want %+v", tt.tool, got, want)
		}
	}
	if got := catch(t, r, "tools.fits()"); len(got.Worked) != 1000 {
		t.Errorf("fits: %+v", got)
	}
	if got := catch(t, r, "tools.long()"); len(got.Name) > 200 || len(got.Code) > 200 || len(got.Message) > 9000 || contains(got.Message, "�") {
		t.Errorf("long: %d, %d, %d bytes", len(got.Name), len(got.Code), len(got.Message))
	}
	t.Run("a goroutine that exits", func(t *testing.T) {
		if got := catch(t, r, "tools.exits()"); got.Code != "tool_failed" {
			t.Errorf("%+v", got)
		}
	})
	wantValue(t, exec(t, r, `
		const e = await tools.typed().catch((e) => e);
		return [e instanceof Error, e.stack, Object.keys(e), Object.getPrototypeOf(e) === Error.prototype];`), `[true, "", ["code"], true]`)
}

func TestHidePaths(t *testing.T) {
	for in, want := range map[string]string{
		"open /etc/passwd: no such file": "open (path): no such file",
		`open "/etc/passwd": no`:         `open "(path)": no`,
		"a / b and 1/2 and and/or":       "a / b and 1/2 and and/or",
		"https://example.com/a is down":  "https://example.com/a is down",
		`open C:\Users\me\x: denied`:     "open (path): denied",
		"nothing":                        "nothing",
	} {
		if got := host.HidePaths(in); got != want {
			t.Errorf("hidePaths(%q) = %q, want %q", in, got, want)
		}
	}
	for _, in := range []string{
		"/secret/dir", "open\t/secret/dir", "first line\n/secret/dir", "path=/secret/dir", "[/secret/dir]", "file:///secret/dir", "{\"path\":\"/secret/dir\"}",
		"<nil>:/secret/dir", "/a:/secret/dir", "'/secret/dir'", "`/secret/dir`", "-f/secret/dir", "~/secret/dir", "../secret/dir", "./secret/dir", "x,/secret/dir",
		`C:\secret\dir`, `C:/secret/dir`, `\\server\secret\dir`, `path=C:\secret\dir`, "(/secret/dir)", "open /x/secret/dir /y/secret/dir", "@/secret/dir", "“/secret/dir”",
		"/my docs/secret/dir",
	} {
		if got := host.HidePaths(in); strings.Contains(got, "secret") {
			t.Errorf("hidePaths(%q) = %q", in, got)
		}
	}
}

func TestUnawaitedFailureFailsTheRun(t *testing.T) {
	r := setup(t, host.Options{Tools: []host.RawTool{hosttest.Failing("fail", &host.ToolError{Message: "lost", Code: "lost"}), hosttest.Echo("echo")}})
	for code, reason := range map[string]guestabi.Reason{
		"tools.fail(); return 'fine'":                                                           guestabi.ReasonNestedToolFailed,
		"tools.fail().then(() => 0); return 'fine'":                                             guestabi.ReasonNestedToolFailed,
		"tools.fail().finally(() => 0); return 'fine'":                                          guestabi.ReasonNestedToolFailed,
		"(async () => { await tools.fail() })(); return 'fine'":                                 guestabi.ReasonNestedToolFailed,
		"Promise.all([tools.fail(), tools.echo({})]); return 'fine'":                            guestabi.ReasonNestedToolFailed,
		"Promise.reject(new Error('mine')); return 'fine'":                                      guestabi.ReasonGuestError,
		"Promise.reject(); return 'fine'":                                                       guestabi.ReasonGuestError,
		"tools.echo({}).then(() => { throw new Error('late') }); return 'fine'":                 guestabi.ReasonGuestError,
		"tools.call('cloister:core:nope'); return 'fine'":                                       guestabi.ReasonNestedToolFailed,
		"queueMicrotask(() => { throw new Error('job') }); await tools.echo({}); return 'fine'": guestabi.ReasonGuestError,
	} {
		res := exec(t, r, code)
		if res.Status != guestabi.StatusFailed || res.Reason != reason {
			t.Errorf("%s: %s %s %s (%s), want %s", code, res.Status, res.Value, res.Error, res.Reason, reason)
		}
	}
	for _, code := range []string{
		"tools.fail().catch(() => 0); return 'fine'",
		"const p = tools.fail(); await tools.echo({}); await p.catch(() => 0); return 'fine'",
		"await Promise.allSettled([tools.fail(), tools.fail()]); return 'fine'",
		"const p = Promise.reject(1); await null; await null; p.catch(() => 0); return 'fine'",
		"const ps = Array.from({ length: 5000 }, () => Promise.reject(1)); await Promise.allSettled(ps); return 'fine'",
		"await Promise.any([tools.fail(), tools.echo({})]); return 'fine'",
		"await Promise.race([tools.echo({}), tools.fail().catch(() => 0)]); return 'fine'",
	} {
		wantValue(t, exec(t, r, code), `"fine"`)
	}
}

// TestFailureThatIsCaughtLater: between two waits a failure may lie uncaught.
func TestFailureThatIsCaughtLater(t *testing.T) {
	r := setup(t, host.Options{Tools: []host.RawTool{hosttest.Failing("fail", errors.New("lost"))}})
	res := exec(t, r, "const p = tools.fail(); await yield_control(); return await p.catch((e) => e.message)")
	wantWaiting(t, res, guestabi.WaitYield)
	wantValue(t, wait(t, r, res.CellID), `"lost"`)
	res = exec(t, r, "const p = tools.fail(); await yield_control(); return 'fine'")
	wantWaiting(t, res, guestabi.WaitYield)
	wantFailed(t, wait(t, r, res.CellID), guestabi.ReasonNestedToolFailed)
}
