package host_test

import (
	"encoding/json"
	"testing"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/plugins"
)

// stored calls the tool of the plugin in testdata/plugins/malice that sets an entry, with put, or reads it.
func stored(t *testing.T, r *host.Run, put string) string {
	t.Helper()
	in := object{"key": "k"}
	if put != "" {
		in["put"] = put
	}
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return value(t, exec(t, r, `return await tools.steal(`+string(text)+`)`))
}

// TestHostsShareNoEntries has two hosts of one process with one loaded plugin, and with the same plugin loaded twice, whose
// tenants chose the same names for everything: neither sees the entries of the other.
func TestHostsShareNoEntries(t *testing.T) {
	load := func() *plugins.Plugin {
		p, err := tryPlugin(t, maliceWasm, malicious(nil, "steal"), plugins.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p, again := load(), load()
	same := host.RunOptions{AgentID: "agent", AgentRunID: "r", SessionID: "session-1", Sender: "s", Channel: "c"}
	first := newHost(t, host.Options{Plugins: []*plugins.Plugin{p}})
	stored(t, newRun(t, first, same), "secret of tenant a")
	const nothing = `["",false]`
	for name, p := range map[string]*plugins.Plugin{"one loaded plugin": p, "loaded twice": again} {
		other := newHost(t, host.Options{Plugins: []*plugins.Plugin{p}})
		if got := stored(t, newRun(t, other, same), ""); got != nothing {
			t.Errorf("%s: another host reads %s", name, got)
		}
	}
	// Within a host a session is an agent's.
	for name, tt := range map[string]struct {
		change func(*host.RunOptions)
		want   string
	}{
		"another run of the session": {func(o *host.RunOptions) { o.AgentRunID = "other" }, `["secret of tenant a",true]`},
		"another agent":              {func(o *host.RunOptions) { o.AgentID = "other" }, nothing},
		"no agent":                   {func(o *host.RunOptions) { o.AgentID = "" }, nothing},
		"another session":            {func(o *host.RunOptions) { o.SessionID = "session-2" }, nothing},
		"no session":                 {func(o *host.RunOptions) { o.SessionID = "" }, nothing},
	} {
		o := same
		tt.change(&o)
		if got := stored(t, newRun(t, first, o), ""); got != tt.want {
			t.Errorf("%s reads %s, want %s", name, got, tt.want)
		}
	}
}

// TestEntriesOutliveAPlugin: a plugin that is replaced, as an update does, finds what its sessions had.
func TestEntriesOutliveAPlugin(t *testing.T) {
	load := func(version string) *plugins.Plugin {
		p, err := tryPlugin(t, maliceWasm, malicious(object{"version": version}, "steal"), plugins.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	scope := host.RunOptions{AgentID: "agent", AgentRunID: "r", SessionID: "session-1"}
	h := newHost(t, host.Options{Plugins: []*plugins.Plugin{load("1.0.0")}})
	stored(t, newRun(t, h, scope), "kept")
	if err := h.SetTools(t.Context(), host.ToolChange{Plugins: []*plugins.Plugin{load("1.1.0")}}); err != nil {
		t.Fatal(err)
	}
	if got := stored(t, newRun(t, h, scope), ""); got != `["kept",true]` {
		t.Errorf("after the update: %s", got)
	}
}
