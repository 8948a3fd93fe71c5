package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/cloister-wasm/cloister/host"
)

const key = "sk-ant-key-of-the-example"

// request is what the model server reads of a request; anything else fails the test.
type request struct {
	Model     string  `json:"model"`
	MaxTokens int     `json:"max_tokens"`
	System    []block `json:"system"`
	Messages  []struct {
		Role    string  `json:"role"`
		Content []block `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		InputSchema struct {
			Type       string         `json:"type"`
			Properties map[string]any `json:"properties"`
			Required   []string       `json:"required"`
			Additional *bool          `json:"additionalProperties"`
		} `json:"input_schema"`
	} `json:"tools"`
}

type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
	Content   []block         `json:"content,omitempty"`
}

// step is one request and its response: the script checks the one and gives the other.
type step func(t *testing.T, q *request) block

// serve serves a script. It answers nothing that the script does not expect.
func serve(t *testing.T, steps ...step) *httptest.Server {
	n := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/messages" || r.Header.Get("X-Api-Key") != key || r.Header.Get("Anthropic-Version") == "" || n >= len(steps) {
			t.Errorf("request %d: %s %s, %v", n, r.Method, r.URL.Path, err)
			http.Error(w, "{}", http.StatusBadRequest)
			return
		}
		var q request
		dec := json.NewDecoder(bytes.NewReader(body))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&q); err != nil {
			t.Errorf("request %d: %v in %s", n, err, body)
		}
		names := []string{}
		for _, tool := range q.Tools {
			names = append(names, tool.Name)
			if tool.Description == "" || tool.InputSchema.Type != "object" || len(tool.InputSchema.Properties) == 0 || len(tool.InputSchema.Required) != 1 {
				t.Errorf("request %d: tool %+v", n, tool)
			}
		}
		if !slices.Equal(names, []string{"exec", "wait"}) || len(q.Messages) != 2*n+1 {
			t.Errorf("request %d: the model sees %v and %d messages", n, names, len(q.Messages))
		}
		b := steps[n](t, &q)
		n++
		reason := "end_turn"
		if b.Type == "tool_use" {
			reason = "tool_use"
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(map[string]any{"id": "msg_1", "type": "message", "role": "assistant", "model": q.Model, "content": []block{b},
			"stop_reason": reason, "stop_sequence": nil, "usage": map[string]int{"input_tokens": 1, "output_tokens": 1}}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(func() {
		srv.Close()
		if n != len(steps) {
			t.Errorf("%d of %d requests came", n, len(steps))
		}
	})
	return srv
}

func call(id, name string, arguments any) block {
	text, err := json.Marshal(arguments)
	if err != nil {
		panic(err) // the arguments are the test's own
	}
	return block{Type: "tool_use", ID: id, Name: name, Input: text}
}

// result reads the last result in a request; before it stands the call itself.
func result(t *testing.T, q *request, callID string) (text string, failed bool) {
	t.Helper()
	last := q.Messages[len(q.Messages)-1]
	before := q.Messages[len(q.Messages)-2]
	if before.Role != "assistant" || before.Content[0].ID != callID || last.Role != "user" || len(last.Content) != 1 ||
		last.Content[0].Type != "tool_result" || last.Content[0].ToolUseID != callID || len(last.Content[0].Content) != 1 {
		t.Fatalf("messages %+v", q.Messages)
	}
	return last.Content[0].Content[0].Text, last.Content[0].IsError
}

const program = `const all = await tools.list_articles({});
await yield_control();
return all.filter((a) => a.onHand / a.perWeek < 2).map((a) => a.sku);`

func TestTurn(t *testing.T) {
	const question = "Which articles run out within two weeks?"
	read := func(t *testing.T, q *request, id string) map[string]any {
		text, failed := result(t, q, id)
		var m map[string]any
		if err := json.Unmarshal([]byte(text), &m); err != nil || failed {
			t.Fatalf("%s gave %s: %v", id, text, err)
		}
		return m
	}
	srv := serve(t,
		func(t *testing.T, q *request) block {
			if q.Messages[0].Content[0].Text != question || q.System[0].Text == "" || q.MaxTokens == 0 || !strings.Contains(q.Tools[0].Description, "list_articles") {
				t.Errorf("first request: %+v", q)
			}
			return call("toolu_1", "exec", map[string]string{"code": program})
		},
		func(t *testing.T, q *request) block {
			m := read(t, q, "toolu_1")
			if m["status"] != "waiting" || m["reason"] != "yield" {
				t.Errorf("exec gave %v", m)
			}
			return call("toolu_2", "wait", map[string]any{"runId": m["runId"]})
		},
		func(t *testing.T, q *request) block {
			m := read(t, q, "toolu_2")
			value, err := json.Marshal(m["value"])
			if m["status"] != "completed" || string(value) != `["A-100","B-700"]` || err != nil {
				t.Errorf("wait gave %v", m)
			}
			return block{Type: "text", Text: "A-100 and B-700."}
		})
	var out bytes.Buffer
	if err := run(t.Context(), &out, question, option.WithBaseURL(srv.URL), option.WithAPIKey(key)); err != nil {
		t.Fatal(err)
	}
	if out.String() != "A-100 and B-700.\n" {
		t.Errorf("output %q", out.String())
	}
}

// TestBadCalls has a model that makes mistakes: it reads of each and goes on.
func TestBadCalls(t *testing.T) {
	bad := func(id string, next block) step {
		return func(t *testing.T, q *request) block {
			if text, failed := result(t, q, id); !failed || text == "" {
				t.Errorf("%s gave %s", id, text)
			}
			return next
		}
	}
	srv := serve(t,
		func(*testing.T, *request) block { return call("a", "list_articles", map[string]any{}) },
		bad("a", call("b", "exec", map[string]any{"code": "return 1", "shell": true})),
		bad("b", call("c", "wait", map[string]any{"runId": "run_of_somebody_else"})),
		bad("c", block{Type: "text", Text: "I give up."}))
	var out bytes.Buffer
	if err := run(t.Context(), &out, "?", option.WithBaseURL(srv.URL), option.WithAPIKey(key)); err != nil || out.String() != "I give up.\n" {
		t.Errorf("%v, %q", err, out.String())
	}
}

// TestEnforced adds a tool to the payload, as a careless part of a program may:
// nothing is sent.
func TestEnforced(t *testing.T) {
	srv := serve(t)
	err := run(t.Context(), io.Discard, "?", option.WithBaseURL(srv.URL), option.WithAPIKey(key), option.WithMaxRetries(0),
		option.WithJSONSet("tools.-1", map[string]any{"type": "web_search_20250305", "name": "web_search"}))
	if !errors.Is(err, host.ErrSurface) {
		t.Errorf("error %v", err)
	}
}
