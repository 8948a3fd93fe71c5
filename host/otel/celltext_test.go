package otel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/otel"
)

// TestNoTextOfACell has a cell that says a text of its choice wherever it can: no span's name or attribute has it, and what it
// asked for is there all the same.
func TestNoTextOfACell(t *testing.T) {
	const canary = "canary7f3a"
	c := newCollector(t, nil)
	x := newExporter(t, otel.Options{Endpoint: c.URL})
	echo := host.Tool("echo", "Echoes.", func(_ context.Context, in map[string]any) (map[string]any, error) { return in, nil })
	h, err := host.New(t.Context(), &host.Options{CodeMode: host.CodeModeConfig{Enabled: true}, Trace: x, Tools: []host.RawTool{echo}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	r, err := h.NewRun(t.Context(), host.RunOptions{AgentRunID: "turn"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	code := strings.ReplaceAll(`const quiet = () => {};
await tools.call("CANARY", {}).catch(quiet); await tools.call("mcp:CANARY:CANARY", {}).catch(quiet); await tools.describe("CANARY").catch(quiet);
await tools.search("CANARY"); await tools.echo({ CANARY: "CANARY" }); throw new Error("CANARY")`, "CANARY", canary)
	res, err := r.Exec(t.Context(), host.ExecInput{CallID: "x1", Code: code})
	for err == nil && res.Status == "waiting" {
		res, err = r.Wait(t.Context(), host.WaitInput{CellID: res.CellID, CallID: "x2"})
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	denied := 0
	for _, s := range c.all() {
		if text := fmt.Sprintf("%+v", s); strings.Contains(text, canary) {
			t.Errorf("a cell's text is in a span: %s", text)
		}
		if s.Attrs["cloister.denied.rule"] == "no such tool" {
			denied++
			if s.Name != "execute_tool" || s.Attrs["gen_ai.tool.name"] != nil {
				t.Errorf("a call of no tool: %+v", s)
			}
		}
	}
	if denied != 2 {
		t.Errorf("%d denied calls, want 2", denied)
	}
}
