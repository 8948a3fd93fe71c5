package gateway

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/plaintext/plaintexttest"
)

func TestTextsOfStrangers(t *testing.T) {
	for name, show := range map[string]func(string) string{
		"tool":   func(s string) string { return questionText(pending(s, "{}", host.ApprovalAsk), Client{}) },
		"client": func(s string) string { return questionText(pending("t", "{}", host.ApprovalAsk), Client{Name: s}) },
		"caller": func(s string) string {
			p := pending("t", "{}", host.ApprovalAsk)
			p.Call.Caller = s
			return questionText(p, Client{})
		},
	} {
		t.Run(name, func(t *testing.T) { plaintexttest.Show(t, show) })
	}
	t.Run("arguments", func(t *testing.T) {
		plaintexttest.JSON(t, func(input json.RawMessage) string {
			return questionText(pending("t", string(input), host.ApprovalAsk), Client{})
		})
	})
	t.Run("long arguments", func(t *testing.T) {
		plaintexttest.JSON(t, func(input json.RawMessage) string {
			return questionText(pending("t", `{"a":`+string(input)+`,"b":"`+strings.Repeat("x", maxShownArguments)+`"}`, host.ApprovalAsk), Client{})
		})
	})
	for name, show := range map[string]func(*mcp.Resource) string{
		"title":       func(r *mcp.Resource) string { return r.Title },
		"description": func(r *mcp.Resource) string { return strings.ReplaceAll(r.Description, "\n", " ") },
	} {
		t.Run(name, func(t *testing.T) {
			plaintexttest.Prompt(t, func(s string) string {
				raw, err := json.Marshal(map[string]string{"uri": "x:1", "name": "n", name: s})
				if err != nil {
					t.Fatal(err)
				}
				r, ok := resourceOf(raw)
				if !ok {
					t.Fatalf("%s is refused", raw)
				}
				return show(r)
			})
		})
	}
}
