package otel_test

import (
	"context"
	"fmt"
	"log"
	"testing"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/otel"
)

// TestHost has a real host whose cell is denied a tool, is approved another and is
// continued by wait: all of it is one trace without loose ends.
func TestHost(t *testing.T) {
	c := newCollector(t, nil)
	x := newExporter(t, otel.Options{Endpoint: c.URL})
	ship := host.Tool("ship", "Ships.", func(context.Context, struct{}) (string, error) { return "shipped", nil })
	ship.Approval = host.ApprovalAsk
	secret := host.Tool("secret", "Denied.", func(context.Context, struct{}) (string, error) { return "", nil })
	h, err := host.New(t.Context(), &host.Options{
		CodeMode: host.CodeModeConfig{Enabled: true}, Trace: x, Tools: []host.RawTool{ship, secret}, Deny: []string{"secret"},
		Approve: func(context.Context, *host.ToolCall) (host.Decision, error) {
			return host.Decision{Approved: true, By: "test"}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	r, err := h.NewRun(t.Context(), host.RunOptions{AgentID: "agent", AgentRunID: "turn", SessionID: "session"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	res, err := r.Exec(t.Context(), host.ExecInput{CallID: "x1", Code: `await tools.ship({}); await yield_control();
try { await tools.call("cloister:core:secret", {}) } catch (e) { return e.code }`})
	if err != nil || res.CellID == "" {
		t.Fatalf("%+v, %v", res, err)
	}
	id := res.CellID
	if res, err = r.Wait(t.Context(), host.WaitInput{CellID: id, CallID: "x2"}); err != nil || string(res.Value) != `"unknown_tool"` {
		t.Fatalf("%+v, %v", res, err)
	}
	if err := x.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	parents := map[string]string{}
	list := c.all()
	for _, s := range list {
		parents[s.Name] = s.Parent
		if s.Trace != list[0].Trace || s.Attrs["cloister.run.id"] != id || s.Attrs["cloister.unfinished"] == true {
			t.Errorf("%+v", s)
		}
	}
	const exec, wait, ship2, denied = "execute_tool exec", "execute_tool wait", "execute_tool ship", "execute_tool secret"
	for name, parent := range map[string]string{exec: "", wait: exec, ship2: exec, denied: wait} {
		if got, ok := parents[name]; !ok || got != parent {
			t.Errorf("%s is below %q, want %q (there: %t)", name, got, parent, ok)
		}
	}
	if got, ok := parents["approval"]; ok && got != ship2 {
		t.Errorf("the approval is below %q", got)
	} else if !ok {
		t.Error("there is no approval")
	}
}

func ExampleNew() {
	exporter, err := otel.New(otel.Options{
		Endpoint: "https://collector.example.com",
		Headers:  otel.Headers{"Authorization": "Bearer secret-of-the-collector"},
		Service:  "my-agent",
	})
	if err != nil {
		log.Fatal(err)
	}
	h, err := host.New(context.Background(), &host.Options{CodeMode: host.CodeModeConfig{Enabled: true}, Trace: exporter})
	if err != nil {
		log.Fatal(err)
	}
	if err := h.Close(); err != nil {
		log.Fatal(err)
	}
	// At the end of the program, with as much time as it may take.
	if err := exporter.Shutdown(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%+v\n", exporter.Stats())
	fmt.Println(otel.Headers{"Authorization": "never printed"})
	// Output:
	// {SentSpans:0 FailedSpans:0 DroppedSpans:0 DroppedEvents:0}
	// [Authorization]
}
