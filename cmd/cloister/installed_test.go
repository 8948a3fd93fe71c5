package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/bundle"
	"github.com/cloister-wasm/cloister/plugins/lock"
	"github.com/cloister-wasm/cloister/plugins/store"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

// A plugin's question is shown without what it could do to the terminal, and the
// answer is JSON or a text.
func TestInterruptAnswers(t *testing.T) {
	for _, test := range []struct{ answer, want, code string }{
		{"{\"a\": 1}\n", `{"a": 1}`, ""},
		{" true \n", "true", ""},
		{"just a text\n", `"just a text"`, ""},
		{"{broken\n", `"{broken"`, ""},
		{"{\"a\":1,\"a\":2}\n", `"{\"a\":1,\"a\":2}"`, ""},
		{"\n", "", "refused"},
		{"", "", "refused"},
	} {
		u, out, errs := newUI(80)
		p := &approver{ui: u, answers: strings.NewReader(test.answer), lines: make(chan string)}
		call := &host.ToolCall{Tool: "cloister:acme.x:ask\x1b[2J", Unsigned: true}
		got, err := p.interrupt(t.Context(), call, json.RawMessage(`{"q":"\u001b[2J\u202e","r":"`+strings.Repeat("x", 4*maxQuestion)+`"}`))
		var te *plugins.ToolError
		if string(got) != test.want || (err == nil) != (test.code == "") || test.code != "" && (!errors.As(err, &te) || te.Code != test.code) {
			t.Errorf("%q: %s, %v; want %s", test.answer, got, err, test.want)
		}
		if r, bad := unsafeIn(errs.String(), "\n"); bad || out.Len() > 0 || !strings.Contains(errs.String(), "(unsigned) asks") || errs.Len() > 2*maxQuestion {
			t.Errorf("%U in %q", r, errs.String())
		}
	}
	var nobody *approver
	if nobody.interrupts() != nil {
		t.Error("somebody answers where nobody is")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	u, _, _ := newUI(80)
	p := &approver{ui: u, answers: strings.NewReader("1\n"), lines: make(chan string)}
	if _, err := p.interrupt(ctx, &host.ToolCall{}, json.RawMessage("1")); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

func TestOnlyInterrupts(t *testing.T) {
	ask, call := host.PendingToolCall{Method: "interrupt"}, host.PendingToolCall{Method: "call"}
	for _, test := range []struct {
		status  guestabi.Status
		pending []host.PendingToolCall
		want    bool
	}{
		{guestabi.StatusWaiting, []host.PendingToolCall{ask, ask}, true},
		{guestabi.StatusWaiting, []host.PendingToolCall{ask, call}, false},
		{guestabi.StatusWaiting, nil, false},
		{guestabi.StatusCompleted, []host.PendingToolCall{ask}, false},
	} {
		if got := onlyInterrupts(&host.Result{Status: test.status, Pending: test.pending}); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

// acme makes folders of the test's own, and a policy that trusts a key for "acme.".
func acme(t testing.TB) (*trust.SigningKey, *trust.Policy) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("CLOISTER_DATA_DIR", dir)
	t.Setenv("CLOISTER_TRUST", filepath.Join(dir, "trust.json"))
	private, public, err := trust.GenerateKey("", nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := trust.LoadKey(private, nil)
	if err != nil {
		t.Fatal(err)
	}
	policy := &trust.Policy{Publishers: []trust.Publisher{{Name: "acme", Keys: []trust.Key{{PublicKey: string(public)}},
		Owns: trust.Ownership{IDs: []string{"acme."}, Tools: []string{"*"}}}}}
	if err := policy.Save(os.Getenv("CLOISTER_TRUST")); err != nil {
		t.Fatal(err)
	}
	return key, policy
}

// installMany installs n plugins around one module, each with a tool tN_text_stats,
// in the folder of CLOISTER_DATA_DIR.
func installMany(t testing.TB, wasm []byte, n int) {
	t.Helper()
	key, policy := acme(t)
	where, err := storeDir()
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(where, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		artifact := signed(t, wasm, key, i)
		v, err := policy.Verify(t.Context(), artifact)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Install(t.Context(), v, ""); err != nil {
			t.Fatal(err)
		}
	}
	now, err := s.Current()
	if err != nil {
		t.Fatal(err)
	}
	if err := changeDataLock(func(l *lock.File) {
		for i := range now.Entries {
			m, err := manifestOf(s, &now.Entries[i])
			if err != nil {
				t.Fatal(err)
			}
			takePlugin(l, &now.Entries[i], m)
		}
	}); err != nil {
		t.Fatal(err)
	}
}

// signed makes the plugin acme.pN around a module.
func signed(t testing.TB, wasm []byte, key *trust.SigningKey, n int) *bundle.Artifact {
	t.Helper()
	artifact, err := bundle.Build(bundle.Files{Wasm: wasm, Manifest: fmt.Appendf(nil,
		`{"abi":"cloister.plugin/1","id":"acme.p%d","version":"1.0.0","description":"One of many.",`+
			`"tools":[{"name":"t%d_stats","description":"Does nothing.","parameters":{"type":"object"}}]}`, n, n)})
	if err != nil {
		t.Fatal(err)
	}
	signature, err := trust.Sign(t.Context(), artifact, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := artifact.AddSignature(signature); err != nil {
		t.Fatal(err)
	}
	return artifact
}

// Only plugins that the cell names are compiled before it starts, and a plugin that is
// removed takes no other out of the lock file.
func TestNeededPlugins(t *testing.T) {
	wasm, err := os.ReadFile(testModule(t))
	if err != nil {
		t.Fatal(err)
	}
	installMany(t, wasm, 3)
	t.Setenv("CLOISTER_ENGINE", enginePath(t))
	var compiled []string
	s, err := (&toolFlags{}).open(t.Context(), sessionOptions{plugins: plugins.LoadOptions{Progress: func(e plugins.CompileEvent) {
		if e.Done {
			compiled = append(compiled, e.Plugin)
		}
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if err := s.compilePlugins(t.Context(), "return await tools.t1_stats({})"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"acme.p1"}, compiled); diff != "" {
		t.Errorf("compiled (-want +got):\n%s", diff)
	}
	if err := changeDataLock(func(l *lock.File) { dropPlugin(l, "acme.p2") }); err != nil {
		t.Fatal(err)
	}
	l, err := loadLock("")
	if err != nil || len(l.Plugins) != 2 || len(l.Tools) != 2 {
		t.Errorf("the lock file: %+v, %v", l, err)
	}
}

// testModule builds the module of the example plugin.
func testModule(t testing.TB) string {
	t.Helper()
	module := filepath.Join(t.TempDir(), "plugin.wasm")
	if err := buildPlugin(module); err != nil {
		t.Fatal(err)
	}
	return module
}

// BenchmarkOpen is what a run pays for its plugins before the cell starts: installed
// ones, whose machine code is cached, and a cell that calls one of them.
func BenchmarkOpen(b *testing.B) {
	wasm, err := os.ReadFile(testModule(b))
	if err != nil {
		b.Fatal(err)
	}
	b.Setenv("CLOISTER_CACHE_DIR", filepath.Join(b.TempDir(), "cache"))
	b.Setenv("XDG_CONFIG_HOME", b.TempDir())
	for _, n := range []int{0, 1, 50} {
		installMany(b, wasm, n)
		all := ""
		for i := range n {
			all += fmt.Sprintf("t%d_stats ", i)
		}
		for name, code := range map[string]string{"none": "", "one": "t0_stats", "all": all} {
			b.Run(fmt.Sprintf("plugins=%d,called=%s", n, name), func(b *testing.B) {
				for b.Loop() {
					s, err := (&toolFlags{}).open(b.Context(), sessionOptions{})
					if err != nil {
						b.Fatal(err)
					}
					if err := s.compilePlugins(b.Context(), code); err != nil {
						b.Fatal(err)
					}
					s.close()
				}
			})
		}
	}
}

// What cannot be compiled is refused before it is installed, not when it is called.
func TestInstallRefusesCodeThatCannotBeUsed(t *testing.T) {
	key, _ := acme(t)
	t.Setenv("CLOISTER_CACHE_DIR", filepath.Join(t.TempDir(), "cache"))
	// The function cloister_call, with an instruction that does not exist.
	wasm := "\x00asm\x01\x00\x00\x00" + "\x01\x05\x01\x60\x00\x01\x7f" + "\x03\x02\x01\x00" + "\x07\x11\x01\x0dcloister_call\x00\x00" + "\x0a\x05\x01\x03\x00\xff\x0b"
	file := filepath.Join(t.TempDir(), "bad.cloister")
	if err := signed(t, []byte(wasm), key, 0).WriteFile(file); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	a := &app{stdout: plainStream(&out), stderr: plainStream(&errs)}
	_, err := a.install(t.Context(), &installFlags{yes: true}, file, "")
	var refused *trust.Error
	if !errors.As(err, &refused) || refused.Step != trust.StepImports || refused.State != trust.StateInvalid {
		t.Fatalf("install: %v", err)
	}
	where, err := storeDir()
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(where, nil)
	if err != nil {
		t.Fatal(err)
	}
	if g, err := s.Current(); err != nil || len(g.Entries) != 0 {
		t.Errorf("installed: %+v, %v", g, err)
	}
}
