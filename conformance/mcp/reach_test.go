//go:build conformance

package mcp_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// reach holds the reasons in the baselines to the truth: what the suite cannot call by
// MCP's own methods is reached in another way.
var reach = map[string][]struct {
	tool      string
	arguments map[string]any
	want      string
}{
	"code": {
		{"exec", cell(`return await MCP.everything.testSimpleText({})`), "This is a simple text response for testing."},
		{"exec", cell(`return await MCP.everything.resources.read({uri: "test://static-text"})`), "This is the content of the static text resource."},
		{"exec", cell(`return await MCP.everything.prompts.get({name: "test_prompt_with_arguments", arguments: {arg1: "a", arg2: "b"}})`), "arg1='a', arg2='b'"},
		{"exec", cell(`try { await MCP.everything.testSampling({prompt: "p"}) } catch (e) { return e.message }`), "ampling"},
	},
	"direct": {
		{upstreamPrefix + "test_sampling", map[string]any{"prompt": "p"}, "ampling"},
	},
}

func cell(code string) map[string]any { return map[string]any{"code": code} }

type authorized struct{}

// RoundTrip implements http.RoundTripper.
func (authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return http.DefaultTransport.RoundTrip(r)
}

func checkReach(t *testing.T, endpoint, mode string) {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "reach", Version: "1"}, nil)
	cs, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: endpoint, HTTPClient: &http.Client{Transport: authorized{}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer cs.Close()
	for _, c := range reach[mode] {
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: c.tool, Arguments: c.arguments})
		if err != nil {
			t.Errorf("%s %v: %v", c.tool, c.arguments, err)
			continue
		}
		if text, err := json.Marshal(res); err != nil || !strings.Contains(string(text), c.want) {
			t.Errorf("%s %v: got %s (%v), want %q in it", c.tool, c.arguments, text, err, c.want)
		}
	}
}
