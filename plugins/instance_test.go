package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/extism"
	"github.com/cloister-wasm/cloister/internal/schema"
	"github.com/google/go-cmp/cmp"
)

func call(t *testing.T, i *Instance, tool, input string) string {
	t.Helper()
	out, err := i.Call(context.Background(), tool, json.RawMessage(input))
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return string(out)
}

func TestCallThroughEnvelope(t *testing.T) {
	i := newInstance(t, guestPlugin(t, nil))
	got := call(t, i, "echo", ` {"a": "<&>", "big": 12345678901234567890}`)
	if want := `{"abi":1,"tool":"echo","input": {"a": "<&>", "big": 12345678901234567890}}`; got != want {
		t.Errorf("the plugin got %s, want %s", got, want)
	}
	var req guestabi.CallRequest
	if err := json.Unmarshal([]byte(got), &req); err != nil || req.ABI != ABIVersion || req.Tool != "echo" {
		t.Errorf("the envelope is not a guestabi.CallRequest: %+v, %v", req, err)
	}
	if got := call(t, i, "raw", `{"Text":"{\"abi\":1,\"value\":null}"}`); got != "null" {
		t.Errorf("a null result = %s", got)
	}
}

func TestCallBare(t *testing.T) {
	i := newInstance(t, guestPlugin(t, nil))
	if got := call(t, i, "bare", `{"x":[1,2]}`); got != `{"x":[1,2]}` {
		t.Errorf("bare = %s", got)
	}
}

func TestToolErrors(t *testing.T) {
	i := newInstance(t, guestPlugin(t, nil))
	quote := func(s string) string {
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	answer := func(s string) string { return `{"Text":` + quote(s) + `}` }
	refuse := func(s string, code int) string { return fmt.Sprintf(`{"Text":%s,"Code":%d}`, quote(s), code) }
	tests := []struct {
		name, tool, input string
		want              ToolError
	}{
		{"envelope", "raw", answer(`{"abi":1,"error":{"name":"RangeError","message":"too far","code":"out_of_range"}}`), ToolError{"RangeError", "too far", "out_of_range"}},
		{"defaults", "raw", answer(`{"abi":1,"error":{"message":"no"}}`), ToolError{"Error", "no", "tool_failed"}},
		{"no message", "raw", answer(`{"abi":1,"error":{"message":""}}`), ToolError{"Error", "the tool failed without a message", "tool_failed"}},
		{"unusable name and code", "raw", answer(`{"abi":1,"error":{"name":"a b","message":"m","code":"A-B"}}`), ToolError{"Error", "m", "tool_failed"}},
		{"long message", "raw", answer(`{"abi":1,"error":{"message":"` + strings.Repeat("ü", 4000) + `"}}`), ToolError{"Error", strings.Repeat("ü", 2046) + "…", "tool_failed"}},
		{"PDK error", "refuse", refuse("plain text", 1), ToolError{"Error", "plain text", "tool_failed"}},
		{"PDK error without code", "refuse", refuse("plain text", 0), ToolError{"Error", "plain text", "tool_failed"}},
		{"PDK error as JSON", "refuse", refuse(`{"name":"TypeError","message":"m","code":"c"}`, 1), ToolError{"TypeError", "m", "c"}},
		{"PDK error as other JSON", "refuse", refuse(`{"error":"m"}`, 1), ToolError{"Error", `{"error":"m"}`, "tool_failed"}},
		{"return code only", "refuse", refuse("", 9), ToolError{"Error", "the tool failed without a message (return code 9)", "tool_failed"}},
		{"bare", "bare", `{"Fail":"no"}`, ToolError{"Error", "no", "tool_failed"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := i.Call(context.Background(), tt.tool, json.RawMessage(tt.input))
			var te *ToolError
			var pe *PluginError
			if !errors.As(err, &te) || errors.As(err, &pe) {
				t.Fatalf("Call = %v, want a ToolError", err)
			}
			if diff := cmp.Diff(tt.want, *te); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if i.Finished() {
		t.Error("a failing tool cost the instance")
	}
}

// refused calls a tool that must end in a PluginError of a kind.
func refused(t *testing.T, i *Instance, tool, input string, kind error) *PluginError {
	t.Helper()
	_, err := i.Call(context.Background(), tool, json.RawMessage(input))
	var pe *PluginError
	var te *ToolError
	if !errors.As(err, &pe) || errors.As(err, &te) || !errors.Is(err, kind) {
		t.Fatalf("%s(%.60s) = %v, want %v", tool, input, err, kind)
	}
	if len(err.Error()) > 1500 || strings.Contains(err.Error(), "\n") {
		t.Errorf("error is not one bounded line: %q", err)
	}
	return pe
}

func TestBadInput(t *testing.T) {
	i := newInstance(t, guestPlugin(t, func(o *LoadOptions) { o.Limits.InputBytes = 1000 }))
	for _, in := range []string{"", "null", "[]", `"x"`, "{", `{"a":1,"a":2}`, "{}{}", `{},"tool":"loop"`, `{}}`, "{\"a\":\"\xff\"}",
		strings.Repeat(`{"a":`, 130) + "1" + strings.Repeat("}", 130), `{"n":1e999999999}`} {
		refused(t, i, "count", in, ErrInput)
	}
	pe := refused(t, i, "cuont", `{}`, ErrUnknownTool)
	if !strings.Contains(pe.Detail, `did you mean "count"?`) {
		t.Errorf("Detail = %q", pe.Detail)
	}
	refused(t, i, strings.Repeat("x\n", 10_000), `{}`, ErrUnknownTool)
	pad := func(n int) string { return `{"a":"` + strings.Repeat("x", n-8) + `"}` }
	refused(t, i, "count", pad(1001), ErrLimit)
	if got := call(t, i, "count", pad(1000)); got != "1" {
		t.Errorf("refused calls reached the plugin: count = %s", got)
	}
}

func TestBadAnswers(t *testing.T) {
	i := newInstance(t, guestPlugin(t, nil))
	for _, tt := range []struct{ answer, detail string }{
		{"", "no output"},
		{"hello", "not valid JSON"},
		{`"value"`, "expected object"},
		{`{"value":1}`, `no "abi": 1`},
		{`{"abi":0,"value":1}`, `no "abi": 1`},
		{`{"abi":"1","value":1}`, "expected integer"},
		{`{"abi":2,"anything":{}}`, "ABI version 2, this host speaks 1"},
		{`{"abi":1}`, "neither"},
		{`{"abi":1,"value":1,"error":{"message":"m"}}`, "both"},
		{`{"abi":1,"value":null,"error":{"message":"m"}}`, "both"},
		{`{"abi":1,"value":1,"more":2}`, `unknown property "more"`},
		{`{"abi":1,"value":1} x`, ""},
		{`{"abi":1,"value":1,"value":2}`, "twice"},
		{`{"abi":1,"value":{"a":1,"a":2}}`, "twice"},
		{`{"ABI":1,"value":1}`, `no "abi": 1`},
		{`{"abi":1,"value":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, "nested deeper"},
		{`{"abi":1,"error":"m"}`, "expected object"},
		{`{"abi":1,"error":{"message":"m","stack":"s"}}`, `unknown property "stack"`},
	} {
		raw, err := json.Marshal(map[string]string{"Text": tt.answer})
		if err != nil {
			t.Fatal(err)
		}
		if pe := refused(t, i, "raw", string(raw), ErrProtocol); !strings.Contains(pe.Detail, tt.detail) {
			t.Errorf("%s: %q, want it to say %q", tt.answer, pe.Detail, tt.detail)
		}
	}
	for _, text := range []string{"", "hello", `{"a":1,"a":1}`} {
		raw, err := json.Marshal(map[string]string{"Text": text})
		if err != nil {
			t.Fatal(err)
		}
		refused(t, i, "bare", string(raw), ErrProtocol)
	}
	if i.Finished() {
		t.Error("a bad answer cost the instance")
	}
}

func TestOutputLimit(t *testing.T) {
	p := guestPlugin(t, func(o *LoadOptions) { o.Limits.OutputBytes = 100_000 })
	i := newInstance(t, p)
	if got := len(call(t, i, "big", `{"N":99998}`)); got != 100_000 {
		t.Errorf("%d bytes", got)
	}
	refused(t, i, "big", `{"N":99999}`, ErrLimit)
	refused(t, i, "big", `{"N":200000}`, ErrLimit)
	refused(t, i, "big", `{"N":10000000}`, ErrLimit)
}

func TestBrokenPlugin(t *testing.T) {
	p := guestPlugin(t, nil)
	tests := []struct {
		tool, input string
		kind        error
		diagnostics string
	}{
		{"panic", `{"Text":"oh no"}`, ErrBroken, "oh no"},
		{"eat", `{}`, ErrMemory, "out of memory"},
		{"loop", `{}`, ErrStopped, ""},
		{"sleep", `{}`, ErrStopped, ""},
	}
	for _, tt := range tests {
		t.Run(tt.tool, func(t *testing.T) {
			i := newInstance(t, p)
			pe := refused(t, i, tt.tool, tt.input, tt.kind)
			if pe.Plugin != "tests.guest" || pe.Tool != tt.tool {
				t.Errorf("%+v", pe)
			}
			if !strings.Contains(pe.Diagnostics, tt.diagnostics) {
				t.Errorf("Diagnostics = %q, want them to hold %q", pe.Diagnostics, tt.diagnostics)
			}
			if errors.Is(pe, ErrStopped) != errors.Is(pe, context.DeadlineExceeded) {
				t.Errorf("not a deadline: %v", pe)
			}
			if tt.kind == ErrMemory && !errors.Is(pe, ErrBroken) {
				t.Error("ErrMemory is not ErrBroken")
			}
			if !i.Finished() {
				t.Error("the instance is not finished")
			}
			refused(t, i, "count", `{}`, ErrFinished)
			if got := call(t, newInstance(t, p), "count", `{}`); got != "1" {
				t.Errorf("a new instance: count = %s", got)
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	p := guestPlugin(t, func(o *LoadOptions) { o.Limits.CallTime = 5 * time.Second })
	for tool, want := range map[string]time.Duration{"loop": 200 * time.Millisecond, "echo": 5 * time.Second, "none": 0} {
		if got := p.Timeout(tool); got != want {
			t.Errorf("Timeout(%s) = %v, want %v", tool, got, want)
		}
	}
	m := Manifest{Tools: []Tool{{Name: "t", TimeoutMs: 300}}, Permissions: Permissions{TimeoutMs: 200}}
	if got := m.timeout(&m.Tools[0], time.Second); got != 200*time.Millisecond {
		t.Errorf("the plugin's bound does not hold: %v", got)
	}
}

func TestInstancesShareNothing(t *testing.T) {
	p := guestPlugin(t, nil)
	a, b := newInstance(t, p), newInstance(t, p)
	got := []string{call(t, a, "count", `{}`), call(t, a, "count", `{}`), call(t, b, "count", `{}`)}
	if diff := cmp.Diff([]string{"1", "2", "1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestConcurrentCalls(t *testing.T) {
	p := guestPlugin(t, nil)
	shared := newInstance(t, p)
	var wg sync.WaitGroup
	for g := range 6 {
		wg.Go(func() {
			own, err := p.NewInstance(context.Background(), nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer own.Close()
			for n := range 5 {
				in := fmt.Sprintf(`{"g":%d,"n":%d}`, g, n)
				for _, i := range []*Instance{own, shared} {
					if got, err := i.Call(context.Background(), "bare", json.RawMessage(in)); err != nil || string(got) != in {
						t.Errorf("bare(%s) = %s, %v", in, got, err)
					}
				}
			}
		})
	}
	wg.Wait()
}

func TestLog(t *testing.T) {
	var got []LogRecord
	p := guestPlugin(t, func(o *LoadOptions) { o.Log = func(r LogRecord) { got = append(got, r) } })
	call(t, newInstance(t, p), "log", `{"Text":"hello"}`)
	want := []LogRecord{{Plugin: "tests.guest", Level: "stdout", Text: "hello"}, {Plugin: "tests.guest", Level: "stderr", Text: "hello"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The example plugin, built as its README says, answers its manifest's examples with what they promise.
func TestExamplePlugin(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and compiles a plugin that package examples runs as well")
	}
	dir := t.TempDir()
	p := load(t, copyExample(t, dir), devOptions())
	if p.ID() != "examples.csv" {
		t.Errorf("ID = %s", p.ID())
	}
	i := newInstance(t, p)
	for _, tool := range p.Tools() {
		for _, e := range tool.Examples {
			var got, want any
			if err := json.Unmarshal([]byte(call(t, i, tool.Name, string(e.Input))), &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(e.Output, &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tool.Name, diff)
			}
		}
	}
	_, err := i.Call(context.Background(), "csv_query", json.RawMessage(`{"csv":"a\n1\n","select":["b"]}`))
	var te *ToolError
	if !errors.As(err, &te) || te.Code != "unknown_column" || te.Name != "CsvError" || !strings.Contains(te.Message, "the columns are a") {
		t.Errorf("csv_query with an unknown column = %v", err)
	}
}

// FuzzAnswer feeds what a plugin may write to the readers of answers.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{`{"abi":1,"value":{"a":[1]}}`, `{"abi":1,"error":{"name":"E","message":"m","code":"c"}}`, `{"abi":2}`, `null`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		for _, read := range []func([]byte) (json.RawMessage, error){bareAnswer, envelopeAnswer} {
			value, err := read(out)
			var te *ToolError
			switch {
			case errors.As(err, &te):
				if te.Message == "" || len(te.Message) > maxMessage+8 || !namePattern.MatchString(te.Name) || !codePattern.MatchString(te.Code) {
					t.Fatalf("a loose ToolError: %+v", te)
				}
			case err == nil:
				if cerr := schema.Check(value); cerr != nil {
					t.Fatalf("%q passed: %v", value, cerr)
				}
			}
		}
		if err := (&Instance{}).failure("t", &extism.GuestError{Code: 1, Message: string(out)}); err == nil {
			t.Fatal("a failure is no error")
		}
	})
}

// BenchmarkEnvelope opens an answer with a megabyte of rows.
func BenchmarkEnvelope(b *testing.B) {
	row := `{"id":12345,"name":"a row of a table","price":12.5,"tags":["one","two","three"],"note":null}`
	answer := []byte(`{"abi":1,"value":[` + row + strings.Repeat(","+row, 1<<20/len(row)) + `]}`)
	b.SetBytes(int64(len(answer)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := envelopeAnswer(answer); err != nil {
			b.Fatal(err)
		}
	}
}
