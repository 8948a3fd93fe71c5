package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

// TestFuzzCorpora: a fuzz target without a corpus tests nothing in a normal run.
func TestFuzzCorpora(t *testing.T) {
	for _, name := range []string{"FuzzOutbox", "FuzzExec", "FuzzEnforceSurface", "FuzzParseCodeMode"} {
		files, err := os.ReadDir(filepath.Join("testdata", "fuzz", name))
		if err != nil || len(files) < 5 {
			t.Errorf("%s has a corpus of %d files (%v)", name, len(files), err)
		}
	}
}

// forgeHost is the host of FuzzOutbox. Tools by number: add, echo, ask.
func forgeHost(t testing.TB, log *hosttest.Log) *host.Run {
	typed := host.Tool("add", "Add one.", func(_ context.Context, in struct {
		X int `json:"x"`
	}) (int, error) {
		return in.X + 1, nil
	})
	h := newHost(t, host.Options{
		Tools:    []host.RawTool{log.Tool(typed), log.Tool(hosttest.Echo("echo")), log.Tool(hosttest.Echo("secret"))},
		Deny:     []string{"secret"},
		CodeMode: host.CodeModeConfig{MaxOutputBytes: 1024, MaxPendingToolCalls: 2},
	})
	return newRun(t, h, host.RunOptions{ClientTools: []host.ClientTool{{Name: "ask", Description: "Ask."}}})
}

// TestForgedMessages: a guest that got hold of its own outbox can say no more than
// its prelude, and what it says passes the same checks.
func TestForgedMessages(t *testing.T) {
	var log hosttest.Log
	r := forgeHost(t, &log)
	for _, tt := range []struct {
		outbox string
		worked int
		reason guestabi.Reason
	}{
		{"c0,1,{}\n", 1, ""}, {"c0,0,{\"x\":1}\nc1,1,{}\n", 2, ""}, {"c0,2,{}\n", 0, ""},
		{"c0,0,{\"x\":\"1\"}\n", 0, ""}, {"c0,1,{\"a\":1,\"a\":2}\n", 0, ""}, {"c0,1,}{\n", 0, ""}, {"c0,1,{\"a\":\"\xff\"}\n", 0, ""}, {"c0,1,\n", 0, ""},
		{"u0,[\"cloister:core:secret\",{}]\n", 0, ""}, {"u0,[\"cloister:core:echo\",{}]\n", 0, ""}, {"u0,[null,{}]\n", 0, ""},
		{"c0,1,{}\nc0,1,{}\n", 1, guestabi.ReasonInternalError}, {"c0,3,{}\n", 0, guestabi.ReasonInternalError}, {"c128,1,{}\n", 0, guestabi.ReasonInternalError},
		{"c-1,1,{}\n", 0, guestabi.ReasonInternalError}, {"c0,1,{}", 0, guestabi.ReasonInternalError}, {"\n", 0, guestabi.ReasonInternalError}, {"x\n", 0, guestabi.ReasonInternalError},
		{"levil,\"x\"\n", 0, guestabi.ReasonInternalError}, {"j{\n", 0, guestabi.ReasonInternalError}, {"t1\n", 0, guestabi.ReasonInternalError},
		{"o\n", 0, guestabi.ReasonOutputLimitExceeded}, {strings.Repeat("t\"\"\n", 100), 0, guestabi.ReasonOutputLimitExceeded},
	} {
		got, err := r.Receive([]byte(tt.outbox))
		reason, _ := host.ReasonOf(err)
		if got.Worked != tt.worked || reason != tt.reason {
			t.Errorf("%.40q: %+v, %v; want %d calls that work, reason %q", tt.outbox, got, err, tt.worked, tt.reason)
		}
	}
	if slices.Contains(log.Tools(), "cloister:core:secret") {
		t.Error("a denied tool ran")
	}
}

// FuzzOutbox: what a guest says is only read, whatever it is. No message makes
// the host panic, opens more than is allowed, or reaches a tool that policy
// forbids.
func FuzzOutbox(f *testing.F) {
	var log hosttest.Log
	r := forgeHost(f, &log)
	f.Fuzz(func(t *testing.T, outbox []byte) {
		got, err := r.Receive(outbox)
		if err != nil {
			if reason, ok := host.ReasonOf(err); !ok || !slices.Contains(guestabi.Reasons, reason) {
				t.Errorf("err = %v", err)
			}
		}
		if most := 2 * host.QueuedPerPending; got.Open > most+1 {
			t.Errorf("%+v", got)
		}
		if got.OutBytes > 1024 || got.Items > 1024/16 {
			t.Errorf("%+v", got)
		}
		if n := len(log.Calls()); n != got.Worked {
			t.Errorf("%d tools ran, %d calls worked", n, got.Worked)
		}
		for _, c := range log.Calls() {
			if !slices.Contains([]string{"cloister:core:add", "cloister:core:echo"}, c.Tool) || !json.Valid(c.Input) || !utf8.Valid(c.Input) {
				t.Errorf("a tool got %+v", c)
			}
		}
		log.Reset()
	})
}

// FuzzExec: any text is a cell that ends in a Result, and a canary behind it
// finds the host as it was.
func FuzzExec(f *testing.F) {
	files, err := filepath.Glob("testdata/attacks/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for i, x := range ar.Files {
			if i%10 == 0 { // the corpus has a test of its own; these are starting points
				f.Add(string(x.Data))
			}
		}
	}
	r := setup(f, host.Options{
		Tools:    []host.RawTool{hosttest.Echo("echo")},
		CodeMode: host.CodeModeConfig{TimeoutMs: 100, MemoryLimitBytes: 8 << 20, MaxOutputBytes: 4096},
	})
	f.Fuzz(func(t *testing.T, source string) {
		res := exec(t, r, source)
		for i := 0; res.Status == guestabi.StatusWaiting && i < 3; i++ {
			res = wait(t, r, res.CellID)
		}
		if res.Reason == guestabi.ReasonInternalError {
			t.Errorf("a cell makes the host say that it is broken: %s", res.Error)
		}
		for range 50 { // a busy machine may not let it run in its 100 ms
			if res = exec(t, r, "return (await tools.echo({ n: [1, 2].map((x) => x * 2) })).n"); res.Status == guestabi.StatusCompleted {
				break
			}
		}
		wantValue(t, res, "[2,4]")
	})
}

// FuzzEnforceSurface: what passes shows exec and wait, read by a second reader.
func FuzzEnforceSurface(f *testing.F) {
	for _, p := range payloads {
		f.Add([]byte(fmtTools(p.body, p.exec, p.wait)))
		f.Add([]byte(fmtTools(p.body, p.exec, p.wait, p.other)))
	}
	r := newRun(f, newHost(f, host.Options{}), host.RunOptions{})
	f.Fuzz(func(t *testing.T, payload []byte) {
		err := r.EnforceSurface(payload)
		if err != nil {
			if !errors.Is(err, host.ErrSurface) {
				t.Errorf("err = %v", err)
			}
			return
		}
		var obj struct {
			Tools, Functions, Plugins []any
			Result                    *struct{ Tools []any }
		}
		if err := json.Unmarshal(payload, &obj); err != nil {
			t.Fatalf("passed, and another reader says %v", err)
		}
		tools := obj.Tools
		if obj.Result != nil && tools == nil {
			tools = obj.Result.Tools
		}
		if n := len(tools); n == 0 || n > 2 || len(obj.Functions) > 0 || len(obj.Plugins) > 0 {
			t.Errorf("passed with %d tools, %d functions", n, len(obj.Functions))
		}
		names := []string{}
		collectNames(tools, &names)
		slices.Sort(names)
		if !slices.Equal(names, []string{"exec", "wait"}) {
			t.Errorf("passed with the names %q", names)
		}
	})
}

func fmtTools(body string, tools ...string) string {
	return strings.Replace(body, "%s", strings.Join(tools, ","), 1)
}

// collectNames lists the names of tools by the shapes of providers, without
// judging them.
func collectNames(tools []any, names *[]string) {
	for _, x := range tools {
		obj, _ := x.(map[string]any)
		for _, key := range []string{"functionDeclarations", "function_declarations"} {
			if list, ok := obj[key].([]any); ok {
				collectNames(list, names)
			}
		}
		for _, key := range []string{"function", "custom"} {
			if inner, ok := obj[key].(map[string]any); ok {
				collectNames([]any{inner}, names)
			}
		}
		if name, ok := obj["name"].(string); ok {
			*names = append(*names, name)
		}
	}
}

// FuzzParseCodeMode: a value is refused with a ConfigError, or gives settings in
// their ranges that are stable.
func FuzzParseCodeMode(f *testing.F) {
	for _, c := range configCases {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		cfg, err := host.ParseCodeMode(text)
		if err != nil {
			var ce *host.ConfigError
			if !errors.As(err, &ce) || len(ce.Faults) == 0 || cfg.Enabled {
				t.Errorf("%+v, %v", cfg, err)
			}
			return
		}
		if d := diffValue(cfg, cfg.Clamped()); d != "" {
			t.Errorf("not stable:\n%s", d)
		}
		if cfg.TimeoutMs < 100 || cfg.TimeoutMs > 60_000 || cfg.MemoryLimitBytes < 1<<20 || cfg.MemoryLimitBytes > 1<<30 || cfg.SearchDefaultLimit > cfg.MaxSearchLimit || len(cfg.Languages) == 0 {
			t.Errorf("out of range: %+v", cfg)
		}
		h, err := host.New(t.Context(), &host.Options{CodeMode: cfg})
		if err != nil {
			t.Fatalf("New refuses what ParseCodeMode gave: %v", err)
		}
		h.Close()
		again, err := json.Marshal(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := host.ParseCodeMode(again); err != nil || diffValue(cfg, back) != "" {
			t.Errorf("does not survive a round trip: %s, %v", again, err)
		}
	})
}
