package otel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/otel"
	"github.com/cloister-wasm/cloister/internal/waittest"
)

const secret = "collector-password-0001"

func newExporter(t *testing.T, o otel.Options) *otel.Exporter {
	t.Helper()
	x, err := otel.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = x.Shutdown(ctx) // a test that cares has done it itself
	})
	return x
}

// at gives a time n ms after the start of a test's events.
func at(n int) time.Time { return time.UnixMilli(1_700_000_000_000 + int64(n)) }

func shown(list []span) []span {
	for i := range list {
		list[i].Start -= 1_700_000_000_000
	}
	return list
}

var ignoreIDs = cmpopts.IgnoreFields(span{}, "Trace", "ID")

// run is what a run with calls of all kinds tells, in order.
func runEvents() []host.TraceEvent {
	e := func(ms int, event host.EventName, more host.TraceEvent) host.TraceEvent {
		more.Time, more.Event, more.CellID = at(ms), event, "run_1"
		more.AgentID, more.SessionID, more.AgentRunID = "agent", "session", "turn"
		return more
	}
	const github, csv, mail = "mcp:github:create_issue", "plugin:csv:query", "cloister:core:mail"
	return []host.TraceEvent{
		e(10, "exec.start", host.TraceEvent{CallID: "x1", InputBytes: 100}),
		e(20, "search", host.TraceEvent{ParentID: "x1"}),
		e(30, "call.start", host.TraceEvent{CallID: "c1", ParentID: "x1", Tool: csv, InputBytes: 5, Namespace: "Csv.query", Unsigned: true}),
		e(40, "call.start", host.TraceEvent{CallID: "c2", ParentID: "c1", Tool: "cloister:core:lookup", Caller: "csv"}),
		e(50, "call.end", host.TraceEvent{CallID: "c2", ParentID: "c1", Tool: "cloister:core:lookup", Status: "ok", DurationMs: 10}),
		e(60, "call.end", host.TraceEvent{CallID: "c1", ParentID: "x1", Tool: csv, Status: "tool_failed", DurationMs: 30, OutputBytes: 9}),
		e(70, "call.start", host.TraceEvent{CallID: "c3", ParentID: "x1", Tool: github, Untrusted: true}),
		e(80, "approval.asked", host.TraceEvent{CallID: "c3", ParentID: "x1", Tool: github, Untrusted: true}),
		e(90, "call.denied", host.TraceEvent{CallID: "c4", ParentID: "x1", Tool: mail, Rule: "policy no-mail"}),
		e(95, "call.denied", host.TraceEvent{CallID: "c5", ParentID: "x1", Tool: "made:up:tool-123", Rule: "no such tool"}),
		e(100, "suspend", host.TraceEvent{OutputBytes: 1000}),
		e(110, "exec.end", host.TraceEvent{CallID: "x1", Status: "waiting", DurationMs: 105}),
		e(200, "approval.decided", host.TraceEvent{CallID: "c3", ParentID: "x1", Tool: github, Status: "approved", By: "operator", Extent: host.ApproveRun, DurationMs: 120, Untrusted: true}),
		e(300, "wait.start", host.TraceEvent{CallID: "x2"}),
		e(310, "call.end", host.TraceEvent{CallID: "c3", ParentID: "x1", Tool: github, Status: "mcp_tool_error", DurationMs: 240, Untrusted: true}),
		e(320, "resume", host.TraceEvent{}),
		e(330, "call.start", host.TraceEvent{CallID: "c6", ParentID: "x1", Tool: "mcp:github:resources/read", Untrusted: true}),
		e(340, "call.end", host.TraceEvent{CallID: "c6", ParentID: "x1", Tool: "mcp:github:resources/read", Status: "ok", Untrusted: true}),
		e(350, "wait.end", host.TraceEvent{CallID: "x2", Status: "failed", Reason: "timeout", DurationMs: 50}),
	}
}

func TestSpans(t *testing.T) {
	c := newCollector(t, nil)
	x := newExporter(t, otel.Options{Endpoint: c.URL, Version: "1.2", Headers: otel.Headers{"Authorization": "Bearer " + secret}, Attributes: map[string]string{"deployment.environment.name": "test"}})
	for _, e := range runEvents() {
		x.Emit(e)
	}
	if err := x.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	scope := func(more map[string]any) map[string]any {
		m := map[string]any{"cloister.run.id": "run_1", "gen_ai.agent.id": "agent", "gen_ai.conversation.id": "session", "cloister.agent_run.id": "turn"}
		for k, v := range more {
			m[k] = v
		}
		return m
	}
	control := func(name, id, status string, more map[string]any) map[string]any {
		m := scope(map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.type": "function", "gen_ai.tool.call.id": id, "cloister.status": status})
		for k, v := range more {
			m[k] = v
		}
		return m
	}
	tool := func(name, owner, id, toolID string, more map[string]any) map[string]any {
		m := scope(map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.type": "function", "gen_ai.tool.call.id": id, "cloister.tool.id": toolID, "cloister.tool.owner": owner})
		for k, v := range more {
			m[k] = v
		}
		return m
	}
	const exec, wait = "execute_tool exec", "execute_tool wait"
	want := []span{
		{Name: exec, Kind: "INTERNAL", Start: 5, Ms: 105, Attrs: control("exec", "x1", "waiting", map[string]any{"cloister.input.bytes": int64(100)}), Events: []string{"search", "suspend"}},
		{Name: "execute_tool query", Parent: exec, Kind: "INTERNAL", Start: 30, Ms: 30, Error: "tool_failed",
			Attrs: tool("query", "csv", "c1", "plugin:csv:query", map[string]any{"cloister.status": "tool_failed", "error.type": "tool_failed", "cloister.namespace": "Csv.query", "cloister.tool.unsigned": true, "cloister.input.bytes": int64(5), "cloister.output.bytes": int64(9)})},
		{Name: "execute_tool lookup", Parent: "execute_tool query", Kind: "INTERNAL", Start: 40, Ms: 10, Attrs: tool("lookup", "core", "c2", "cloister:core:lookup", map[string]any{"cloister.status": "ok", "cloister.caller": "csv"})},
		{Name: "tools/call create_issue", Parent: exec, Kind: "CLIENT", Start: 70, Ms: 240, Error: "mcp_tool_error",
			Attrs: tool("create_issue", "github", "c3", "mcp:github:create_issue", map[string]any{"mcp.method.name": "tools/call", "cloister.tool.untrusted": true, "cloister.status": "mcp_tool_error", "error.type": "tool_error"})},
		{Name: "approval", Parent: "tools/call create_issue", Kind: "INTERNAL", Start: 80, Ms: 120,
			Attrs: scope(map[string]any{"gen_ai.tool.call.id": "c3", "cloister.tool.id": "mcp:github:create_issue", "cloister.status": "approved", "cloister.approval.by": "operator", "cloister.approval.extent": "run"})},
		{Name: "execute_tool mail", Parent: exec, Kind: "INTERNAL", Start: 90, Error: "policy no-mail",
			Attrs: tool("mail", "core", "c4", "cloister:core:mail", map[string]any{"cloister.denied.rule": "policy no-mail", "error.type": "denied"})},
		{Name: "execute_tool", Parent: exec, Kind: "INTERNAL", Start: 95, Error: "no such tool",
			Attrs: tool("tool-123", "up", "c5", "made:up:tool-123", map[string]any{"cloister.denied.rule": "no such tool", "error.type": "denied"})},
		{Name: wait, Parent: exec, Kind: "INTERNAL", Start: 300, Ms: 50, Error: "timeout", Attrs: control("wait", "x2", "failed", map[string]any{"cloister.reason": "timeout", "error.type": "timeout"}), Events: []string{"resume"}},
		{Name: "resources/read", Parent: wait, Kind: "CLIENT", Start: 330, Ms: 10,
			Attrs: scope(map[string]any{"mcp.method.name": "resources/read", "gen_ai.tool.call.id": "c6", "cloister.tool.id": "mcp:github:resources/read", "cloister.tool.owner": "github", "cloister.tool.untrusted": true, "cloister.status": "ok"})},
	}
	got := shown(c.all())
	if diff := gocmp.Diff(want, got, ignoreIDs); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, s := range got {
		if s.Trace != got[0].Trace || len(s.Trace) != 32 || len(s.ID) != 16 {
			t.Errorf("%s: trace %s, id %s", s.Name, s.Trace, s.ID)
		}
	}
	wantResource := map[string]any{"service.name": "cloister", "service.version": "1.2", "deployment.environment.name": "test", "telemetry.sdk.name": "cloister", "telemetry.sdk.language": "go"}
	if diff := gocmp.Diff(wantResource, c.resource); diff != "" {
		t.Errorf("resource: %s", diff)
	}
	if c.paths[0] != "/v1/traces" || c.headers[0].Get("Authorization") != "Bearer "+secret {
		t.Errorf("sent to %s with %v", c.paths[0], c.headers[0])
	}
	if s := x.Stats(); s != (otel.Stats{SentSpans: len(want)}) {
		t.Errorf("%+v", s)
	}
}

// TestOneTraceAcrossProcesses sends the first part of a run with one exporter and the rest
// with another: they meet in one trace.
func TestOneTraceAcrossProcesses(t *testing.T) {
	c := newCollector(t, nil)
	events := runEvents()
	for _, part := range [][]host.TraceEvent{events[:12], events[12:]} {
		x := newExporter(t, otel.Options{Endpoint: c.URL})
		for _, e := range part {
			x.Emit(e)
		}
		if err := x.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	got := c.all()
	unfinished := 0
	for _, s := range got {
		if s.Trace != got[0].Trace || s.Parent == "?" || s.Parent == "" && s.Name != "execute_tool exec" {
			t.Errorf("%s: parent %q, trace %s", s.Name, s.Parent, s.Trace)
		}
		if s.Attrs["cloister.unfinished"] == true {
			unfinished++
		}
	}
	if unfinished != 2 { // the call and its approval
		t.Errorf("%d spans are unfinished", unfinished)
	}
}

// TestDirectCalls has calls without a cell: a trace each.
func TestDirectCalls(t *testing.T) {
	c := newCollector(t, nil)
	x := newExporter(t, otel.Options{Endpoint: c.URL})
	for _, e := range []host.TraceEvent{
		{Time: at(0), Event: "call.start", CallID: "a", Tool: "plugin:csv:query"},
		{Time: at(1), Event: "call.start", CallID: "b", ParentID: "a", Tool: "cloister:core:lookup", Caller: "csv"},
		{Time: at(2), Event: "call.start", CallID: "c", Tool: "cloister:core:other"},
		{Time: at(3), Event: "call.end", CallID: "a", Tool: "plugin:csv:query", Status: "ok"},
		{Time: at(4), Event: "call.end", CallID: "b", ParentID: "a", Tool: "cloister:core:lookup", Status: "ok"}, // after its caller
		{Time: at(5), Event: "call.end", CallID: "c", Tool: "cloister:core:other", Status: "ok"},
		{Time: at(6), Event: "exec.end", CallID: "x", Status: "failed", Reason: "invalid_input", DurationMs: 3},
		{Time: at(7), Event: "namespace.refused", Tool: "csv", Namespace: "Csv", Status: "too wide"},
	} {
		x.Emit(e)
	}
	if err := x.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	traces := map[string]string{}
	parents := map[string]string{}
	for _, s := range c.all() {
		traces[s.Name], parents[s.Name] = s.Trace, s.Parent
		if s.Attrs["cloister.unfinished"] == true {
			t.Errorf("%s is unfinished", s.Name)
		}
	}
	want := map[string]string{"execute_tool query": "", "execute_tool lookup": "execute_tool query", "execute_tool other": "", "execute_tool exec": "", "namespace.refused": ""}
	if diff := gocmp.Diff(want, parents); diff != "" {
		t.Error(diff)
	}
	if traces["execute_tool query"] != traces["execute_tool lookup"] || traces["execute_tool query"] == traces["execute_tool other"] {
		t.Errorf("traces: %v", traces)
	}
}

// TestHostileEvents feeds what no host would emit; all spans arrive, in bounds.
func TestHostileEvents(t *testing.T) {
	c := newCollector(t, nil)
	x := newExporter(t, otel.Options{Endpoint: c.URL, MaxOpen: 10, Secrets: []string{"known-secret-value"}})
	bad := "\xff\xfe\x00\x1b[31m\u202e" + strings.Repeat("x", 100_000)
	for i := range 300 {
		id := fmt.Sprint(i)
		x.Emit(host.TraceEvent{Time: at(i), Event: "call.start", CellID: "r" + id, CallID: "c" + id, Tool: bad})
		x.Emit(host.TraceEvent{Time: at(i), Event: "call.start", CellID: "same", CallID: "c" + id, ParentID: "c" + id, Tool: "mcp::"})
		x.Emit(host.TraceEvent{Time: at(i), Event: "call.start", CallID: "d" + id, ParentID: "d" + fmt.Sprint(i-1)})
	}
	for _, e := range []host.TraceEvent{
		{Event: host.EventName(bad), CellID: bad, CallID: bad, ParentID: bad, Namespace: bad, Status: bad},
		{Event: "call.end", CellID: "q", CallID: "c", Status: bad, DurationMs: math.Inf(1), OutputBytes: -1},
		{Event: "call.end", CellID: "q", CallID: "c", Status: "known-secret-value", DurationMs: math.NaN()},
		{Event: "call.denied", CellID: "q", CallID: "c", Rule: "token=known-secret-value password: hunter22", Tool: "known-secret-value"},
		{Event: "approval.decided", CellID: "q", CallID: "c", Status: "", By: "known-secret-value", DurationMs: -5},
		{Event: "wait.end", CellID: "q", DurationMs: math.MaxFloat64, Time: time.Unix(1<<40, 0)},
		{Event: "exec.start", CellID: "q2", CallID: "x"},
		{Event: "exec.start", CellID: "q2", CallID: "x"},
		{},
	} {
		x.Emit(e)
	}
	if err := x.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	list := c.all()
	if s := x.Stats(); s.SentSpans != len(list) || len(list) < 900 || s.FailedSpans+s.DroppedEvents+s.DroppedSpans > 0 {
		t.Errorf("%d spans, %+v", len(list), s)
	}
	for _, s := range list {
		text := fmt.Sprint(s)
		if len(text) > 16_000 || strings.ContainsAny(text, "\x1b\x00\u202e") || strings.Contains(text, "known-secret") || strings.Contains(text, "hunter22") || s.Ms < 0 {
			t.Errorf("span: %.300q", text)
		}
	}
}

func TestExpire(t *testing.T) {
	c := newCollector(t, nil)
	x := newExporter(t, otel.Options{Endpoint: c.URL, OpenTTL: 1, Interval: 10 * time.Millisecond})
	x.Emit(host.TraceEvent{Time: at(0), Event: "exec.start", CellID: "r", CallID: "x"})
	x.Emit(host.TraceEvent{Time: at(5), Event: "search", CellID: "r", ParentID: "x"})
	waittest.Until(t, "a span is sent, at the next tick after a second", func() bool { return x.Stats().SentSpans > 0 })
	s := shown(c.all())[0]
	if s.Attrs["cloister.unfinished"] != true || s.Ms != 5 {
		t.Errorf("%+v", s)
	}
}

// TestEmitNeverBlocks has a collector that does not answer, and more events than
// there is room for.
func TestEmitNeverBlocks(t *testing.T) {
	stop := make(chan struct{})
	c := newCollector(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	})
	defer close(stop)
	x := newExporter(t, otel.Options{Endpoint: c.URL, QueueSize: 50, Interval: time.Millisecond})
	for i := range 20_000 {
		x.Emit(host.TraceEvent{Time: at(i), Event: "call.denied", CellID: "r", CallID: fmt.Sprint(i), Rule: "r"})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := x.Shutdown(ctx)
	if !errors.Is(err, otel.ErrExport) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown: %v", err)
	}
	if s := x.Stats(); s.SentSpans != 0 || s.DroppedEvents+s.DroppedSpans+s.FailedSpans == 0 {
		t.Errorf("%+v", s)
	}
	x.Emit(host.TraceEvent{}) // does nothing
	if err := x.Flush(t.Context()); !errors.Is(err, otel.ErrShutdown) {
		t.Errorf("Flush: %v", err)
	}
	if again := x.Shutdown(t.Context()); again != err {
		t.Errorf("again: %v", again)
	}
}

// TestRefusals has collectors that do not take the spans: they are lost, and the
// error does not hold the header that the collector sends back.
func TestRefusals(t *testing.T) {
	elsewhere := newCollector(t, nil)
	for name, answer := range map[string]http.HandlerFunc{
		"unauthorized": func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "no: "+r.Header.Get("X-Key")+" "+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), http.StatusUnauthorized)
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		},
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			block := bytes.Repeat([]byte("x"), 1<<16)
			for range 1000 {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		},
		"garbage": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-protobuf")
			_, _ = w.Write([]byte("\xff\xff\xff")) // the client may be gone
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCollector(t, answer)
			x := newExporter(t, otel.Options{Endpoint: c.URL + "/in/here", Headers: otel.Headers{"X-Key": secret, "Authorization": "Bearer " + secret + "2"}})
			x.Emit(host.TraceEvent{Time: at(0), Event: "abort", CellID: "r"})
			err := x.Shutdown(t.Context())
			if !errors.Is(err, otel.ErrExport) {
				t.Fatalf("error %v", err)
			}
			if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), secret) {
				t.Errorf("the error shows the header: %v", err)
			}
			if s := x.Stats(); s.FailedSpans != 1 || s.SentSpans != 0 {
				t.Errorf("%+v", s)
			}
			if c.paths[0] != "/in/here" {
				t.Errorf("path %s", c.paths[0])
			}
		})
	}
	if len(elsewhere.paths) > 0 {
		t.Errorf("the redirect was followed with %v", elsewhere.headers)
	}
}

// TestRetryAfter has a collector that wants the exporter to wait for 3,000 years.
func TestRetryAfter(t *testing.T) {
	c := newCollector(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "99999999999")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	x := newExporter(t, otel.Options{Endpoint: c.URL})
	x.Emit(host.TraceEvent{Time: at(0), Event: "abort", CellID: "r"})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := x.Shutdown(ctx); !errors.Is(err, otel.ErrExport) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown: %v", err)
	}
}

func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		o          otel.Options
	}{
		{"none", "Endpoint is empty", otel.Options{}},
		{"plain", "use https", otel.Options{Endpoint: "http://collector.example.com"}},
		{"plain, address", "use https", otel.Options{Endpoint: "http://192.0.2.1:4318"}},
		{"looks local", "use https", otel.Options{Endpoint: "http://localhost.example.com"}},
		{"scheme", "must begin", otel.Options{Endpoint: "grpc://localhost"}},
		{"no scheme", "Endpoint", otel.Options{Endpoint: "localhost:4318"}},
		{"user", "use Headers", otel.Options{Endpoint: "https://eve:" + secret + "@example.com"}},
		{"not a URL", "is no URL", otel.Options{Endpoint: "https://eve:" + secret + "@ex ample.com\x00"}},
		{"query", "query", otel.Options{Endpoint: "https://example.com/?key=" + secret}},
		{"host", "no host", otel.Options{Endpoint: "https:///v1"}},
		{"header", "no name of a header", otel.Options{Endpoint: "https://example.com", Headers: otel.Headers{"a b": secret}}},
		{"value", "X-Key", otel.Options{Endpoint: "https://example.com", Headers: otel.Headers{"X-Key": secret + "\r\nX: y"}}},
		{"reserved", "set by the exporter", otel.Options{Endpoint: "https://example.com", Headers: otel.Headers{"content-type": secret}}},
		{"twice", "twice", otel.Options{Endpoint: "https://example.com", Headers: otel.Headers{"A": secret, "a": secret}}},
		{"negative", "negative", otel.Options{Endpoint: "https://example.com", MaxOpen: -1}},
	} {
		x, err := otel.New(tt.o)
		if !errors.Is(err, otel.ErrOptions) || x != nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	for _, ok := range []string{"http://localhost:4318", "http://[::1]:4318/x", "http://127.9.9.9", "https://collector.example.com/v1/traces", "http://otel.localhost"} {
		newExporter(t, otel.Options{Endpoint: ok})
	}
}

func TestHeadersDoNotPrint(t *testing.T) {
	o := otel.Options{Endpoint: "https://example.com", Headers: otel.Headers{"X-B": secret, "X-A": secret}}
	var logged bytes.Buffer
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "o", o, "h", o.Headers)
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "o", struct{ H otel.Headers }{o.Headers}, "h", o.Headers)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&logged, verb+"\n", o)
		fmt.Fprintf(&logged, verb+"\n", &o.Headers)
	}
	if s := logged.String(); strings.Contains(s, secret) || strings.Contains(s, fmt.Sprintf("%x", secret)) || !strings.Contains(s, "[X-A X-B]") {
		t.Error(s)
	}
}

// TestEnvironment makes sure that what the environment says for other programs'
// collectors does not reach this one.
func TestEnvironment(t *testing.T) {
	c := newCollector(t, nil)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "X-Other="+secret)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "https://other.example.com")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
	x := newExporter(t, otel.Options{Endpoint: c.URL})
	x.Emit(host.TraceEvent{Time: at(0), Event: "abort", CellID: "r"})
	if err := x.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(c.all()) != 1 || c.headers[0].Get("X-Other") != "" {
		t.Errorf("%d spans, headers %v", len(c.all()), c.headers)
	}
}

// TestHammer uses an exporter from many goroutines at once, to the end: no span is
// lost without being counted.
func TestHammer(t *testing.T) {
	c := newCollector(t, nil)
	x := newExporter(t, otel.Options{Endpoint: c.URL, Interval: time.Millisecond, QueueSize: 1000})
	const workers, each = 8, 300
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprint(w, "-", i)
				x.Emit(host.TraceEvent{Time: at(i), Event: "exec.start", CellID: id, CallID: "x"})
				x.Emit(host.TraceEvent{Time: at(i), Event: "exec.end", CellID: id, CallID: "x", Status: "completed"})
				if i%50 == 0 {
					if err := x.Flush(t.Context()); err != nil {
						t.Error(err)
					}
					x.Stats()
				}
			}
		})
	}
	wg.Wait()
	for range 3 {
		wg.Go(func() {
			if err := x.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s := x.Stats()
	// A run of which both events were dropped has no span, one that lost one has one.
	if s.SentSpans != len(c.all()) || s.FailedSpans > 0 || s.SentSpans+s.DroppedSpans+s.DroppedEvents < workers*each {
		t.Errorf("%+v, %d arrived", s, len(c.all()))
	}
}

func BenchmarkEmit(b *testing.B) {
	c := newCollector(b, nil)
	defer c.Close()
	x, err := otel.New(otel.Options{Endpoint: c.URL, QueueSize: 1 << 16})
	if err != nil {
		b.Fatal(err)
	}
	e := runEvents()[2]
	for b.Loop() {
		x.Emit(e)
	}
	b.StopTimer()
	if err := x.Shutdown(context.Background()); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(x.Stats().DroppedEvents)/float64(b.N), "dropped/op")
}
