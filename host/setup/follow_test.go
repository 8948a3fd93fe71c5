package setup_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/gateway"
	"github.com/cloister-wasm/cloister/host/hosttest"
	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/host/setup"
	"github.com/cloister-wasm/cloister/plugins/lock"
	"github.com/cloister-wasm/cloister/plugins/store"
)

// Installed plugins, plugins of folders and MCP servers come together, and a lock file
// holds those that it is about.
func TestAllSourcesTogether(t *testing.T) {
	url, _ := serverOf(t, "look")
	p := newProject(t, fmt.Sprintf(`{
		plugins: {dirs: ["dev"], allowUnsignedUnsafe: true},
		mcp: {servers: {web: {url: %q}}},
	}`, url))
	install(p, 2)
	develop(p, "dev", "acme.dev", "d")
	all := []string{"cloister:acme.dev:d", "cloister:acme.p0:t0", "cloister:acme.p1:t1", "mcp:web:look"}
	s := p.open(&setup.Options{})
	wantTools(t, s, all...)
	if got := s.Plugins(); len(got.Loaded) != 3 || got.Refused != nil {
		t.Errorf("plugins: %+v", got)
	}

	own := lock.New() // it agrees to p0 and not to p1
	for _, plugin := range s.Plugins().Loaded {
		if plugin.ID() == "acme.p0" {
			o := plugin.Origin()
			own.Plugins["acme.p0"] = lock.Plugin{Version: "1.0.0", Digest: o.Digest, Publisher: o.Publisher, Signer: o.Signer}
			for id, tool := range setup.LockTools(plugin.Manifest()) {
				own.Tools[id] = tool
			}
		}
	}
	path, err := p.places.InstalledLock()
	if err != nil {
		t.Fatal(err)
	}
	if err := own.Save(path); err != nil {
		t.Fatal(err)
	}
	s = p.open(&setup.Options{})
	wantTools(t, s, "cloister:acme.dev:d", "cloister:acme.p0:t0", "mcp:web:look") // a lock file of what is installed is about p1 only
	if refused := s.Plugins().Refused; len(refused) != 1 || refused[0].Plugin != "acme.p1" {
		t.Errorf("refused: %v", refused)
	}
	// A lock file beside the configuration is about its servers.
	if err := own.Save(p.path(lock.FileName)); err != nil {
		t.Fatal(err)
	}
	s = p.open(&setup.Options{})
	wantTools(t, s, "cloister:acme.dev:d", "cloister:acme.p0:t0")
	if drift := s.Host().Drift(); len(drift) != 1 || !errors.Is(drift[0], lock.ErrDrift) {
		t.Errorf("drift: %v", drift)
	}
	s = p.open(&setup.Options{NoInstalled: true, NoServers: true})
	wantTools(t, s, "cloister:acme.dev:d")
	s = p.open(&setup.Options{NoInstalled: true, OnlyServers: []string{"web"}})
	wantTools(t, s, "cloister:acme.dev:d")
}

// What stands on its own gives what New uses.
func TestStepsOnTheirOwn(t *testing.T) {
	p := newProject(t, `{mcp: {servers: {web: {url: "http://127.0.0.1:1/", oauth: {}}}}}`)
	cfg := p.load()
	if s, err := setup.OpenStore(p.places); s != nil || err != nil {
		t.Errorf("a store: %v, %v", s, err)
	}
	install(p, 1)
	if s, err := setup.OpenStore(p.places); s == nil || err != nil {
		t.Errorf("no store: %v", err)
	}
	loaded, err := setup.LoadPlugins(t.Context(), &setup.Options{Settings: cfg}, nil)
	if err != nil || len(loaded.Loaded) != 1 {
		t.Fatalf("%+v, %v", loaded, err)
	}
	if err := loaded.Close(); err != nil {
		t.Error(err)
	}
	m, err := setup.NewManager(&setup.Options{Settings: cfg})
	if err != nil || len(m.Status()) != 1 {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// A plugin of a folder that takes a name of another is an error.
func TestConflicts(t *testing.T) {
	p := newProject(t, `{plugins: {dirs: ["dev"], allowUnsignedUnsafe: true}}`)
	install(p, 1)
	develop(p, "dev", "acme.p0", "x")
	_, err := setup.New(t.Context(), &setup.Options{Settings: p.load()})
	var at *setup.Error
	if !errors.As(err, &at) || at.Step != setup.StepFolders {
		t.Errorf("%v", err)
	}
}

// What changes is taken over, and what is wrong leaves all as it was.
func TestReload(t *testing.T) {
	url, _ := serverOf(t, "look")
	other, _ := serverOf(t, "listen")
	p := newProject(t, "{}")
	s := p.open(&setup.Options{
		Follow: true, Gateway: &gateway.Options{},
		Host: host.Options{Tools: []host.RawTool{hosttest.Echo("mine")}},
	})
	wantTools(t, s, "cloister:core:mine")
	reload := func(want ...string) {
		t.Helper()
		if err := s.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantTools(t, s, want...)
	}
	install(p, 1)
	reload("cloister:acme.p0:t0", "cloister:core:mine")
	p.write("c.json5", fmt.Sprintf(`{mcp: {servers: {web: {url: %q}}}}`, url))
	reload("cloister:acme.p0:t0", "cloister:core:mine", "mcp:web:look")
	p.write("p.cedar", `permit (principal, action, resource); forbid (principal, action, resource == Cloister::Tool::"cloister:core:mine");`)
	with := fmt.Sprintf(`{mcp: {servers: {web: {url: %q}}}, policy: {files: ["p.cedar"]}, plugins: {installed: false}}`, url)
	p.write("c.json5", with)
	reload("mcp:web:look")

	before := s.Settings()
	wrong := map[string]func(){
		"configuration": func() { p.write("c.json5", "{") },
		"policy":        func() { p.write("c.json5", with); p.write("p.cedar", "permit") },
		"folder":        func() { p.write("c.json5", `{plugins: {dirs: ["none"], allowUnsignedUnsafe: true}}`) },
		"server":        func() { p.write("c.json5", `{mcp: {servers: {web: {}}}}`) },
		"lock":          func() { p.write("c.json5", `{plugins: {lock: "none.lock"}}`) },
		"id taken": func() {
			develop(p, "dev", "acme.bad", "t0")
			p.write("c.json5", fmt.Sprintf(`{plugins: {dirs: ["dev", "dev"], allowUnsignedUnsafe: true}, mcp: {servers: {other: {url: %q}}}}`, other))
		},
	}
	for name, breakIt := range wrong {
		breakIt()
		if err := s.Reload(t.Context()); err == nil {
			t.Errorf("%s: taken over", name)
		}
		if s.Settings() != before {
			t.Errorf("%s: other settings", name)
		}
		wantTools(t, s, "mcp:web:look")
		if names := s.Settings().ServerNames(); !cmp.Equal(names, []string{"web"}) || s.Servers().Status()[0].Name != "web" {
			t.Errorf("%s: servers %q, %+v", name, names, s.Servers().Status())
		}
		p.write("p.cedar", `permit (principal, action, resource); forbid (principal, action, resource == Cloister::Tool::"cloister:core:mine");`)
	}
	p.write("c.json5", "{}")
	reload("cloister:acme.p0:t0", "cloister:core:mine")
}

// A set that the host cannot take leaves policies and connections as they were.
func TestReloadThatTheHostRefuses(t *testing.T) {
	url, _ := serverOf(t, "look")
	other, _ := serverOf(t, "listen")
	p := newProject(t, fmt.Sprintf(`{mcp: {servers: {web: {url: %q}}}}`, url))
	s := p.open(&setup.Options{Follow: true})
	wantTools(t, s, "mcp:web:look")
	// The user's own server, the lock file of a project that does not know it, and one of
	// the user's that is damaged: that comes up last.
	p.write("c.json5", "{}")
	p.write("p.cedar", "forbid (principal, action, resource);")
	p.write("c.json5", `{policy: {files: ["p.cedar"]}}`)
	p.write("data/mcp.json", fmt.Sprintf(`{"servers": {"other": {"url": %q}}}`, other))
	if err := lock.New().Save(p.path(lock.FileName)); err != nil {
		t.Fatal(err)
	}
	p.write("data/cloister.lock", "{")
	var at *setup.Error
	if err := s.Reload(t.Context()); !errors.As(err, &at) || at.Step != setup.StepLock {
		t.Fatalf("%v", err)
	}
	wantTools(t, s, "mcp:web:look")
	if status := s.Servers().Status(); len(status) != 1 || status[0].Name != "web" {
		t.Errorf("servers: %+v", status)
	}
}

// Lists that servers change are taken over by themselves.
func TestServersChange(t *testing.T) {
	url, server := serverOf(t, "look")
	p := newProject(t, fmt.Sprintf(`{mcp: {servers: {web: {url: %q}}}}`, url))
	changed := make(chan []string, 16)
	s := p.open(&setup.Options{Follow: true, OnChange: func(s *setup.Setup) {
		select {
		case changed <- s.Settings().ServerNames():
		default:
		}
	}})
	wantTools(t, s, "mcp:web:look")
	addTool(server, "listen")
	for len(toolsOf(t, s)) < 2 {
		<-changed
	}
	wantTools(t, s, "mcp:web:listen", "mcp:web:look")
}

// Whoever waits for a change waits for all that is under way.
func TestReloadsAndCloseSideBySide(t *testing.T) {
	url, _ := serverOf(t, "look")
	p := newProject(t, fmt.Sprintf(`{mcp: {servers: {web: {url: %q}}}}`, url))
	install(p, 1)
	s := p.open(&setup.Options{Follow: true, Gateway: &gateway.Options{}})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 3 {
				_ = s.Reload(t.Context()) // ErrClosed in the end
			}
		})
		all.Go(func() {
			for range 20 {
				_ = s.Plugins()
				_ = s.Settings().ServerNames()
				_ = s.Host().Drift()
			}
		})
	}
	if err := s.Reload(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	all.Wait()
}

// Watch takes over at once when it is told to, and ends with its context.
func TestWatch(t *testing.T) {
	p := newProject(t, "{}")
	changed := make(chan struct{}, 1)
	s := p.open(&setup.Options{Follow: true, OnChange: func(*setup.Setup) { changed <- struct{}{} }})
	ctx, cancel := context.WithCancel(t.Context())
	now, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- s.Watch(ctx, now) }()
	install(p, 1)
	now <- struct{}{}
	<-changed
	wantTools(t, s, "cloister:acme.p0:t0")
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// What is removed while it is used stays until the last run has ended.
func TestRunsKeepTheirPlugins(t *testing.T) {
	p := newProject(t, "{}")
	install(p, 1)
	s := p.open(&setup.Options{Follow: true})
	old := s.Plugins().Loaded[0]
	r, err := s.Host().NewRun(t.Context(), host.RunOptions{AgentRunID: "r", SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	where, err := p.places.StoreDir()
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(where, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Remove(t.Context(), "acme.p0"); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantTools(t, s)
	if len(r.Catalog()) != 1 || !old.Retired() {
		t.Errorf("%v, retired %v", r.Catalog(), old.Retired())
	}
	r.Close()
}

// A configuration that turns up in the working folder counts from then on.
func TestReloadLooksForTheFileAgain(t *testing.T) {
	p := newProject(t, "{}")
	t.Chdir(p.dir)
	cfg, err := settings.Load(&settings.Options{Places: p.places})
	if err != nil {
		t.Fatal(err)
	}
	s, err := setup.New(t.Context(), &setup.Options{Settings: cfg, Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	p.write(settings.FileName, "{approvals: {ttlSeconds: 5}}")
	if err := s.Reload(t.Context()); err != nil || !s.Settings().Found {
		t.Errorf("%+v, %v", s.Settings(), err)
	}
	if err := os.Remove(filepath.Join(p.dir, settings.FileName)); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(t.Context()); err != nil || s.Settings().File != "" {
		t.Errorf("%+v, %v", s.Settings(), err)
	}
}
