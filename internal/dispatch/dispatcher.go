package dispatch

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/limits"
	"github.com/cloister-wasm/cloister/plugins"
)

// Dispatcher is what the calls of all runs of a host share: the callbacks of the embedding program, approvals that
// hold for sessions, and the count of what is under way. It is safe for concurrent use.
type Dispatcher struct {
	o        Options
	sessions sessionGrants
	calls    limits.Census   // in the dispatcher
	events   limits.Census   // on their way to a sink
	entries  plugins.KVStore // of plugins, where plugins.Services has none: a Host's own, which outlives a plugin that is replaced
}

// Options configures a dispatcher. Package host documents what they mean.
type Options struct {
	Hooks       api.Hooks
	Policy      api.Policy
	Approve     func(ctx context.Context, call *api.ToolCall) (api.Decision, error)
	OnInterrupt func(ctx context.Context, call *api.ToolCall, payload json.RawMessage) (json.RawMessage, error)
	Trace       api.TraceSink
	OnHookError func(e *api.HookError)
	Now         func() time.Time // nil is time.Now
	Random      io.Reader
	// MaxToolOutputBytes bounds one result.
	MaxToolOutputBytes int
	// Budget is that of the host, for attachments and queued approvals.
	Budget *limits.Budget
}

// New makes a Dispatcher.
func New(o *Options) *Dispatcher { return &Dispatcher{o: *o, entries: plugins.NewMemoryKV()} }

// NewID makes an unguessable id with a prefix.
func (d *Dispatcher) NewID(prefix string) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(randomSource{d}, b[:]); err != nil {
		return "", fmt.Errorf("reading random bytes: %w", err)
	}
	return prefix + hex.EncodeToString(b[:]), nil
}

// Close waits for the calls that are under way, for some time at most, and lets no more events go to a sink.
func (d *Dispatcher) Close(atMost time.Duration) {
	d.calls.Wait(atMost)
	d.events.Close()
	d.events.Wait(atMost)
}
