package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
)

func TestClientTools(t *testing.T) {
	type hookCall struct{ name, in, out, err string }
	var mu sync.Mutex
	var hooks []hookCall
	h := newHost(t, host.Options{
		MaxToolOutputBytes: 1000,
		Hooks: host.Hooks{AfterToolCall: func(_ context.Context, c *host.ToolCall, out json.RawMessage, err error) {
			mu.Lock()
			defer mu.Unlock()
			x := hookCall{name: c.Name, in: string(c.Input), out: string(out)}
			if err != nil {
				x.err = err.Error()
			}
			hooks = append(hooks, x)
		}},
	})
	tool := host.ClientTool{
		Name: "select_file", Description: "Let the user choose.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"dir":{"type":"string"}},"required":["dir"]}`),
		Returns:    json.RawMessage(`{"type":"string"}`),
	}
	r := newRun(t, h, host.RunOptions{ClientTools: []host.ClientTool{tool}})
	warm(t, r)
	res := exec(t, r, "return 'got ' + await tools.select_file({ dir: '/tmp' })")
	wantWaiting(t, res, guestabi.WaitPendingTools)
	if len(res.Pending) != 1 || res.Pending[0].Method != "client" || string(res.Pending[0].Input) != `{"dir":"/tmp"}` || res.Pending[0].Tool != "client:app:select_file" {
		t.Fatalf("pending %+v", res.Pending)
	}
	// Without a callback time changes nothing: the wait comes back at once.
	res = wait(t, r, res.CellID)
	wantWaiting(t, res, guestabi.WaitPendingTools)
	id := res.Pending[0].ID
	for _, bad := range []string{"", "7", `{"a":1}`, `"`, `"\ud800"`, `"` + strings.Repeat("x", 1000) + `"`, "null"} {
		var te *host.ToolError
		if err := r.Resolve(id, json.RawMessage(bad)); !errors.As(err, &te) {
			t.Errorf("Resolve(%.20s): %v", bad, err)
		}
	}
	for _, id := range []string{"", "x", id + "0", res.CellID} {
		if err := r.Resolve(id, json.RawMessage(`"a"`)); !errors.Is(err, host.ErrUnknownCall) {
			t.Errorf("Resolve of %q: %v", id, err)
		}
	}
	other := newRun(t, h, host.RunOptions{AgentRunID: "other", SessionID: "other"})
	if err := other.Resolve(id, json.RawMessage(`"stolen"`)); !errors.Is(err, host.ErrUnknownCall) {
		t.Errorf("Resolve by another run: %v", err)
	}
	if err := r.Resolve(id, json.RawMessage(`"a.txt"`)); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{r.Resolve(id, json.RawMessage(`"b.txt"`)), r.Reject(id, nil)} {
		if !errors.Is(err, host.ErrUnknownCall) {
			t.Errorf("settled twice: %v", err)
		}
	}
	wantValue(t, wait(t, r, res.CellID), `"got a.txt"`)

	res = exec(t, r, caught("tools.select_file({ dir: 'x' })"))
	wantWaiting(t, res, guestabi.WaitPendingTools)
	if err := r.Reject(res.Pending[0].ID, &host.ToolError{Name: "AbortError", Message: "closed the dialog", Code: "cancelled"}); err != nil {
		t.Fatal(err)
	}
	wantValue(t, wait(t, r, res.CellID), `{"name":"AbortError","code":"cancelled","message":"closed the dialog"}`)
	if x := catch(t, r, "tools.select_file({ dir: 7 })"); x.Code != "invalid_input" {
		t.Errorf("%+v", x)
	}
	if _, err := r.Call(t.Context(), "client:app:select_file", json.RawMessage(`{"dir":"x"}`)); err == nil {
		t.Error("Call ran a client tool")
	}
	want := []hookCall{
		{"select_file", `{"dir":"/tmp"}`, `"a.txt"`, ""},
		{"select_file", `{"dir":"x"}`, "", "closed the dialog (cancelled)"},
	}
	if len(hooks) < 2 || hooks[0] != want[0] || hooks[1] != want[1] {
		t.Errorf("hooks %+v", hooks)
	}
}

func TestClientToolsWithCallback(t *testing.T) {
	h := newHost(t, host.Options{})
	var r *host.Run
	var n atomic.Int32
	r = newRun(t, h, host.RunOptions{
		ClientTools: []host.ClientTool{{Name: "inc", Description: "Add one."}},
		OnClientCall: func(c host.PendingToolCall) {
			value := json.RawMessage(fmt.Sprint(n.Add(1)))
			if n.Load()%2 == 0 { // from the callback itself, and from elsewhere
				if err := r.Resolve(c.ID, value); err != nil {
					t.Error(err)
				}
				return
			}
			go func() {
				if err := r.Resolve(c.ID, value); err != nil {
					t.Error(err)
				}
			}()
		},
	})
	warm(t, r)
	wantValue(t, exec(t, r, "let s = 0; for (let i = 0; i < 10; i++) s += await tools.inc({}); return s"), "55")
}
