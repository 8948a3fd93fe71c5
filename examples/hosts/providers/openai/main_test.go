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

	"github.com/openai/openai-go/v3/option"

	"github.com/cloister-wasm/cloister/host"
)

const key = "sk-test-key-of-the-example"

// request is what the model server reads of a request; anything else fails the test.
type request struct {
	Model              string          `json:"model"`
	Instructions       string          `json:"instructions"`
	PreviousResponseID string          `json:"previous_response_id"`
	Input              json.RawMessage `json:"input"`
	Tools              []struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Strict      *bool           `json:"strict"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"tools"`
}

// output is the result of a call that goes back to the model.
type output struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output string `json:"output"`
}

// step is one request and its response: the script checks the one and gives the other.
type step func(t *testing.T, q *request) (outputItem map[string]any)

// serve serves a script. It answers nothing that the script does not expect.
func serve(t *testing.T, steps ...step) *httptest.Server {
	n := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/responses" || r.Header.Get("Authorization") != "Bearer "+key || n >= len(steps) {
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
			if tool.Type != "function" || tool.Description == "" || !json.Valid(tool.Parameters) || tool.Strict == nil || *tool.Strict {
				t.Errorf("request %d: tool %+v", n, tool)
			}
		}
		if !slices.Equal(names, []string{"exec", "wait"}) {
			t.Errorf("the model sees %v", names)
		}
		if previous := []string{"", "resp_0", "resp_1", "resp_2"}[n]; q.PreviousResponseID != previous {
			t.Errorf("request %d: after %q, want %q", n, q.PreviousResponseID, previous)
		}
		id := []string{"resp_0", "resp_1", "resp_2", "resp_3"}[n]
		item := steps[n](t, &q)
		n++
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(map[string]any{"id": id, "object": "response", "status": "completed", "output": []any{item}}); err != nil {
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

func call(id, name string, arguments any) map[string]any {
	text, err := json.Marshal(arguments)
	if err != nil {
		panic(err) // the arguments are the test's own
	}
	return map[string]any{"type": "function_call", "id": "fc_" + id, "call_id": id, "name": name, "arguments": string(text), "status": "completed"}
}

func message(text string) map[string]any {
	return map[string]any{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
		"content": []any{map[string]any{"type": "output_text", "text": text, "annotations": []any{}}}}
}

// result reads the one result in a request's input.
func result(t *testing.T, q *request, callID string) map[string]any {
	t.Helper()
	var items []output
	if err := json.Unmarshal(q.Input, &items); err != nil || len(items) != 1 || items[0].Type != "function_call_output" || items[0].CallID != callID {
		t.Fatalf("input %s: %v", q.Input, err)
	}
	var m map[string]any
	if err := json.Unmarshal([]byte(items[0].Output), &m); err != nil {
		t.Fatalf("output %s: %v", items[0].Output, err)
	}
	return m
}

const program = `const all = await tools.list_articles({});
await yield_control();
return all.filter((a) => a.onHand / a.perWeek < 2).map((a) => a.sku);`

func TestTurn(t *testing.T) {
	const question = "Which articles run out within two weeks?"
	srv := serve(t,
		func(t *testing.T, q *request) map[string]any {
			if string(q.Input) != `"`+question+`"` || q.Instructions == "" || q.Model == "" || !strings.Contains(q.Tools[0].Description, "list_articles") {
				t.Errorf("first request: %+v", q)
			}
			return call("call_1", "exec", map[string]string{"code": program})
		},
		func(t *testing.T, q *request) map[string]any {
			m := result(t, q, "call_1")
			if m["status"] != "waiting" || m["reason"] != "yield" {
				t.Errorf("exec gave %v", m)
			}
			return call("call_2", "wait", map[string]any{"runId": m["runId"]})
		},
		func(t *testing.T, q *request) map[string]any {
			m := result(t, q, "call_2")
			value, err := json.Marshal(m["value"])
			if m["status"] != "completed" || string(value) != `["A-100","B-700"]` || err != nil {
				t.Errorf("wait gave %v", m)
			}
			return message("A-100 and B-700.")
		})
	var out bytes.Buffer
	if err := run(t.Context(), &out, question, option.WithBaseURL(srv.URL+"/v1/"), option.WithAPIKey(key)); err != nil {
		t.Fatal(err)
	}
	if out.String() != "A-100 and B-700.\n" {
		t.Errorf("output %q", out.String())
	}
}

// TestBadCalls has a model that makes mistakes: it reads of each and goes on.
func TestBadCalls(t *testing.T) {
	bad := func(id string, next map[string]any) step {
		return func(t *testing.T, q *request) map[string]any {
			if m := result(t, q, id); m["status"] != "failed" || m["error"] == "" {
				t.Errorf("%s gave %v", id, m)
			}
			return next
		}
	}
	srv := serve(t,
		func(*testing.T, *request) map[string]any { return call("a", "list_articles", map[string]any{}) },
		bad("a", call("b", "exec", map[string]any{"code": "return 1", "shell": true})),
		bad("b", call("c", "wait", map[string]any{"runId": "run_of_somebody_else"})),
		bad("c", message("I give up.")))
	var out bytes.Buffer
	if err := run(t.Context(), &out, "?", option.WithBaseURL(srv.URL+"/v1/"), option.WithAPIKey(key)); err != nil || out.String() != "I give up.\n" {
		t.Errorf("%v, %q", err, out.String())
	}
}

// TestEnforced adds a tool to the payload, as a careless part of a program may:
// nothing is sent.
func TestEnforced(t *testing.T) {
	srv := serve(t)
	err := run(t.Context(), io.Discard, "?", option.WithBaseURL(srv.URL+"/v1/"), option.WithAPIKey(key), option.WithMaxRetries(0),
		option.WithJSONSet("tools.-1", map[string]any{"type": "web_search"}))
	if !errors.Is(err, host.ErrSurface) {
		t.Errorf("error %v", err)
	}
}
