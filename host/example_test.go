package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/cloister-wasm/cloister/host"
)

// weather is a tool of the embedding program.
var weather = host.Tool("get_weather", "Get the weather of a city.", func(_ context.Context, in struct {
	City string `json:"city" jsonschema:"name of the city"`
}) (struct {
	Celsius int `json:"celsius"`
}, error) {
	var out struct {
		Celsius int `json:"celsius"`
	}
	out.Celsius = len(in.City)
	return out, nil
})

// exampleRun makes a host with tools and a run on it.
func exampleRun(o host.RunOptions, tools ...host.RawTool) (*host.Run, func()) {
	h, err := host.New(context.Background(), &host.Options{CodeMode: host.CodeModeConfig{Enabled: true}, Tools: tools})
	if err != nil {
		log.Fatal(err)
	}
	o.AgentRunID, o.SessionID = "run-1", "session-1"
	r, err := h.NewRun(context.Background(), o)
	if err != nil {
		log.Fatal(err)
	}
	return r, func() {
		if err := h.Close(); err != nil {
			log.Fatal(err)
		}
	}
}

func ExampleNew() {
	cfg, err := host.ParseCodeMode([]byte(`{"enabled": true, "timeoutMs": 5000}`))
	if err != nil {
		log.Fatal(err)
	}
	h, err := host.New(context.Background(), &host.Options{
		CodeMode: cfg,
		Tools:    []host.RawTool{weather},
		Deny:     []string{"delete_*"},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	r, err := h.NewRun(context.Background(), host.RunOptions{AgentRunID: "run-1", SessionID: "session-1"})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	for _, tool := range r.Surface() {
		fmt.Println(tool.Name)
	}
	// Output:
	// exec
	// wait
}

func ExampleHost_NewRun() {
	h, err := host.New(context.Background(), &host.Options{CodeMode: host.CodeModeConfig{Enabled: true}, Tools: []host.RawTool{weather}})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	// Each agent run has its own catalog and its own scope.
	r, err := h.NewRun(context.Background(), host.RunOptions{
		AgentID: "planner", AgentRunID: "run-1", SessionID: "session-1",
		ClientTools: []host.ClientTool{{App: "editor", Name: "select_file", Description: "Let the user choose a file."}},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, tool := range r.Catalog() {
		fmt.Println(tool.ID)
	}
	// Output:
	// cloister:core:get_weather
	// client:editor:select_file
}

func ExampleRun_Exec() {
	r, done := exampleRun(host.RunOptions{}, weather)
	defer done()
	res, err := r.Exec(context.Background(), host.ExecInput{Code: `
		const cities = ['Oslo', 'Reykjavik'];
		const all = await Promise.all(cities.map((city) => tools.get_weather({ city })));
		text('asked for ' + cities.length);
		return Object.fromEntries(cities.map((city, i) => [city, all[i].celsius]));`})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, string(res.Value), res.Output[0].Text)

	// What is wrong with a cell is a result as well.
	res, err = r.Exec(context.Background(), host.ExecInput{Code: "return tools.get_weather({ town: 'Oslo' })"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.Reason)
	// Output:
	// completed {"Oslo":4,"Reykjavik":9} asked for 2
	// failed nested_tool_failed
}

func ExampleRun_Exec_typeScript() {
	r, done := exampleRun(host.RunOptions{}, weather)
	defer done()
	res, err := r.Exec(context.Background(), host.ExecInput{Language: host.TypeScript, Code: `
		interface Weather { celsius: number }
		const w: Weather = await tools.get_weather({ city: 'Oslo' });
		return w.celsius satisfies number;`})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, string(res.Value))
	// Output: completed 4
}

func ExampleRun_Wait() {
	r, done := exampleRun(host.RunOptions{}, weather)
	defer done()
	ctx := context.Background()
	res, err := r.Exec(ctx, host.ExecInput{Code: "text('first half'); await yield_control('look at this'); return 'second half'"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.Waiting)
	res, err = r.Wait(ctx, host.WaitInput{CellID: res.CellID})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, string(res.Value), len(res.Output))
	// Output:
	// waiting yield
	// completed "second half" 1
}

func ExampleRun_Resolve() {
	r, done := exampleRun(host.RunOptions{ClientTools: []host.ClientTool{{App: "editor", Name: "select_file", Description: "Let the user choose a file."}}})
	defer done()
	ctx := context.Background()
	res, err := r.Exec(ctx, host.ExecInput{Code: "return 'chose ' + await tools.select_file({ kind: 'text' })"})
	if err != nil {
		log.Fatal(err)
	}
	for _, call := range res.Pending {
		fmt.Println(call.Method, call.Tool, string(call.Input))
		if err := r.Resolve(call.ID, json.RawMessage(`"notes.txt"`)); err != nil {
			log.Fatal(err)
		}
	}
	res, err = r.Wait(ctx, host.WaitInput{CellID: res.CellID})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, string(res.Value))
	// Output:
	// client client:editor:select_file {"kind":"text"}
	// completed "chose notes.txt"
}

func ExampleRun_Reject() {
	r, done := exampleRun(host.RunOptions{ClientTools: []host.ClientTool{{Name: "confirm", Description: "Ask the user to confirm."}}})
	defer done()
	ctx := context.Background()
	res, err := r.Exec(ctx, host.ExecInput{Code: "return await tools.confirm({}).catch((e) => e.code)"})
	if err != nil {
		log.Fatal(err)
	}
	if err := r.Reject(res.Pending[0].ID, &host.ToolError{Message: "the user closed the window", Code: "cancelled"}); err != nil {
		log.Fatal(err)
	}
	res, err = r.Wait(ctx, host.WaitInput{CellID: res.CellID})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(res.Value))
	// Output: "cancelled"
}

func ExampleTool() {
	type order struct {
		Items []string `json:"items" jsonschema:"article numbers"`
		Note  string   `json:"note,omitempty"`
	}
	tool := host.Tool("place_order", "Place an order.", func(_ context.Context, o order) (string, error) {
		if len(o.Items) == 0 {
			return "", &host.ToolError{Name: "RangeError", Message: "an order needs an item", Code: "empty_order"}
		}
		return "order of " + strings.Join(o.Items, ", "), nil
	})
	tool.Approval, tool.Timeout = host.ApprovalAsk, time.Minute
	fmt.Println(string(tool.Parameters))
	out, err := tool.Call(context.Background(), json.RawMessage(`{"items":["a1","b2"]}`))
	fmt.Println(string(out), err)
	// Output:
	// {"type":"object","properties":{"items":{"type":["null","array"],"items":{"type":"string"},"description":"article numbers"},"note":{"type":"string"}},"required":["items"],"additionalProperties":false}
	// "order of a1, b2" <nil>
}

func ExampleNewJSONLTrace() {
	var buf bytes.Buffer
	trace := host.NewJSONLTrace(&buf)
	h, err := host.New(context.Background(), &host.Options{CodeMode: host.CodeModeConfig{Enabled: true}, Tools: []host.RawTool{weather}, Trace: trace})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	r, err := h.NewRun(context.Background(), host.RunOptions{AgentRunID: "run-1", SessionID: "session-1"})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := r.Exec(context.Background(), host.ExecInput{CallID: "call-1", Code: "await tools.get_weather({ city: 'Oslo' })"}); err != nil {
		log.Fatal(err)
	}
	if trace.Err() != nil {
		log.Fatal(trace.Err())
	}
	for line := range bytes.Lines(buf.Bytes()) {
		var e host.TraceEvent
		if err := json.Unmarshal(line, &e); err != nil {
			log.Fatal(err)
		}
		fmt.Println(strings.TrimSpace(string(e.Event) + " " + e.Tool + " " + e.Status))
	}
	// Output:
	// exec.start
	// call.start cloister:core:get_weather
	// call.end cloister:core:get_weather ok
	// exec.end  completed
}

func ExampleParseCodeMode() {
	cfg, err := host.ParseCodeMode([]byte(`{"enabled": true, "timeoutMs": 1, "languages": ["javascript"]}`))
	fmt.Println(cfg.Enabled, cfg.TimeoutMs, cfg.Languages, err)
	_, err = host.ParseCodeMode([]byte(`{"enabled": "yes", "timeout": 5}`))
	var ce *host.ConfigError
	if errors.As(err, &ce) {
		for _, f := range ce.Faults {
			fmt.Println(f.Key, f.Message)
		}
	}
	// Output:
	// true 100 [javascript] <nil>
	// tools.codeMode.enabled must be true or false
	// tools.codeMode.timeout unknown key
}

func ExampleRun_EnforceSurface() {
	r, done := exampleRun(host.RunOptions{}, weather)
	defer done()
	for _, payload := range []string{
		`{"tools":[{"name":"exec","input_schema":{}},{"name":"wait","input_schema":{}}]}`,
		`{"tools":[{"name":"exec","input_schema":{}},{"name":"wait","input_schema":{}},{"name":"get_weather","input_schema":{}}]}`,
		`{"tools":[{"type":"web_search","name":"exec"},{"name":"wait"}]}`,
	} {
		fmt.Println(errors.Is(r.EnforceSurface([]byte(payload)), host.ErrSurface))
	}
	// Output:
	// false
	// true
	// true
}

func ExampleRun_Search() {
	r, done := exampleRun(host.RunOptions{}, weather)
	defer done()
	hits, err := r.Search("how warm is it in the city", 3)
	if err != nil {
		log.Fatal(err)
	}
	d, err := r.Describe(hits[0].ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.ID, string(d.Returns))
	// Output: cloister:core:get_weather {"type":"object","properties":{"celsius":{"type":"integer"}},"required":["celsius"],"additionalProperties":false}
}

func ExampleRun_Call() {
	r, done := exampleRun(host.RunOptions{}, weather)
	defer done()
	out, err := r.Call(context.Background(), "cloister:core:get_weather", json.RawMessage(`{"city":"Oslo"}`))
	fmt.Println(string(out), err)
	_, err = r.Call(context.Background(), "cloister:core:get_wether", nil)
	fmt.Println(err)
	// Output:
	// {"celsius":4} <nil>
	// no tool has the id "cloister:core:get_wether"; did you mean cloister:core:get_weather? (unknown_tool)
}

func ExampleRun_ParseExec() {
	r, done := exampleRun(host.RunOptions{}, weather)
	defer done()
	// Arguments come from the model as JSON text.
	in, bad := r.ParseExec([]byte(`{"code":"return 6 * 7"}`))
	if bad == nil {
		res, err := r.Exec(context.Background(), in)
		fmt.Println(string(res.Value), err)
	}
	_, bad = r.ParseExec([]byte(`{"source":"return 1"}`))
	fmt.Println(bad.Status, bad.Reason)
	_, bad = r.ParseWait([]byte(`{"runId":7}`))
	fmt.Println(bad.Status, bad.Reason)
	// Output:
	// 42 <nil>
	// failed invalid_input
	// failed invalid_input
}

func ExampleReportProgress() {
	tool := host.RawTool{Name: "work", Description: "Work in steps.", Call: func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		for i := 1; i <= 2; i++ {
			host.ReportProgress(ctx, fmt.Sprintf("step %d", i))
		}
		call, _ := host.CallFrom(ctx)
		return json.Marshal(call.Name)
	}}
	r, done := exampleRun(host.RunOptions{OnProgress: func(c *host.ToolCall, p host.Progress) { fmt.Println(c.Tool, p) }}, tool)
	defer done()
	res, err := r.Exec(context.Background(), host.ExecInput{Code: "return await tools.work({})"})
	fmt.Println(string(res.Value), err)
	// Output:
	// cloister:core:work step 1
	// cloister:core:work step 2
	// "work" <nil>
}

func ExampleHooks() {
	h, err := host.New(context.Background(), &host.Options{
		CodeMode: host.CodeModeConfig{Enabled: true}, Tools: []host.RawTool{weather},
		Hooks: host.Hooks{BeforeToolCall: func(_ context.Context, c *host.ToolCall) error {
			if strings.Contains(string(c.Input), "Atlantis") {
				return errors.New("there is no such city")
			}
			return nil
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	r, err := h.NewRun(context.Background(), host.RunOptions{AgentRunID: "run-1", SessionID: "session-1"})
	if err != nil {
		log.Fatal(err)
	}
	res, err := r.Exec(context.Background(), host.ExecInput{Code: "return await tools.get_weather({ city: 'Atlantis' }).catch((e) => [e.code, e.message])"})
	fmt.Println(string(res.Value), err)
	// Output: ["call_refused","refused by a hook: there is no such city"] <nil>
}

func ExampleRun_Surface() {
	r, done := exampleRun(host.RunOptions{}, weather)
	defer done()
	fmt.Println(r.Active())
	for _, tool := range r.Surface() { // what goes into the request to the model
		fmt.Println(tool.Name, json.Valid(tool.Parameters))
	}
	// Output:
	// true
	// exec true
	// wait true
}

func ExampleRun_Catalog() {
	r, done := exampleRun(host.RunOptions{Deny: []string{"delete_*"}}, weather, host.RawTool{
		Name: "delete_weather", Owner: "acme.demo", Description: "Is denied.",
		Call: func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil },
	})
	defer done()
	for _, tool := range r.Catalog() {
		fmt.Println(tool.ID, tool.Source)
	}
	// Output: cloister:core:get_weather cloister
}

func ExampleRun_Describe() {
	r, done := exampleRun(host.RunOptions{}, weather)
	defer done()
	d, err := r.Describe("cloister:core:get_weather")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(d.Parameters))
	// Output: {"type":"object","properties":{"city":{"type":"string","description":"name of the city"}},"required":["city"],"additionalProperties":false}
}

func ExampleRun_Close() {
	r, done := exampleRun(host.RunOptions{}, weather)
	defer done()
	r.Close()
	res, err := r.Exec(context.Background(), host.ExecInput{Code: "return 1"})
	fmt.Println(res.Status, res.Reason, err)
	_, err = r.Call(context.Background(), "cloister:core:get_weather", nil)
	fmt.Println(errors.Is(err, host.ErrClosed))
	// Output:
	// failed aborted <nil>
	// true
}

func ExampleCallFrom() {
	tool := host.RawTool{Name: "whoami", Description: "Tell who asks.", Call: func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		call, ok := host.CallFrom(ctx)
		if !ok {
			return nil, errors.New("called outside of a run")
		}
		return json.Marshal(call.Scope.SessionID)
	}}
	r, done := exampleRun(host.RunOptions{}, tool)
	defer done()
	res, err := r.Exec(context.Background(), host.ExecInput{Code: "return await tools.whoami()"})
	fmt.Println(string(res.Value), err)
	// Output: "session-1" <nil>
}

func ExampleCodeModeConfig_Clamped() {
	c := host.CodeModeConfig{Enabled: true, TimeoutMs: 1_000_000, MaxSearchLimit: 3}.Clamped()
	fmt.Println(c.TimeoutMs, c.SearchDefaultLimit, c.MaxPendingToolCalls)
	// Output: 60000 3 16
}
