package gateway

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
	"github.com/cloister-wasm/cloister/internal/waittest"
)

// rig is a gateway with what is behind it.
type rig struct {
	*Gateway
	host  *host.Host
	queue *host.ApprovalQueue
	gate  *hosttest.Gate
	calls *hosttest.Log
}

// hosts are shared: a host with code mode loads the engine once, and tests see
// nothing of each other since each session has ids of its own.
var hosts struct {
	sync.Mutex
	made map[bool]*rig
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, r := range hosts.made {
		if err := r.host.Close(); err != nil {
			println("closing a host: " + err.Error())
			code = 1
		}
	}
	os.Exit(code)
}

// testTools are the tools of the shared hosts.
func testTools(gate *hosttest.Gate, calls *hosttest.Log) []host.RawTool {
	danger := hosttest.Echo("danger")
	danger.Approval = host.ApprovalAsk
	always := hosttest.Echo("always")
	always.Approval = host.ApprovalAlways
	return []host.RawTool{
		hosttest.Echo("echo"), gate.Tool(), calls.Tool(danger), calls.Tool(always), hosttest.Stuck("stuck"),
		hosttest.Failing("failing", &host.ToolError{Message: "it broke", Code: "broke"}),
		{Name: "report", Description: "Report progress.", Call: func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			host.ReportProgress(ctx, "half\x1b[31m done")
			return json.RawMessage(`"ok"`), nil
		}},
	}
}

// newRig makes a gateway over the shared host with or without code mode.
func newRig(t testing.TB, codeMode bool, o Options) *rig {
	t.Helper()
	hosts.Lock()
	defer hosts.Unlock()
	base := hosts.made[codeMode]
	if base == nil {
		base = &rig{queue: host.NewApprovalQueue(), gate: hosttest.NewGate("gate"), calls: &hosttest.Log{}}
		var err error
		base.host, err = host.New(t.Context(), &host.Options{
			CodeMode: host.CodeModeConfig{Enabled: codeMode, TimeoutMs: 60_000}, Tools: testTools(base.gate, base.calls), Approve: base.queue.Approve,
		})
		if err != nil {
			t.Fatal(err)
		}
		if hosts.made == nil {
			hosts.made = map[bool]*rig{}
		}
		hosts.made[codeMode] = base
	}
	r := *base
	o.Host, o.Approvals = r.host, r.queue
	return r.with(t, o)
}

// with makes the rig's gateway.
func (r rig) with(t testing.TB, o Options) *rig {
	t.Helper()
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	r.Gateway = g
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := g.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return &r
}

// stopClock makes the gateway's time stand still. It is to be called before the
// gateway is used.
func (r *rig) stopClock() *hosttest.Clock {
	clock := hosttest.NewClock(time.Now())
	r.now = clock.Now
	return clock
}

// quiet says that no request of any session is open, event streams included.
func (r *rig) quiet() bool {
	for _, s := range r.all() {
		s.mu.Lock()
		open := s.open + s.requests
		s.mu.Unlock()
		if open > 0 {
			return false
		}
	}
	return true
}

const (
	aliceToken   = "alice-token-0123456789"
	bobToken     = "bob-token-0123456789"
	decideToken  = "decide-token-0123456789"
	oldProtocol  = newestHandshake
	newProtocol  = statelessProtocol
	goneDeadline = 30 * time.Second
)

var testHTTP = HTTPOptions{Tokens: map[string]string{"alice": aliceToken, "bob": bobToken}, ApprovalTokens: map[string]string{"operator": decideToken}}

// web serves a gateway on loopback.
func (r *rig) web(t testing.TB, o HTTPOptions) *httptest.Server {
	t.Helper()
	h, err := r.Handler(o)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

// bearerTransport sends a token with each request.
type bearerTransport struct{ token string }

func (b bearerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// transports are the ways of a client to a gateway.
var transports = map[string]func(t testing.TB, r *rig) mcp.Transport{
	"memory": func(t testing.TB, r *rig) mcp.Transport {
		ours, theirs := mcp.NewInMemoryTransports()
		serving(t, func(ctx context.Context) error { return r.serve(ctx, ours) })
		return theirs
	},
	"stdio": func(t testing.TB, r *rig) mcp.Transport {
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		serving(t, func(ctx context.Context) error { return r.ServeStdio(ctx, in, out) })
		return &mcp.IOTransport{Reader: fromServer, Writer: toServer}
	},
	"http": func(t testing.TB, r *rig) mcp.Transport {
		return httpTransport(r.web(t, testHTTP), aliceToken)
	},
}

func httpTransport(srv *httptest.Server, token string) mcp.Transport {
	return &mcp.StreamableClientTransport{Endpoint: srv.URL + "/mcp", HTTPClient: &http.Client{Transport: bearerTransport{token}}, MaxRetries: -1}
}

// serving runs a server until the test ends.
func serving(t testing.TB, serve func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := serve(ctx); err != nil && ctx.Err() == nil {
			t.Errorf("serving: %v", err)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}

// dial connects a client of the SDK.
func dial(t testing.TB, transport mcp.Transport, version string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, o)
	cs, err := c.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	t.Cleanup(func() { _ = cs.Close() }) // some tests have closed it
	return cs
}

// everyWay runs a test over all transports with both protocols.
func everyWay(t *testing.T, f func(t *testing.T, r func(codeMode bool, o Options) *rig, connect func(*rig, *mcp.ClientOptions) *mcp.ClientSession, version string)) {
	for name, way := range transports {
		for _, version := range []string{oldProtocol, newProtocol} {
			t.Run(name+"/"+version, func(t *testing.T) {
				t.Parallel()
				f(t, func(codeMode bool, o Options) *rig { return newRig(t, codeMode, o) }, func(r *rig, o *mcp.ClientOptions) *mcp.ClientSession {
					return dial(t, way(t, r), version, o)
				}, version)
			})
		}
	}
}

// callArgs calls a tool.
func callArgs(t testing.TB, cs *mcp.ClientSession, name string, args map[string]any) *mcp.CallToolResult {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("calling %s: %v", name, err)
	}
	return res
}

// result is the JSON of a host.Result.
type result struct {
	Status  string `json:"status"`
	RunID   string `json:"runId"`
	Reason  string `json:"reason"`
	Error   string `json:"error"`
	Value   any    `json:"value"`
	Pending []struct {
		ID     string          `json:"id"`
		Method string          `json:"method"`
		Tool   string          `json:"tool"`
		Input  json.RawMessage `json:"input"`
	} `json:"pendingToolCalls"`
}

// resultOf reads a result, which must be the same as structure and as text.
func resultOf(t testing.TB, res *mcp.CallToolResult) result {
	t.Helper()
	if len(res.Content) == 0 {
		t.Fatalf("a result without content: %+v", res)
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("the first content is %T", res.Content[0])
	}
	var fromText, fromStructure result
	structure, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text.Text), &fromText); err != nil {
		t.Fatalf("%v in %s", err, text.Text)
	}
	if err := json.Unmarshal(structure, &fromStructure); err != nil {
		t.Fatalf("%v in %s", err, structure)
	}
	if fromText.Status != fromStructure.Status || fromText.RunID != fromStructure.RunID || fromText.Status == "" {
		t.Fatalf("text %s and structure %s differ", text.Text, structure)
	}
	if res.IsError != (fromText.Status == "failed") {
		t.Fatalf("isError is %v for %s", res.IsError, text.Text)
	}
	return fromText
}

// exec runs a program.
func exec(t testing.TB, cs *mcp.ClientSession, code string) result {
	t.Helper()
	return resultOf(t, callArgs(t, cs, "exec", map[string]any{"code": code}))
}

func wantValue(t testing.TB, res result, want any) {
	t.Helper()
	got, _ := json.Marshal(res.Value)
	text, _ := json.Marshal(want)
	if res.Status != "completed" || string(got) != string(text) {
		t.Fatalf("%s %s %s, want completed with %s", res.Status, got, res.Error, text)
	}
}

// eventually waits for a state that another goroutine is about to reach.
func eventually(t testing.TB, what string, reached func() bool) {
	t.Helper()
	waittest.Until(t, what, reached)
}

// answering is an elicitation handler that gives the answers in turn, the last one
// again and again, and keeps the questions.
type answering struct {
	mu        sync.Mutex
	answers   []string // "cancel", "decline", or a decision
	questions []string
}

func (a *answering) handle(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	answer := a.answers[min(len(a.questions), len(a.answers)-1)]
	a.questions = append(a.questions, req.Params.Message)
	if answer == "cancel" || answer == "decline" {
		return &mcp.ElicitResult{Action: answer}, nil
	}
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": answer}}, nil
}

func (a *answering) asked() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.questions...)
}

func (a *answering) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{ElicitationHandler: a.handle}
}

func contains(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is not in %q", p, text)
		}
	}
}
