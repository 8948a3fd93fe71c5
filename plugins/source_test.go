package plugins

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/google/go-cmp/cmp"
)

func described(tools ...guestabi.DescribedTool) *guestabi.Description {
	return &guestabi.Description{Tools: tools}
}

var greet = guestabi.DescribedTool{Name: "greet", Description: "Greets <people>.", Parameters: json.RawMessage(`{"type":"object"}`), Returns: json.RawMessage(`{"type":"string"}`)}

const sourceHead = `{"abi":"cloister.plugin/1","id":"acme.hello","version":"1.0.0","description":"x"`

func TestComplete(t *testing.T) {
	tests := []struct {
		name, source string
		code         *guestabi.Description
		want         []Tool
	}{
		{"tools from the code", sourceHead + `}`, described(greet), []Tool{{Name: "greet", Description: "Greets <people>.", Parameters: greet.Parameters, Returns: greet.Returns}}},
		{"what is written stays", sourceHead + `,"tools":[{"name":"greet","description":"Mine.","approval":"ask"}]}`, described(greet),
			[]Tool{{Name: "greet", Description: "Mine.", Parameters: greet.Parameters, Returns: greet.Returns, Approval: ApprovalAsk}}},
		{"others are added", sourceHead + `,"tools":[{"name":"part","export":"part","description":"d","parameters":{"type":"object"}}]}`, described(greet), []Tool{
			{Name: "part", Description: "d", Parameters: json.RawMessage(`{"type":"object"}`), Export: "part"},
			{Name: "greet", Description: "Greets <people>.", Parameters: greet.Parameters, Returns: greet.Returns}}},
		{"all is written", sourceHead + `,"tools":[{"name":"t","description":"d","parameters":{"type":"object"}}]}`, nil,
			[]Tool{{Name: "t", Description: "d", Parameters: json.RawMessage(`{"type":"object"}`)}}},
		{"namespace over tools of the code", sourceHead + `,"namespaces":[{"id":"n","globalName":"Hello","description":"x","requiredToolNames":["greet"],"scope":{"greet":{"$tool":"greet"}}}]}`,
			described(greet), []Tool{{Name: "greet", Description: "Greets <people>.", Parameters: greet.Parameters, Returns: greet.Returns}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := ParseSourceManifest([]byte(tt.source))
			if err != nil {
				t.Fatal(err)
			}
			raw, err := s.Complete(tt.code)
			if err != nil {
				t.Fatal(err)
			}
			m, err := ParseManifest(raw)
			if err != nil {
				t.Fatal(err)
			}
			for i := range m.Tools { // indented
				m.Tools[i].Parameters = json.RawMessage(compact(m.Tools[i].Parameters))
				if m.Tools[i].Returns != nil {
					m.Tools[i].Returns = json.RawMessage(compact(m.Tools[i].Returns))
				}
			}
			if diff := cmp.Diff(tt.want, m.Tools); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			again, err := s.Complete(tt.code)
			if err != nil || string(again) != string(raw) {
				t.Errorf("the second time differs: %v", err)
			}
			if strings.Contains(string(raw), `\u003c`) || !strings.Contains(string(raw), "\n  \"id\": \"acme.hello\"") {
				t.Errorf("not fit for people: %s", raw)
			}
		})
	}
}

func TestCompleteRefuses(t *testing.T) {
	bare := guestabi.DescribedTool{Name: "bare"}
	tests := []struct {
		name, source string
		code         *guestabi.Description
		want         []string
	}{
		{"no tools", sourceHead + `}`, nil, []string{"/tools: neither the manifest nor the code has a tool; register one in the code"}},
		{"nobody says", sourceHead + `}`, described(bare), []string{
			`/tools/0/description: neither the manifest nor the code describes the tool "bare"; say what`,
			`/tools/0/parameters: neither the manifest nor the code says what the tool "bare" takes; a tool without input`}},
		{"written, but not in the code", sourceHead + `,"tools":[{"name":"great","description":"x","parameters":{"type":"object"}}]}`, described(greet),
			[]string{`/tools/0: the code has no tool "great"; register it in the code, or take it out of the manifest`}},
		{"twice in the code", sourceHead + `}`, described(greet, greet), []string{`/tools: the code has two tools "greet"`}},
		{"bad schema from the code", sourceHead + `}`, described(guestabi.DescribedTool{Name: "a", Description: "d", Parameters: json.RawMessage(`{"type":"string"}`)}),
			[]string{`/tools/0/parameters: does not say that the input is an object`}},
		{"bad name from the code", sourceHead + `}`, described(guestabi.DescribedTool{Name: "a b", Description: "d", Parameters: json.RawMessage(`{"type":"object"}`)}),
			[]string{`/tools/0/name: has the wrong form`}},
		{"no JSON from the code", sourceHead + `}`, described(guestabi.DescribedTool{Name: "a", Description: "d", Parameters: json.RawMessage(`{"type":`)}),
			[]string{`(the whole file): what the code describes cannot be written as JSON`}},
		{"namespace over a tool that nobody has", sourceHead + `,"namespaces":[{"id":"n","globalName":"Hello","description":"x","requiredToolNames":["grete"],"scope":{}}]}`, described(greet),
			[]string{`/namespaces/0/requiredToolNames/0: "grete" is not a tool of this plugin; did you mean "greet"?`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := ParseSourceManifest([]byte(tt.source))
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Complete(tt.code)
			var me *ManifestError
			if !errors.As(err, &me) || len(me.Problems) != len(tt.want) {
				t.Fatalf("Complete = %v, want %q", err, tt.want)
			}
			for i, p := range me.Problems {
				if !strings.HasPrefix(p.String(), tt.want[i]) {
					t.Errorf("%s, want %s", p, tt.want[i])
				}
			}
		})
	}
}

// What an author may leave out is no licence for the rest.
func TestParseSourceManifestRefuses(t *testing.T) {
	for source, want := range map[string]string{
		`{"abi":"cloister.plugin/1"}`:                           `"id"`,
		sourceHead + `,"tools":[{"description":"x"}]}`:          `"name"`,
		sourceHead + `,"tools":[{"name":"a","descripton":1}]}`:  `unknown property "descripton"`,
		sourceHead + `,"tools":[{"name":"a","parameters":{}}]}`: "input is an object",
		sourceHead + `,"permissions":{"hosts":[{"host":"*"}]}}`: "every host",
		sourceHead + `,"namespaces":[{"id":"n","globalName":"tools","description":"x","requiredToolNames":["a"],"scope":{}}]}`: "built-in of cells",
		`{"abi":1,"abi":1}`: "twice",
	} {
		_, err := ParseSourceManifest([]byte(source))
		if !errors.Is(err, ErrManifest) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want it to say %s", source, err, want)
		}
	}
}

// A bundle says where a secret goes, also where the author left that to the one host there is.
func TestCompleteBindsSecrets(t *testing.T) {
	s, err := ParseSourceManifest([]byte(sourceHead + `,"permissions":{"hosts":[{"host":"api.example.com"}],"secrets":["token"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := s.Complete(described(greet))
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Permissions struct{ Secrets any } }
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	want := []any{map[string]any{"name": "token", "hosts": []any{"api.example.com"}}}
	if diff := cmp.Diff(any(want), got.Permissions.Secrets); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
