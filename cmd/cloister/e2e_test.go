package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// planConfig is the configuration of the end-to-end plan. The servers are real ones
// from npm, run by node.
const planConfig = `{
  tools: {
    codeMode: { enabled: %[1]s, timeoutMs: 1000, snapshotTtlSeconds: 3, maxOutputBytes: 4096 },
    deny: ["uuid", "mcp:files:write_file"],
  },
  plugins: { dirs: [%[2]q], allowUnsignedUnsafe: true },
  mcp: { servers: {
    everything: { command: "node", args: [%[3]q, "stdio"] },
    files: { command: "node", args: [%[4]q, %[5]q] },
  } },
}
`

// gatewayUnderTest is a built binary that serves over stdio, and a client of it.
type gatewayUnderTest struct {
	t       *testing.T
	dir     string
	binary  string
	session *mcp.ClientSession
}

// serveBuilt starts the binary with the plan's configuration.
func (g *gatewayUnderTest) serveBuilt(codeMode string, lent map[string]any) {
	t := g.t
	t.Helper()
	engine := enginePath(t)
	repo := filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(engine)))))
	servers := filepath.Join(repo, "host", "mcp", "testdata", "servers", "node_modules", "@modelcontextprotocol")
	config := filepath.Join(g.dir, "cloister-"+codeMode+".json5")
	text := fmt.Sprintf(planConfig, codeMode, filepath.Join(repo, "examples", "plugins", "csvquery"), filepath.Join(servers, "server-everything", "dist", "index.js"),
		filepath.Join(servers, "server-filesystem", "dist", "index.js"), filepath.Join(g.dir, "files"))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(g.binary, "serve", "--config", config, "--trace", filepath.Join(g.dir, "trace-"+codeMode+".jsonl"))
	cmd.Env = append(os.Environ(), "CLOISTER_ENGINE="+engine, "CLOISTER_DATA_DIR="+filepath.Join(g.dir, "data"), "CLOISTER_CACHE_DIR="+filepath.Join(g.dir, "cache"))
	cmd.Dir = g.dir
	var stderr lockedText
	cmd.Stderr = &stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "plan", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{Experimental: lent}})
	for _, method := range []string{"cloister/resolve"} {
		if err := mcp.AddSendingCustomMethod[*resolveParams, *resolveResult](client, method); err != nil {
			t.Fatal(err)
		}
	}
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatalf("connecting: %v\n%s", err, stderr.String())
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("serve: %v", err)
		}
		if t.Failed() {
			t.Logf("standard error of serve:\n%s", stderr.String())
		}
	})
	g.session = session
}

// resolveParams are those of cloister/resolve.
type resolveParams struct {
	mcp.ParamsBase
	CallID string          `json:"callId"`
	Value  json.RawMessage `json:"value"`
}

type resolveResult struct{ mcp.ResultBase }

func (g *gatewayUnderTest) toolNames() []string {
	g.t.Helper()
	var names []string
	for tool, err := range g.session.Tools(g.t.Context(), nil) {
		if err != nil {
			g.t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return names
}

// cellResult is the union that exec and wait give.
type cellResult struct {
	Status  string          `json:"status"`
	Value   json.RawMessage `json:"value"`
	RunID   string          `json:"runId"`
	Reason  string          `json:"reason"`
	Error   string          `json:"error"`
	Pending []struct {
		ID, Method, Tool string
		Input            json.RawMessage
	} `json:"pendingToolCalls"`
	Output []struct{ Type, Text string } `json:"output"`
}

func (g *gatewayUnderTest) call(ctx context.Context, tool string, arguments map[string]any) (*cellResult, *mcp.CallToolResult, error) {
	res, err := g.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(res.StructuredContent)
	if err != nil {
		return nil, nil, err
	}
	var out cellResult
	return &out, res, json.Unmarshal(text, &out)
}

// exec runs a cell, and waits for calls, and for an engine that is not compiled yet, that take longer than a cell has:
// how long they take is up to the machine.
func (g *gatewayUnderTest) exec(code string) *cellResult {
	g.t.Helper()
	return g.settle(g.must("exec", map[string]any{"code": code}))
}

func (g *gatewayUnderTest) settle(res *cellResult) *cellResult {
	g.t.Helper()
	busy := func() bool {
		if len(res.Pending) == 0 {
			return res.Reason == "pending_tools" // the program itself is at work
		}
		return res.Pending[0].Method == "call"
	}
	for res.Status == "waiting" && busy() {
		res = g.must("wait", map[string]any{"runId": res.RunID})
	}
	return res
}

func (g *gatewayUnderTest) must(tool string, arguments map[string]any) *cellResult {
	g.t.Helper()
	res, _, err := g.call(g.t.Context(), tool, arguments)
	if err != nil {
		g.t.Fatal(err)
	}
	return res
}

func (g *gatewayUnderTest) want(step int, res *cellResult, value string) {
	g.t.Helper()
	if res.Status != "completed" {
		g.t.Fatalf("step %d: %s: %s (%s)", step, res.Status, res.Error, res.Reason)
	}
	var got, want any
	if err := json.Unmarshal(res.Value, &got); err != nil {
		g.t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(value), &want); err != nil {
		g.t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		g.t.Fatalf("step %d: value differs (-want +got):\n%s", step, diff)
	}
}

// TestPlan follows the 16 steps of the end-to-end plan with the built binary: a client
// that speaks MCP over stdio, a plugin, two real MCP servers, and a tool that the
// client lends.
func TestPlan(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program and starts node; the packages themselves run under the race detector")
	}
	g := &gatewayUnderTest{t: t, dir: t.TempDir()}
	g.binary = filepath.Join(g.dir, "cloister"+exeSuffix)
	if out, err := exec.Command("go", "build", "-o", g.binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Mkdir(filepath.Join(g.dir, "files"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(g.dir, "files", "note.txt"), []byte("a note\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	// Steps 1 to 3: without code mode a client sees the tools themselves.
	g.serveBuilt("false", nil)
	names := g.toolNames()
	for _, want := range []string{"clock_now", "examples--csv__csv_query", "files__read_text_file", "everything__echo", "everything__get-sum"} {
		if !slices.Contains(names, want) {
			t.Errorf("step 3: %s is not among %q", want, names)
		}
	}
	for _, not := range []string{"exec", "wait", "uuid", "files__write_file"} {
		if slices.Contains(names, not) {
			t.Errorf("step 3: the client sees %s", not)
		}
	}
	res, err := g.session.CallTool(t.Context(), &mcp.CallToolParams{Name: "everything__get-sum", Arguments: map[string]any{"a": 2, "b": 3}})
	if err != nil || res.IsError || !strings.Contains(contentText(res), "5") {
		t.Fatalf("step 3: %v, %s", err, contentText(res))
	}

	// Steps 4 to 6: with code mode exactly two.
	g.serveBuilt("true", map[string]any{"io.cloister/clientTools": map[string]any{"app": "editor", "tools": []any{
		map[string]any{"name": "select_file", "description": "Lets the user choose a file.", "inputSchema": map[string]any{"type": "object"}},
	}}})
	if names := g.toolNames(); !slices.Equal(names, []string{"exec", "wait"}) {
		t.Fatalf("step 6: the client sees %q", names)
	}

	// Step 7: ALL_TOOLS holds the effective tools of host, plugin and client.
	g.want(7, g.exec(`return ALL_TOOLS.map((x) => x.id);`), `["cloister:core:clock_now","cloister:core:hash_text","cloister:core:sleep",
		"cloister:examples.csv:csv_profile","cloister:examples.csv:csv_query","cloister:examples.csv:text_stats","client:editor:select_file"]`)

	// The first call compiles the plugin and starts the servers, which may take longer
	// than a cell has.
	if res := g.exec(`await tools.csv_query({ csv: "a\n1\n" }); await Promise.all([MCP.everything.echo({ message: "x" }), MCP.files.listAllowedDirectories()])`); res.Status != "completed" {
		t.Fatalf("warming up: %+v", res)
	}

	// Step 8: each of them by search, describe and call.
	waiting := g.exec(`
		const out = [];
		for (const [query, input] of [["digest of a text", { text: "a" }], ["query a csv", { csv: "a,b\n1,2\n", select: ["a"] }], ["choose a file", { kind: "text" }]]) {
			const [hit] = await tools.search(query, { limit: 1 });
			const full = await tools.describe(hit.id);
			const value = await tools.call(full.id, input).catch((e) => e.code);
			out.push([hit.id, full.parameters.type, typeof value]);
			if (hit.id.startsWith("client:")) out.push(value);
		}
		return out;`)
	if waiting.Status != "waiting" || len(waiting.Pending) != 1 || waiting.Pending[0].Tool != "client:editor:select_file" || waiting.Pending[0].Method != "client" {
		t.Fatalf("step 8: %+v", waiting)
	}
	if _, err := mcp.CallCustomMethod[*resolveParams, *resolveResult](t.Context(), g.session, "cloister/resolve",
		&resolveParams{CallID: waiting.Pending[0].ID, Value: json.RawMessage(`"notes.txt"`)}); err != nil {
		t.Fatal(err)
	}
	g.want(8, g.settle(g.must("wait", map[string]any{"runId": waiting.RunID})), `[["cloister:core:hash_text","object","object"],["cloister:examples.csv:csv_query","object","object"],
		["client:editor:select_file","object","string"],"notes.txt"]`)

	// Step 9: declarations of the servers.
	g.want(9, g.exec(`
		const files = (await API.list("mcp")).map((f) => f.path);
		const text = await API.read("mcp/files.d.ts");
		const every = await API.read("mcp/everything.d.ts");
		return [files, text.includes("function readTextFile(input: {"), text.includes("path: string"), every.includes("getSum"), text.includes("writeFile")];`),
		`[["mcp/everything.d.ts","mcp/files.d.ts","mcp/index.d.ts"],true,true,true,false]`)

	// Step 10: calls of the servers' tools, which are nowhere else.
	g.want(10, g.exec(fmt.Sprintf(`
		const [sum, file, missing] = await Promise.all([
			MCP.everything.getSum({ a: 20, b: 22 }), MCP.files.readTextFile({ path: %q }), MCP.files.readTextFile({ path: %q }).catch((e) => e.code)]);
		return [sum.content[0].text.includes("42"), file.content[0].text, missing,
			ALL_TOOLS.some((x) => x.source === "mcp"), Object.keys(tools).some((x) => /get.?sum|read.*file/i.test(x))];`,
		filepath.Join(g.dir, "files", "note.txt"), filepath.Join(g.dir, "files", "none.txt"))),
		`[true,"a note\n","mcp_tool_error",false,false]`)

	// Step 11: what is denied is absent, also by a guessed id.
	g.want(11, g.exec(`
		return [ALL_TOOLS.some((x) => x.name === "uuid"), await tools.call("cloister:core:uuid", {}).catch((e) => e.code),
			typeof MCP.files.writeFile, await tools.call("mcp:files:write_file", { path: "x", content: "y" }).catch((e) => e.code)];`),
		`[false,"unknown_tool","undefined","unknown_tool"]`)

	// Steps 12 to 14: a call that settles after exec has returned, and what is put out
	// after the restore.
	waiting = g.must("exec", map[string]any{"code": `text("before"); const r = await tools.sleep({ ms: 1400 }); text("after"); return r;`})
	if waiting.Status != "waiting" || waiting.Reason != "pending_tools" {
		t.Fatalf("step 12: %+v", waiting)
	}
	done := g.settle(g.must("wait", map[string]any{"runId": waiting.RunID}))
	g.want(13, done, `{"slept":1400}`)
	if len(done.Output) != 2 || done.Output[1].Text != "after" {
		t.Fatalf("step 14: output %+v", done.Output)
	}

	// Step 15: timeout, cancellation and expiry leave nothing behind.
	if res := g.exec(`for (;;);`); res.Status != "failed" || res.Reason != "timeout" {
		t.Fatalf("step 15: %+v", res)
	}
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan struct{})
	go func() { <-started; cancel() }()
	close(started)
	if _, _, err := g.call(ctx, "exec", map[string]any{"code": `await tools.sleep({ ms: 60000 })`}); err == nil {
		t.Fatal("step 15: a cancelled call gave a result")
	}
	waiting = g.exec(`await yield_control(); return 1;`)
	g.exec(`await tools.sleep({ ms: 3100 })`)
	if res := g.must("wait", map[string]any{"runId": waiting.RunID}); res.Status != "failed" || res.Reason != "snapshot_expired" {
		t.Fatalf("step 15: an expired run: %+v", res)
	}
	g.want(15, g.exec(`return 1 + 1;`), `2`)

	// Step 16: the trace shows nested calls under their exec.
	if err := g.session.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(g.binary, "trace", "show", "--json", filepath.Join(g.dir, "trace-true.jsonl")).Output()
	if err != nil {
		t.Fatal(err)
	}
	checkPlanTrace(t, out)
}

// checkPlanTrace wants each nested call under the exec that made it, and those of MCP
// servers marked.
func checkPlanTrace(t *testing.T, text []byte) {
	t.Helper()
	var tr struct {
		Runs []struct {
			Spans []struct {
				ID, Parent                    int
				Kind, Tool, Namespace, Status string
				Untrusted, Denied             bool
			}
		}
	}
	if err := json.Unmarshal(text, &tr); err != nil {
		t.Fatal(err)
	}
	nested, untrusted, denied := map[string]bool{}, map[string]bool{}, 0
	for _, r := range tr.Runs {
		kinds := map[int]string{}
		for _, s := range r.Spans {
			kinds[s.ID] = s.Kind
			if s.Kind == "call" && (kinds[s.Parent] == "exec" || kinds[s.Parent] == "wait") {
				nested[s.Tool] = true
				if s.Untrusted {
					untrusted[s.Tool] = true
				}
			}
			if s.Denied {
				denied++
			}
		}
	}
	for _, tool := range []string{"cloister:core:hash_text", "cloister:examples.csv:csv_query", "client:editor:select_file", "mcp:everything:get-sum", "mcp:files:read_text_file", "cloister:core:sleep"} {
		if !nested[tool] {
			t.Errorf("step 16: no nested call of %s; there are %v", tool, nested)
		}
		if untrusted[tool] != strings.HasPrefix(tool, "mcp:") {
			t.Errorf("step 16: %s is marked untrusted: %v", tool, untrusted[tool])
		}
	}
	if denied == 0 {
		t.Error("step 16: denials are not in the trace")
	}
}

func contentText(res *mcp.CallToolResult) string {
	if res == nil {
		return ""
	}
	var b strings.Builder
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

// lockedText is written by a process's standard error and read by a test.
type lockedText struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
