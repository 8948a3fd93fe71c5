package main

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/gateway"
)

type cargo struct {
	To string `json:"to"`
}

// serve runs a gateway over pipes, as cloister serve does over standard input and
// output, and gives the client's end.
func serve(t *testing.T, sent *[]string) mcp.Transport {
	t.Helper()
	ship := host.Tool("ship", "Ships the cargo.", func(_ context.Context, in cargo) (cargo, error) {
		*sent = append(*sent, in.To)
		return in, nil
	})
	ship.Approval = host.ApprovalAsk
	queue := host.NewApprovalQueue()
	h, err := host.New(t.Context(), &host.Options{CodeMode: host.CodeModeConfig{Enabled: true}, Tools: []host.RawTool{ship}, Approve: queue.Approve})
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Options{Host: h, Approvals: queue, Elicit: true})
	if err != nil {
		t.Fatal(err)
	}
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- g.ServeStdio(context.Background(), toServer, fromServer) }()
	t.Cleanup(func() {
		fromClient.Close()
		toClient.Close()
		if err := <-done; err != nil {
			t.Errorf("ServeStdio: %v", err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return &mcp.IOTransport{Reader: toClient, Writer: fromClient}
}

func TestRun(t *testing.T) {
	const two = `const to: string = "Rome";
const first = await tools.ship({ to });
try {
  return { first, second: await tools.ship({ to: "Oslo" }) };
} catch (e) {
  return { first, refused: e.code };
}`
	for _, tt := range []struct {
		name, typed string
		sent        int
		value       string
	}{
		{"once, then nothing", "2\n\n", 1, `{"first":{"to":"Rome"},"refused":"approval_denied"}`},
		{"both", "2\n2\n", 2, `{"first":{"to":"Rome"},"second":{"to":"Oslo"}}`},
		{"for the program", "3\n", 2, `{"first":{"to":"Rome"},"second":{"to":"Oslo"}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var sent []string
			var out strings.Builder
			if err := run(t.Context(), serve(t, &sent), two, strings.NewReader(tt.typed), &out); err != nil {
				t.Fatalf("%v\n%s", err, out.String())
			}
			text := out.String()
			for _, want := range []string{"exec: Run a program", "wait: Continue a program", "Allow a call of the tool cloister:core:ship?", `"Rome"`, "  1  Refuse"} {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in\n%s", want, text)
				}
			}
			if lines := strings.Count(text[:strings.Index(text, "\n\n")], "\n"); lines > 2 {
				t.Errorf("more than two tools:\n%s", text)
			}
			var result struct {
				Status string          `json:"status"`
				Value  json.RawMessage `json:"value"`
			}
			if err := json.Unmarshal([]byte(text[strings.Index(text, "{\n"):]), &result); err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			var value any
			if err := json.Unmarshal(result.Value, &value); err != nil {
				t.Fatal(err)
			}
			compact, err := json.Marshal(value)
			if err != nil || string(compact) != tt.value || len(sent) != tt.sent {
				t.Errorf("value %s, sent %v, %v", compact, sent, err)
			}
		})
	}
}

// TestFailures has a program that fails, and answers that are no numbers of choices:
// nothing is shipped.
func TestFailures(t *testing.T) {
	for _, typed := range []string{"", "yes\n", "0\n", "9\n", "-1\n", "1\n"} {
		var sent []string
		var out strings.Builder
		err := run(t.Context(), serve(t, &sent), `return await tools.ship({ to: "Rome" })`, strings.NewReader(typed), &out)
		if err == nil || !strings.Contains(err.Error(), "the program failed") || len(sent) > 0 || !strings.Contains(out.String(), "not approved") {
			t.Errorf("%q: %v, sent %v\n%s", typed, err, sent, out.String())
		}
	}
}

func TestChoices(t *testing.T) {
	for _, tt := range []struct{ schema, name, titles string }{
		{`{"type":"object","properties":{"d":{"type":"string","enum":["a","b"],"enumNames":["A","B"]}}}`, "d", "A B"},
		{`{"properties":{"d":{"enum":["a","b"],"enumNames":["A"]}}}`, "d", "a b"},
		{`{"properties":{"d":{"type":"boolean"}}}`, "d", ""},
		{`{"properties":{"d":{"enum":["a"]},"e":{"enum":["a"]}}}`, "", ""},
		{`{"properties":{"d":{"enum":[1]}}}`, "", ""},
		{`[]`, "", ""},
	} {
		name, _, titles := choices(json.RawMessage(tt.schema))
		if name != tt.name || strings.Join(titles, " ") != tt.titles {
			t.Errorf("%s: %q, %v", tt.schema, name, titles)
		}
	}
	if got := printable("a\x1b[31m\u202e\nb"); got != "a[31m\nb" {
		t.Errorf("printable gave %q", got)
	}
}
