package setup_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/gateway"
	"github.com/cloister-wasm/cloister/host/hosttest"
	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/host/policy"
	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/host/setup"
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

// project is a folder with a configuration, and this user's places beside it.
type project struct {
	t      *testing.T
	dir    string
	places settings.Places
}

func newProject(t *testing.T, config string) *project {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"CLOISTER_CONFIG", "CLOISTER_DATA_DIR", "CLOISTER_TRUST", "CLOISTER_LOCK", "CLOISTER_CACHE_DIR"} {
		t.Setenv(name, "")
	}
	p := &project{t, dir, settings.Places{Data: filepath.Join(dir, "data"), Cache: "off", Trust: filepath.Join(dir, "trust.json")}}
	p.write("c.json5", config)
	return p
}

func (p *project) path(name string) string { return filepath.Join(p.dir, name) }

func (p *project) write(name, text string) {
	p.t.Helper()
	path := p.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) load() *settings.Settings {
	p.t.Helper()
	s, err := settings.Load(&settings.Options{File: p.path("c.json5"), Places: p.places})
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// open makes a Setup that is closed at the end of the test.
func (p *project) open(o *setup.Options) *setup.Setup {
	p.t.Helper()
	o.Settings = p.load()
	s, err := setup.New(p.t.Context(), o)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			p.t.Error(err)
		}
	})
	return s
}

// toolsOf are the ids of the tools that a new run gets.
func toolsOf(t *testing.T, s *setup.Setup) []string {
	t.Helper()
	r, err := s.Host().NewRun(t.Context(), host.RunOptions{AgentRunID: "r", SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ids := []string{}
	for _, e := range r.Catalog() {
		if !strings.Contains(e.ID, "resources/") && !strings.Contains(e.ID, "prompts/") {
			ids = append(ids, e.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

func wantTools(t *testing.T, s *setup.Setup, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), toolsOf(t, s)); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}

func TestValidateListsEveryFault(t *testing.T) {
	o := &setup.Options{
		Settings: &settings.Settings{Servers: []settings.Server{{Server: mcp.Server{Name: "notes"}}}},
		Host:     host.Options{CodeMode: host.CodeModeConfig{Enabled: true}, Allow: []string{"x"}, Plugins: []*plugins.Plugin{}, MCP: []host.MCPServer{}},
		Dirs:     []string{""}, OnlyServers: []string{"nots"}, StartTimeout: -1, Gateway: &gateway.Options{Host: &host.Host{}},
	}
	err := o.Validate()
	var list *setup.OptionsError
	var server *settings.ServerError
	if !errors.As(err, &list) || len(list.Errs) != 8 || !errors.Is(err, host.ErrConfig) || !errors.As(err, &server) || server.Near != "notes" {
		t.Errorf("%v", err)
	}
	if _, err := setup.New(t.Context(), o); !errors.As(err, &list) || len(list.Errs) != 8 {
		t.Errorf("New: %v", err)
	}
	for name, good := range map[string]*setup.Options{
		"zero": {}, "a server": {Settings: o.Settings, OnlyServers: []string{"notes"}}, "without servers": {Settings: o.Settings, NoServers: true},
	} {
		if err := good.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	disabled := &settings.Settings{Servers: []settings.Server{{Server: mcp.Server{Name: "notes", Disabled: true}}}}
	if err := (&setup.Options{Settings: disabled, OnlyServers: []string{"notes"}}).Validate(); !errors.As(err, &server) || !server.Disabled {
		t.Errorf("a disabled server: %v", err)
	}
}

func TestSettingsDecideAboutTools(t *testing.T) {
	p := newProject(t, `{tools: {codeMode: {timeoutMs: 1234}, deny: ["no"]}, policy: {files: ["p.cedar"]}}`)
	p.write("p.cedar", `permit (principal, action, resource); forbid (principal, action, resource == Cloister::Tool::"cloister:core:hidden");`)
	tools := []host.RawTool{hosttest.Echo("yes"), hosttest.Echo("no"), hosttest.Echo("hidden")}
	s := p.open(&setup.Options{Host: host.Options{Tools: tools}})
	wantTools(t, s, "cloister:core:yes")
	if s.Gateway() != nil || s.Approvals() != nil || s.Settings().CodeMode.TimeoutMs != 1234 {
		t.Errorf("%v, %v, %+v", s.Gateway(), s.Approvals(), s.Settings())
	}
	if len(s.Plugins().Loaded)+len(s.Plugins().Refused)+len(s.Servers().Status()) != 0 {
		t.Errorf("%+v, %+v", s.Plugins(), s.Servers().Status())
	}
	// Nothing was made by looking.
	if _, err := os.Stat(p.places.Data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the data folder: %v", err)
	}
}

// Each error names its step, and is what it is.
func TestErrorsNameTheirStep(t *testing.T) {
	var unsigned *setup.UnsignedError
	var folders *setup.FoldersError
	var missing *setup.LockMissingError
	for _, test := range []struct {
		name    string
		config  string
		files   map[string]string
		options setup.Options
		step    setup.Step
		is      error
		as      any
	}{
		{"options", "{}", nil, setup.Options{OnlyServers: []string{"x"}}, setup.StepOptions, host.ErrConfig, nil},
		{"policies", `{policy: {files: ["p"]}}`, map[string]string{"p": "permit"}, setup.Options{}, setup.StepPolicies, policy.ErrPolicy, nil},
		{"lock", `{plugins: {lock: "x.lock"}}`, nil, setup.Options{}, setup.StepLock, os.ErrNotExist, &missing},
		{"damaged lock", `{plugins: {lock: "x.lock"}}`, map[string]string{"x.lock": "{"}, setup.Options{}, setup.StepLock, nil, nil},
		{"store", "{}", map[string]string{"data/plugins/current": "x"}, setup.Options{}, setup.StepInstalled, nil, nil},
		{"unsigned", `{plugins: {dirs: ["d"]}}`, nil, setup.Options{}, setup.StepFolders, host.ErrConfig, &unsigned},
		{"folder", `{plugins: {dirs: ["none"]}}`, nil, setup.Options{AllowUnsignedUnsafe: true, Dirs: []string{"none"}}, setup.StepFolders, nil, &folders},
		{"host", "{}", nil, setup.Options{Host: host.Options{Tools: []host.RawTool{hosttest.Echo("a"), hosttest.Echo("a")}}}, setup.StepHost, host.ErrTool, nil},
		{"gateway", "{}", nil, setup.Options{Gateway: &gateway.Options{Elicit: true}, Host: host.Options{
			Approve: func(context.Context, *host.ToolCall) (host.Decision, error) { return host.Decision{}, nil }}}, setup.StepGateway, gateway.ErrOptions, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newProject(t, test.config)
			for name, text := range test.files {
				p.write(name, text)
			}
			o := test.options
			o.Settings = p.load()
			s, err := setup.New(t.Context(), &o)
			var at *setup.Error
			if s != nil || !errors.As(err, &at) || at.Step != test.step || err.Error() != at.Err.Error() {
				t.Fatalf("%v, %v; want step %s", s, err, test.step)
			}
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("%v is not %v", err, test.is)
			}
			if test.as != nil && !errors.As(err, test.as) {
				t.Errorf("%v is no %T", err, test.as)
			}
		})
	}
	if len(folders.Errs) != 2 || len(unsigned.Dirs) != 1 || filepath.Base(missing.Path) != "x.lock" {
		t.Errorf("%+v, %+v, %+v", folders, unsigned, missing)
	}
	t.Setenv("CLOISTER_CONFIG", filepath.Join(t.TempDir(), "none.json5"))
	var at *setup.Error
	for name, do := range map[string]func() error{
		"New":         func() error { _, err := setup.New(t.Context(), nil); return err },
		"LoadPlugins": func() error { _, err := setup.LoadPlugins(t.Context(), nil, nil); return err },
		"NewManager":  func() error { _, err := setup.NewManager(nil); return err },
	} {
		if err := do(); !errors.As(err, &at) || at.Step != setup.StepSettings || !errors.Is(err, settings.ErrRead) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCloseTwice(t *testing.T) {
	p := newProject(t, "{}")
	s := p.open(&setup.Options{Follow: true, Gateway: &gateway.Options{}})
	for range 2 {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Host().NewRun(t.Context(), host.RunOptions{}); !errors.Is(err, host.ErrClosed) {
		t.Errorf("the host: %v", err)
	}
	if err := s.Reload(t.Context()); !errors.Is(err, setup.ErrClosed) && !errors.Is(err, mcp.ErrClosed) {
		t.Errorf("reload: %v", err)
	}
}

// Who approves: the options, else the queue, which is there if somebody can be asked.
func TestApprovals(t *testing.T) {
	queue := host.NewApprovalQueue()
	for _, test := range []struct {
		name, config string
		gateway      gateway.Options
		want         bool
	}{
		{"elicit", "{}", gateway.Options{Elicit: true}, true},
		{"not by the settings", "{approvals: {elicit: false}}", gateway.Options{Elicit: true}, false},
		{"nobody", "{}", gateway.Options{}, false},
		{"a queue", "{approvals: {elicit: false}}", gateway.Options{Approvals: queue}, true},
	} {
		p := newProject(t, test.config)
		s := p.open(&setup.Options{Gateway: &test.gateway})
		if got := s.Approvals() != nil; got != test.want || s.Gateway() == nil {
			t.Errorf("%s: %v, %v", test.name, s.Approvals(), s.Gateway())
		}
		if test.gateway.Approvals != nil && s.Approvals() != queue {
			t.Errorf("%s: another queue", test.name)
		}
	}
}

func TestFixedSetupsDoNotFollow(t *testing.T) {
	p := newProject(t, "{}")
	s := p.open(&setup.Options{})
	if err := s.Reload(t.Context()); !errors.Is(err, setup.ErrFixed) {
		t.Errorf("reload: %v", err)
	}
	if err := s.Watch(t.Context(), nil); !errors.Is(err, setup.ErrFixed) {
		t.Errorf("watch: %v", err)
	}
}

func TestNoTrustPolicy(t *testing.T) {
	p := newProject(t, "{}")
	install(p, 1)
	if err := os.Remove(p.places.Trust); err != nil {
		t.Fatal(err)
	}
	_, err := setup.New(t.Context(), &setup.Options{Settings: p.load()})
	var at *setup.Error
	if !errors.As(err, &at) || at.Step != setup.StepInstalled || !errors.Is(err, trust.ErrNoPolicy) {
		t.Errorf("%v", err)
	}
	s := p.open(&setup.Options{NoInstalled: true, Logger: slog.New(slog.DiscardHandler)})
	wantTools(t, s)
}
