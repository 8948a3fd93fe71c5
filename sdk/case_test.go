package sdk

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/internal/schema"
)

type cased struct {
	Name string             `json:"name"`
	List []cased            `json:"list"`
	Map  map[string]subIn   `json:"map"`
	Any  map[string]any     `json:"any"`
	Raw  json.RawMessage    `json:"raw"`
	Ptr  **subIn            `json:"ptr"`
	Odd  odd                `json:"odd"`
	Odds []map[string][]odd `json:"odds"`
	NAME string             `json:"NAME"`
}

func TestCaseOfMembers(t *testing.T) {
	tests := []struct{ name, data, want string }{
		{"right", `{"name":"x","NAME":"y","list":[{"name":"z"}],"map":{"KEY":{"key":"v"}},"any":{"Name":{"Name":1}},"raw":{"Name":1},"ptr":{"key":"k"}}`, ""},
		{"spaces", " { \"name\" :\n\t\"x\" , \"list\" : [ { } , { \"NAME\" : \"\" } ] , \"u\" : [ ] , \"v\" : -1.5e3 , \"w\" : true } ", ""},
		{"strings that look like more", `{"name":"\\","any":{"\"Name\"":"}{\\\""},"u":"\"List\":"}`, ""},
		{"first letter", `{"Any":{}}`, `"Any"; write it "any"`},
		{"in a list", `{"list":[{},{"list":[{"LIST":[]}]}]}`, `"LIST"; write it "list"`},
		{"in a map", `{"map":{"a":{"Key":""}}}`, `"Key"; write it "key"`},
		{"behind pointers", `{"ptr":{"KEY":""}}`, `"KEY"; write it "key"`},
		{"escaped", `{"\u004cist":[]}`, `"List"; write it "list"`},
		{"another letter that folds", "{\"li\u017ft\":[]}", "\"li\u017ft\"; write it \"list\""},
		{"after the right one", `{"list":[],"List":[]}`, `"List"`},
		{"own JSON", `{"odd":{"V":1},"odds":[{"a":[{"V":1}]}]}`, ""},
		{"null", `null`, ""},
		{"other kinds", `{"list":null,"map":null,"ptr":null}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var v cased
			err := decodeInput([]byte(tt.data), &v, reflect.TypeFor[cased]())
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("decodeInput = %v, want %q", err, tt.want)
			}
		})
	}
}

type fuzzed struct {
	Name string            `json:"name"`
	List []fuzzed          `json:"list"`
	Map  map[string]subIn  `json:"map"`
	Any  map[string]string `json:"any"`
	Flag *bool             `json:"flag"`
}

// FuzzInput holds decoding against the host's strict decoder: what that takes, this takes with the same result, unless a
// member is one of another case, which the host's decoder takes for unknown.
func FuzzInput(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, want fuzzed
		err := decodeInput(data, &got, reflect.TypeFor[fuzzed]())
		strict := schema.DecodeInto(data, &want, &schema.DecodeOptions{AllowUnknown: true})
		if strict == nil {
			if err != nil && strings.Contains(err.Error(), "; write it ") {
				return
			}
			if err != nil {
				t.Fatalf("refused: %v", err)
			}
			a, b := normal(t, got), normal(t, want)
			if diff := cmp.Diff(b, a); diff != "" {
				t.Fatalf("(-host +sdk):\n%s", diff)
			}
		}
	})
}

// normal makes nil and empty alike.
func normal(t *testing.T, v fuzzed) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	for _, empty := range []string{"[]", "{}"} {
		b = bytes.ReplaceAll(b, []byte(":"+empty), []byte(":null"))
	}
	return string(b)
}

func BenchmarkDecodeInput(b *testing.B) {
	data, err := json.Marshal(fuzzed{Name: strings.Repeat("text ", 20000), List: make([]fuzzed, 1000)})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		var v fuzzed
		if err := decodeInput(data, &v, reflect.TypeFor[fuzzed]()); err != nil {
			b.Fatal(err)
		}
	}
}
