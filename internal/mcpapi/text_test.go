package mcpapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/internal/mcpapi"
	"github.com/cloister-wasm/cloister/internal/plaintext/plaintexttest"
)

func TestTextsOfStrangers(t *testing.T) {
	for name, show := range map[string]func(string) string{
		"description": func(s string) string {
			tl := tool("f", `{}`)
			tl.Description = s
			return strings.ReplaceAll(body(t, server(tl), 0), "\n   * ", " ")
		},
		"parameter": func(s string) string {
			schema, err := json.Marshal(map[string]any{"properties": map[string]any{"p": map[string]string{"description": s}}})
			if err != nil {
				t.Fatal(err)
			}
			return body(t, server(tool("f", string(schema))), 0)
		},
		"instructions": func(s string) string { return strings.ReplaceAll(mcpapi.Instructions(s), "\n", " ") },
	} {
		t.Run(name, func(t *testing.T) { plaintexttest.Prompt(t, show) })
	}
}
