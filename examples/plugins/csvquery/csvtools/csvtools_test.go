package csvtools

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/sdk"
)

const sales = `city,amount,code,note
Oslo,10,007,
Rome,5.5,008,fine
Oslo,7,009,"a, b"
Bern,,010,Fine
`

// result turns a value into what a cell would see.
func result(t *testing.T, v any, err error) any {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestQuery(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"all", `{}`, `{"columns":["city","amount","code","note"],"total":4,"rows":[
			{"city":"Oslo","amount":10,"code":"007","note":null},
			{"city":"Rome","amount":5.5,"code":"008","note":"fine"},
			{"city":"Oslo","amount":7,"code":"009","note":"a, b"},
			{"city":"Bern","amount":null,"code":"010","note":"Fine"}]}`},
		{"eq and select", `{"where":[{"column":"city","op":"eq","value":"Oslo"}],"select":["code"]}`,
			`{"columns":["code"],"total":2,"rows":[{"code":"007"},{"code":"009"}]}`},
		{"a quoted number", `{"where":[{"column":"amount","op":"eq","value":"10"}],"select":["code"]}`,
			`{"columns":["code"],"total":1,"rows":[{"code":"007"}]}`},
		{"two conditions", `{"where":[{"column":"amount","op":"gte","value":7},{"column":"amount","op":"lt","value":10}],"select":["amount"]}`,
			`{"columns":["amount"],"total":1,"rows":[{"amount":7}]}`},
		{"empty cells are less than nothing", `{"where":[{"column":"amount","op":"lte","value":100}],"select":["city"]}`,
			`{"columns":["city"],"total":3,"rows":[{"city":"Oslo"},{"city":"Rome"},{"city":"Oslo"}]}`},
		{"empty", `{"where":[{"column":"amount","op":"eq"}],"select":["city"]}`, `{"columns":["city"],"total":1,"rows":[{"city":"Bern"}]}`},
		{"not empty", `{"where":[{"column":"note","op":"ne","value":null}],"select":["note"],"limit":1}`,
			`{"columns":["note"],"total":3,"rows":[{"note":"fine"}]}`},
		{"contains, in any case", `{"where":[{"column":"note","op":"contains","value":"FINE"}],"select":["city"]}`,
			`{"columns":["city"],"total":2,"rows":[{"city":"Rome"},{"city":"Bern"}]}`},
		{"group", `{"groupBy":["city"],"aggregates":[{"fn":"sum","column":"amount"},{"fn":"count","as":"n"},{"fn":"max","column":"code"}],"orderBy":[{"column":"n","descending":true},{"column":"city"}]}`,
			`{"columns":["city","sum_amount","n","max_code"],"total":3,"rows":[
				{"city":"Oslo","sum_amount":17,"n":2,"max_code":"009"},
				{"city":"Bern","sum_amount":0,"n":1,"max_code":"010"},
				{"city":"Rome","sum_amount":5.5,"n":1,"max_code":"008"}]}`},
		{"aggregate everything", `{"aggregates":[{"fn":"avg","column":"amount"},{"fn":"min","column":"amount"},{"fn":"count","column":"amount"}]}`,
			`{"columns":["avg_amount","min_amount","count_amount"],"total":1,"rows":[{"avg_amount":7.5,"min_amount":5.5,"count_amount":3}]}`},
		{"aggregate nothing", `{"where":[{"column":"city","op":"eq","value":"Paris"}],"aggregates":[{"fn":"count"},{"fn":"max","column":"amount"}]}`,
			`{"columns":["count","max_amount"],"total":1,"rows":[{"count":0,"max_amount":null}]}`},
		{"order and limit", `{"orderBy":[{"column":"amount"}],"select":["amount"],"limit":2}`,
			`{"columns":["amount"],"total":4,"rows":[{"amount":null},{"amount":5.5}]}`},
		{"rows", `{"rows":[{"a":1,"b":true},{"a":"x"}],"orderBy":[{"column":"a","descending":true}]}`,
			`{"columns":["a","b"],"total":2,"rows":[{"a":"x","b":null},{"a":1,"b":"true"}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := QueryInput{Source: Source{CSV: sales}}
			if err := json.Unmarshal([]byte(tt.in), &in); err != nil {
				t.Fatal(err)
			}
			got, err := Query(in)
			var want any
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, result(t, got, err)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestQueryFails(t *testing.T) {
	tests := []struct{ name, in, code, message string }{
		{"unknown column", `{"where":[{"column":"town","op":"eq"}]}`, "unknown_column", "the columns are city, amount"},
		{"unknown column in select", `{"select":["x"]}`, "unknown_column", `"x"`},
		{"unknown column in order", `{"orderBy":[{"column":"x"}]}`, "unknown_column", `"x"`},
		{"unknown column in group", `{"groupBy":["x"]}`, "unknown_column", `"x"`},
		{"unknown column in aggregate", `{"aggregates":[{"fn":"sum"}]}`, "unknown_column", `""`},
		{"unknown operator", `{"where":[{"column":"city","op":"like"}]}`, "invalid_input", "like"},
		{"unknown aggregate", `{"aggregates":[{"fn":"median","column":"amount"}]}`, "invalid_input", "median"},
		{"sum of texts", `{"aggregates":[{"fn":"sum","column":"city"}]}`, "not_a_number", "Oslo"},
		{"one name twice", `{"aggregates":[{"fn":"count"},{"fn":"count"}]}`, "invalid_input", `"as"`},
		{"no header", `{"csv":""}`, "invalid_csv", "column names"},
		{"ragged", `{"csv":"a,b\n1\n"}`, "invalid_csv", "fields"},
		{"open quote", `{"csv":"a\n\"x"}`, "invalid_csv", "quote"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := QueryInput{Source: Source{CSV: sales}}
			if err := json.Unmarshal([]byte(tt.in), &in); err != nil {
				t.Fatal(err)
			}
			_, err := Query(in)
			var f *sdk.Failure
			if !errors.As(err, &f) || f.Code != tt.code || !strings.Contains(f.Message, tt.message) {
				t.Errorf("Query = %v, want %s saying %q", err, tt.code, tt.message)
			}
		})
	}
}

func TestProfile(t *testing.T) {
	got, err := Profile(Source{CSV: "\ufeff" + sales})
	if err != nil {
		t.Fatal(err)
	}
	want := &ProfileResult{Rows: 4, Columns: []ColumnProfile{
		{Name: "city", Type: "string", Distinct: 3, Min: "Bern", Max: "Rome"},
		{Name: "amount", Type: "number", Empty: 1, Distinct: 3, Min: 5.5, Max: 10.0},
		{Name: "code", Type: "string", Distinct: 4, Min: "007", Max: "010"},
		{Name: "note", Type: "string", Empty: 1, Distinct: 3, Min: "Fine", Max: "fine"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	mixed, err := Profile(Source{Rows: []map[string]any{{"a": 1.0}, {"a": "x"}, {"b": nil}}})
	if err != nil || mixed.Columns[0].Type != "mixed" || mixed.Columns[1].Type != "empty" {
		t.Errorf("Profile = %+v, %v", mixed, err)
	}
}

func TestStats(t *testing.T) {
	two := 2
	got, err := Stats(StatsInput{Text: "It's one, two.\nTwo three two!", Top: &two})
	want := map[string]any{"characters": 29.0, "words": 6.0, "lines": 2.0,
		"topWords": []any{map[string]any{"word": "two", "count": 3.0}, map[string]any{"word": "it's", "count": 1.0}}}
	if diff := cmp.Diff(want, result(t, got, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, err = Stats(StatsInput{})
	want = map[string]any{"characters": 0.0, "words": 0.0, "lines": 0.0, "topWords": []any{}}
	if diff := cmp.Diff(want, result(t, got, err)); diff != "" {
		t.Errorf("an empty text (-want +got):\n%s", diff)
	}
}

// The examples in the manifest are promises.
func TestManifestExamples(t *testing.T) {
	raw, err := os.ReadFile("../cloister.plugin.json")
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Tools []struct {
			Name     string
			Examples []struct{ Input, Output json.RawMessage }
		}
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, tool := range m.Tools {
		for _, e := range tool.Examples {
			ran++
			var got, want any
			switch tool.Name {
			case "csv_query":
				got = example(t, e.Input, Query)
			case "csv_profile":
				got = example(t, e.Input, Profile)
			case "text_stats":
				got = example(t, e.Input, Stats)
			}
			if err := json.Unmarshal(e.Output, &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tool.Name, diff)
			}
		}
	}
	if ran < 3 {
		t.Errorf("only %d examples", ran)
	}
}

func example[In, Out any](t *testing.T, input json.RawMessage, tool func(In) (Out, error)) any {
	t.Helper()
	var in In
	if err := json.Unmarshal(input, &in); err != nil {
		t.Fatal(err)
	}
	out, err := tool(in)
	return result(t, out, err)
}
