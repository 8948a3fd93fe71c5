package plugins

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net/netip"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
)

// Services are what the host functions of plugins work with. The zero value is usable: no configuration, no secrets, a
// store in memory, and HTTP to public addresses. All functions are called from several goroutines at once.
type Services struct {
	// Config gives the value that the operator set for a key of the plugin's permissions.config, as one JSON value of at most
	// 1 MiB; false means not set. It is called for declared keys only. Nil: nothing is set.
	Config func(plugin, key string) (json.RawMessage, bool)
	// Secrets gives the value of a name in the plugin's permissions.secrets. It is called for declared names only, and the
	// value goes into a header of a request to one of the hosts that the manifest names with it, and nowhere else. Values, and
	// passwords in the credentials of HTTP Basic, have 8 bytes at least. The text of its error stays on the host. Nil: no secrets.
	Secrets func(ctx context.Context, plugin, name string) (string, error)
	// KV keeps the entries of kv_get, kv_put and kv_delete, for all instances: whoever has several hosts in one process gives
	// each its own, or scopes that tell them apart. Nil: that of [InstanceOptions], a host's own. Nothing is kept for the
	// whole process.
	KV KVStore
	// HTTP bounds requests. Nil: public addresses only, default bounds.
	HTTP *HTTPOptions
}

// HTTPOptions bound the requests of plugins. The zero value has the defaults.
type HTTPOptions struct {
	// AllowPrivate are addresses that are reachable although they are private or loopback. None otherwise.
	AllowPrivate []netip.Prefix
	// MaxRequestBytes and MaxResponseBytes bound the bodies; 0 means 1 MiB and 4 MiB.
	MaxRequestBytes, MaxResponseBytes int
	// Timeout bounds a whole exchange, redirects included; 0 means 30 seconds.
	Timeout time.Duration
	// TLS has the roots to trust, and no more is taken from it; nil means the system's.
	TLS *tls.Config
}

// KVScope is what a store keeps apart: no plugin, no agent and no session sees the entries of another.
type KVScope struct {
	// Plugin is the plugin's id.
	Plugin string
	// Agent is the run's agent; it may be "". Sessions of two agents are two, also if they have one name.
	Agent string
	// Session is the run's session, never "": instances without one keep their entries in memory until they are closed, and
	// no store hears of them.
	Session string
}

// KVStore keeps texts under keys. Keys have 1 to 512 bytes, values at most 1 MiB; both are valid UTF-8. It is called from
// several goroutines at once. A store that is full gives an error that is [ErrKVFull]; texts of other errors stay on the host.
type KVStore interface {
	// Get gives an entry, or found false.
	Get(ctx context.Context, scope KVScope, key string) (value string, found bool, err error)
	// Put sets an entry; a ttl of 0 means that it does not expire by itself.
	Put(ctx context.Context, scope KVScope, key, value string, ttl time.Duration) error
	// Delete removes an entry, if there is one.
	Delete(ctx context.Context, scope KVScope, key string) error
}

// Env is what only the run can do for a plugin. Each method is called during [Instance.Call] and its siblings, on the
// goroutine of the call, with a context derived from the call's: values pass through, so that a host finds the calling tool,
// its approvals and its depth there.
type Env interface {
	// Progress passes on how far a call is. It must not block.
	Progress(ctx context.Context, p guestabi.ProgressRequest)
	// CallTool calls another tool of the run, an entry of permissions.tools, through the run's policy. A [*ToolError] is data for
	// the plugin; of other errors the plugin learns that the call failed. Where that leads to a plugin, its [Instance.Call] has
	// to get ctx, or one derived from it: that is how calls in circles are found. How deep calls may go is the run's to say.
	CallTool(ctx context.Context, tool string, input json.RawMessage) (json.RawMessage, error)
	// Interrupt waits until somebody resolves the payload. A [*ToolError] is data for the plugin.
	Interrupt(ctx context.Context, payload json.RawMessage) (json.RawMessage, error)
}

// InstanceOptions tie an instance to a run. The zero value is an instance by itself.
type InstanceOptions struct {
	// Env is the run; nil answers call_tool and interrupt with the code "unavailable" and drops progress.
	Env Env
	// Agent and Session name the session whose entries kv functions see; a Session of "" gives the instance a scope of its own.
	Agent, Session string
	// KV is the store where [Services.KV] is nil, such as one of [NewMemoryKV]. Nil: one in memory that belongs to the loaded
	// plugin.
	KV KVStore
}
