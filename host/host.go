// Package host runs code mode for an agent: the model sees two tools, exec and
// wait, and writes programs that find and call all other tools inside a sealed
// JavaScript guest.
//
// A Host holds what is shared: configuration, tools, the engine. A Run is one
// agent run with its scope and its catalog, filtered by policy. Run.Exec runs a
// cell, Run.Wait continues one that was suspended. Both give a Result whose
// Status is completed, waiting or failed; a Go error means that the host itself
// is broken or that ctx ended.
//
// Every nested call, whoever makes it, goes through one dispatcher: catalog and
// policy, hooks, schema, approval, the tool, schema again, trace.
//
// Settings of tools.codeMode, their defaults and ranges:
//
//	enabled              false
//	runtime              "quickjs-wasi"
//	mode                 "only"
//	languages            ["javascript", "typescript"]
//	timeoutMs            10000     100 to 60000
//	memoryLimitBytes     67108864  1048576 to 1073741824
//	maxOutputBytes       65536     1024 to 10485760
//	maxSnapshotBytes     10485760  1024 to 268435456
//	maxPendingToolCalls  16        1 to 128
//	snapshotTtlSeconds   900       1 to 86400
//	searchDefaultLimit   8         1 to maxSearchLimit
//	maxSearchLimit       50        1 to 50
//	maxSuspendedRuns     64        1 to 100000
package host

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/codemode"
	"github.com/cloister-wasm/cloister/internal/dispatch"
	"github.com/cloister-wasm/cloister/internal/limits"
	"github.com/cloister-wasm/cloister/internal/schema"
	"github.com/cloister-wasm/cloister/internal/toolset"
	"github.com/cloister-wasm/cloister/quickjs"
)

// Host is safe for concurrent use.
type Host struct {
	o        Options
	d        *dispatch.Dispatcher
	programs *codemode.Runner
	cfg      api.CodeModeConfig
	rules    rules
	builder  *toolset.Builder

	engineMu sync.Mutex
	engine   *quickjs.Engine

	setting sync.Mutex // held while a toolset is replaced

	budget limits.Budget // bytes of inputs, results, snapshots and attachments

	mu       sync.Mutex
	closed   bool
	tools    *toolset.Set         // for new runs
	toolsets map[*toolset.Set]int // those in use, with their users: runs, those being made too, and the host while one is the newest
	runs     map[*Run]struct{}
}

// maxSchemas bounds the compiled schemas that a Host keeps.
const maxSchemas = 4096

// New checks the options and registers the tools. The engine is not loaded
// before the first cell. Nil options are the zero value. Ctx bounds New itself, not the Host.
func New(ctx context.Context, o *Options) (*Host, error) {
	if o == nil {
		o = &Options{}
	}
	if faults := o.CodeMode.Faults("tools.codeMode"); len(faults) > 0 {
		return nil, &api.ConfigError{Faults: faults}
	}
	h := &Host{o: *o, cfg: o.CodeMode.Clamped(), builder: toolset.NewBuilder(o.Tools, schema.NewCache(maxSchemas)), runs: map[*Run]struct{}{}, toolsets: map[*toolset.Set]int{}}
	if h.o.Random == nil {
		h.o.Random = rand.Reader
	}
	if h.o.ApprovalTTL <= 0 {
		h.o.ApprovalTTL = 24 * time.Hour
	}
	if h.o.MaxToolOutputBytes <= 0 {
		h.o.MaxToolOutputBytes = 4 << 20
	}
	if h.o.MaxHeldBytes <= 0 {
		h.o.MaxHeldBytes = 512 << 20
	}
	if h.o.MaxRunningCells <= 0 {
		h.o.MaxRunningCells = 128
	}
	if h.o.MaxCalls <= 0 {
		h.o.MaxCalls = 10_000
	}
	h.budget.Reset(h.o.MaxHeldBytes)
	h.d = dispatch.New(&dispatch.Options{
		Hooks: h.o.Hooks, Policy: h.o.Policy, Approve: h.o.Approve, OnInterrupt: h.o.OnInterrupt, Trace: h.o.Trace,
		OnHookError: h.o.OnHookError, Now: h.o.Now, Random: h.o.Random, MaxToolOutputBytes: h.o.MaxToolOutputBytes, Budget: &h.budget,
	})
	h.programs = codemode.New(&codemode.Options{
		Config: h.cfg, Dispatcher: h.d, Budget: &h.budget, Engine: h.loadEngine,
		BeforeExec: h.o.Hooks.BeforeExec, Transformer: h.o.Transformer, Snapshots: h.o.Snapshots,
		ApprovalTTL: h.o.ApprovalTTL, ApprovalMessage: h.ApprovalMessage, MaxSuspendedPerSender: h.o.MaxSuspendedPerSender,
		MaxRunningCells: h.o.MaxRunningCells, MaxCalls: h.o.MaxCalls, MaxParkedBytes: int(h.o.MaxHeldBytes / parkedShare),
	})
	var err error
	if h.rules, err = newRules(&h.o); err != nil {
		return nil, err
	}
	tools, err := h.builder.Build(ctx, toolset.Parts{Plugins: h.o.Plugins, Servers: toolServers(h.o.MCP), Lock: h.o.Lock})
	if err != nil {
		return nil, err
	}
	h.tools = tools
	h.useLocked(tools) // nobody else has the host yet
	return h, nil
}

// rules are the layers of Options.Allow, Deny and Sandbox.
type rules struct {
	all     catalog.Layer
	sandbox *catalog.Layer // of sandboxed runs; nil for none
}

func newRules(o *Options) (rules, error) {
	all, err := catalog.NewLayer("tools", catalog.Policy{Allow: o.Allow, Deny: o.Deny})
	if err != nil {
		return rules{}, &api.ConfigError{Faults: []api.Fault{{Key: "tools", Message: err.Error()}}}
	}
	s := o.Sandbox
	if s.Allow == nil && s.AlsoAllow == nil && s.Deny == nil {
		return rules{all: all}, nil
	}
	sandbox, err := catalog.NewSandboxLayer("tools.sandbox", catalog.Policy{Allow: s.Allow, Deny: s.Deny}, s.AlsoAllow)
	if err != nil {
		return rules{}, &api.ConfigError{Faults: []api.Fault{{Key: "tools.sandbox", Message: err.Error()}}}
	}
	return rules{all, &sandbox}, nil
}

// of gives the layers of a run.
func (rs *rules) of(o *RunOptions) ([]catalog.Layer, error) {
	layers := []catalog.Layer{rs.all}
	if o.Sandboxed && rs.sandbox != nil {
		layers = append(layers, *rs.sandbox)
	}
	if o.Allow != nil || o.Deny != nil {
		l, err := catalog.NewLayer("run", catalog.Policy{Allow: o.Allow, Deny: o.Deny})
		if err != nil {
			return nil, &api.ConfigError{Faults: []api.Fault{{Key: "run", Message: err.Error()}}}
		}
		layers = append(layers, l)
	}
	return layers, nil
}

// loadEngine loads the engine at the first use. A failure is not kept: after
// the engine has been installed, the next cell runs.
func (h *Host) loadEngine(ctx context.Context) (*quickjs.Engine, error) {
	h.engineMu.Lock()
	defer h.engineMu.Unlock()
	if h.engine != nil {
		return h.engine, nil
	}
	h.mu.Lock()
	closed := h.closed
	h.mu.Unlock()
	if closed {
		return nil, api.ErrClosed
	}
	if h.o.Engine != nil {
		return h.o.Engine, nil
	}
	e, err := quickjs.Load(ctx, &quickjs.EngineOptions{Wasm: h.o.EngineWasm, CacheDir: h.o.CacheDir, PlainMemory: h.o.PlainMemory})
	if err != nil {
		return nil, err
	}
	h.engine = e
	return e, nil
}

// closers bound how many runs end side by side, so that a store that is slow to delete holds up few.
const closers = 16

// closeGrace is how long Close waits for tools and sinks that it has told to end.
const closeGrace = 250 * time.Millisecond

// parkedShare is the part of MaxHeldBytes, as a divisor, that machines of suspended cells may have beside it.
const parkedShare = 4

// Close ends all runs, drops their snapshots, waits for the execs and waits in
// flight, which end as aborted, and for their tools as long as these take to heed
// that, a quarter of a second at most. Then no hook for events and no trace sink is
// used any more, and the engine is released. A tool may call Close; a sink, a
// hook and OnClientCall must not.
func (h *Host) Close() error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.closed = true
	tools := h.tools
	toolsDone := h.leaveLocked(tools)
	runs := make([]*Run, 0, len(h.runs))
	for r := range h.runs {
		runs = append(runs, r)
	}
	h.mu.Unlock()
	h.programs.Stop()
	limits.Each(runs, closers, (*Run).Close)
	// The engine outlives its VMs by itself; this is so that nothing of the host
	// runs any more when Close returns.
	h.programs.Wait()
	h.d.Close(closeGrace)
	if toolsDone {
		tools.Drop()
	}
	err := h.programs.Close()
	h.engineMu.Lock()
	defer h.engineMu.Unlock()
	if h.engine != nil {
		err = errors.Join(err, h.engine.Close(context.Background()))
		h.engine = nil
	}
	return err
}
