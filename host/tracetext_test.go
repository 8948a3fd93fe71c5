package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
	"github.com/cloister-wasm/cloister/plugins"
)

// allEvents are the names that a trace can have.
var allEvents = []host.EventName{
	host.EventExecStart, host.EventExecEnd, host.EventWaitStart, host.EventWaitEnd, host.EventCallStart, host.EventCallEnd, host.EventCallsMore, host.EventCallDenied,
	host.EventApprovalAsked, host.EventApprovalDecided, host.EventSearch, host.EventDescribe, host.EventSuspend, host.EventResume, host.EventExpire, host.EventAbort,
	host.EventNamespaceRefused,
}

// TestNoTextOfACellInTraces puts a text of its choice into everything that a cell can say: ids, queries, arguments, errors, output,
// names. No event of any name has it: traces go to places that inputs do not go to.
func TestNoTextOfACellInTraces(t *testing.T) {
	const canary = "canary7f3a"
	var trace hosttest.Trace
	clock := hosttest.NewClock(epoch)
	careful := hosttest.Echo("careful")
	careful.Approval = host.ApprovalAsk
	refuses := host.RawTool{Name: "refuses", Description: "Fails with what it is given.", Parameters: json.RawMessage(`{"type":"object"}`),
		Call: func(_ context.Context, input json.RawMessage) (json.RawMessage, error) {
			return nil, &host.ToolError{Name: "Odd", Message: string(input), Code: "tool_failed"}
		}}
	typed := hosttest.Echo("typed")
	typed.Parameters = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}`)
	server := &memoryServer{result: host.MCPResult{Structured: json.RawMessage(`{"number":7}`)}}
	p, err := tryPlugin(t, maliceWasm, malicious(object{"namespaces": []object{
		{"id": "hostile", "globalName": "Hostile", "description": "d", "requiredToolNames": []string{"steal"}, "scopeExport": true},
		{"id": "fine", "globalName": "Fine", "description": "d", "requiredToolNames": []string{"steal"}, "scope": object{"get": object{"$tool": "steal", "args": []string{"key"}}}},
	}}, "steal"), plugins.LoadOptions{Services: plugins.Services{Config: func(_, key string) (json.RawMessage, bool) {
		return json.RawMessage(`{"bad.key":1}`), key == "scope"
	}}})
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t, host.Options{
		Trace: &trace, Now: clock.Now, Snapshots: hosttest.NewStore(), MaxCalls: 60, Plugins: []*plugins.Plugin{p}, MCP: []host.MCPServer{trackerServer(server)},
		Tools: []host.RawTool{hosttest.Echo("echo"), hosttest.Echo("hidden"), careful, refuses, typed}, Deny: []string{"hidden"},
		Approve: func(_ context.Context, c *host.ToolCall) (host.Decision, error) {
			if strings.Contains(string(c.Input), "no") {
				return host.Decision{Reason: string(c.Input)}, nil
			}
			return host.Decision{Approved: true, Extent: host.ApproveOnce, By: "operator"}, nil
		},
		CodeMode: host.CodeModeConfig{SnapshotTTLSeconds: 60, TimeoutMs: 60_000},
	})
	r := newRun(t, h, host.RunOptions{})
	run := func(code string) *host.Result {
		t.Helper()
		res, _ := waitToEnd(t, r, exec(t, r, strings.ReplaceAll(code, "CANARY", canary)), 0)
		return res
	}
	res := run(`
		// CANARY
		const c = "CANARY", quiet = () => {};
		for (const id of [c, "cloister:core:" + c, "mcp:issue-tracker:" + c, "cloister:core:hidden", c + "\n".repeat(500)]) {
			await tools.call(id, { [c]: c }).catch(quiet);
			await tools.describe(id).catch(quiet);
		}
		await tools.call({ toString() { return c; } }, c).catch(quiet);
		await tools.describe(c, c).catch(quiet);
		await tools.search(c); await tools.search(c, { limit: c }).catch(quiet);
		for (const name of ["echo", "refuses", "careful"]) await tools[name]({ [c]: c }).catch(quiet);
		await tools.careful({ no: c }).catch(quiet);
		await tools.typed({ [c]: c }).catch(quiet); await tools.typed({ n: c }).catch(quiet);
		await tools[c]?.({}); 
		await MCP.issueTracker.$api(c).catch(quiet); await MCP.issueTracker.$api(c, { schema: true }).catch(quiet); await MCP.issueTracker.$api(c, c, c).catch(quiet);
		await MCP.issueTracker.$api("createIssue", { schema: true });
		await MCP.$search(c); await MCP.$search(c, { [c]: c }).catch(quiet);
		await MCP.issueTracker.createIssue({ title: c }); await MCP.issueTracker.createIssue({ [c]: c }).catch(quiet); await MCP.issueTracker.createIssue(c).catch(quiet);
		await MCP.issueTracker.resources.read({ uri: c }).catch(quiet); await MCP.issueTracker.prompts.get({ name: c, arguments: { topic: c } }).catch(quiet);
		await API.read(c).catch(quiet);
		await Fine.get(c); await Fine.get(c, c).catch(quiet); await (async () => Fine.get({ toJSON() { throw new Error(c); } }))().catch(quiet);
		text(c); json({ [c]: c }); console.log(c);
		return { [c]: c };`)
	if res.Status != guestabi.StatusCompleted {
		t.Fatalf("%s: %s", res.Status, res.Error)
	}
	run(`const e = new Error("CANARY"); e.name = "CANARY"; e.code = "CANARY"; throw e`)
	run(`CANARY CANARY`)
	run(`while (true) await tools.call("CANARY", {}).catch(() => {})`)

	// Suspended, restored, forgotten and aborted.
	hold := strings.ReplaceAll(`const c = "CANARY"; await yield_control(); await tools.echo({ c }); await yield_control(); return c`, "CANARY", canary)
	for range 2 {
		res = wait(t, r, exec(t, r, hold).CellID)
	}
	if err := r.Abort(res.CellID); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Hour)
	h.Sweep()

	seen := map[host.EventName]bool{}
	for _, e := range trace.Events() {
		seen[e.Event] = true
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.ToLower(fmt.Sprintf("%s %+v", text, e)), canary) {
			t.Errorf("a cell's text is in the trace: %s", text)
		}
	}
	for _, name := range allEvents {
		if !seen[name] {
			t.Errorf("the test has no event %s", name)
		}
	}
	for name := range seen {
		if !slices.Contains(allEvents, name) {
			t.Errorf("the event %s is new; add it here with what a cell can put into it", name)
		}
	}
	// What names a tool is still there, for ids that are known though they are hidden.
	var described, denied []string
	for _, e := range trace.Events(host.EventDescribe, host.EventCallDenied) {
		if e.Event == host.EventDescribe {
			described = append(described, e.Tool)
		} else {
			denied = append(denied, e.Tool)
		}
	}
	if !slices.Contains(described, "mcp:issue-tracker:create_issue") || !slices.Contains(described, "cloister:core:hidden") || !slices.Contains(denied, "cloister:core:hidden") {
		t.Errorf("described %q, denied %q", described, denied)
	}
}
