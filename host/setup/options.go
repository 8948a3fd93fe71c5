package setup

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/gateway"
	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/internal/forms"
	"github.com/cloister-wasm/cloister/plugins"
)

// Options are the choices of New. The zero value makes a host of what the command line
// would use: the configuration that applies, installed plugins, MCP servers.
type Options struct {
	// Settings is the configuration. Nil: settings.Load(nil). Its Places say where plugins,
	// tokens, caches, the trust policy and the lock file are.
	Settings *settings.Settings

	// Host is what a configuration cannot say: the program's own tools, approver, hooks,
	// trace, clock. What the settings decide must be left zero: CodeMode, Allow, Deny,
	// Sandbox, Plugins, MCP and Lock. Policy, CacheDir, ApprovalTTL, Approve and
	// MaxSuspendedPerSender win over the settings where they are set.
	Host host.Options
	// CodeMode is in place of that of the settings. Nil: theirs.
	CodeMode *host.CodeModeConfig

	// Dirs are folders of development plugins, beside those of the settings.
	Dirs []string
	// AllowUnsignedUnsafe lets plugins of folders in, which nobody has signed, whatever the
	// settings say. Without it, folders are an error (UnsignedError).
	AllowUnsignedUnsafe bool
	// NoInstalled leaves installed plugins out, whatever the settings say.
	NoInstalled bool
	// Plugins has the callbacks and bounds of plugins. CacheDir, Services and
	// AllowUnsignedUnsafe are of the settings.
	Plugins plugins.LoadOptions

	// NoServers leaves MCP servers out. OnlyServers, if not empty, leaves out all but these.
	NoServers   bool
	OnlyServers []string
	// MCP has the callbacks of connections. Cache and Tokens are of the settings where they
	// are zero; OnChange is the setup's own.
	MCP mcp.Options
	// StartTimeout is how long New and Reload wait for MCP servers whose tools are not in
	// the cache, and go on without them. Zero means 10 seconds.
	StartTimeout time.Duration

	// Follow has the host take over what changes while it lives: lists of MCP servers, and
	// with Reload or Watch the configuration and all that it names. Without it the tools
	// are those of the start.
	Follow bool
	// OnChange, if set, is called after tools changed, when clients of the gateway have
	// been told. It is not called twice at the same time, and must not call Reload or
	// Close.
	OnChange func(*Setup)

	// Gateway, if set, has the host served to MCP clients. Host must be nil; Approvals, if
	// nil, is a new queue where Elicit is set and nobody else approves, and what approves
	// where Host.Approve is nil. Elicit does not count where approvals.elicit is false.
	// Instructions, Limits and Logger are of the settings and these options where they are
	// zero.
	Gateway *gateway.Options

	// Logger gets what an operator should know. Nil discards it.
	Logger *slog.Logger
}

// startTimeout is the default of Options.StartTimeout.
const startTimeout = 10 * time.Second

// withDefaults gives a copy with settings, a logger and times.
func (o *Options) withDefaults() (*Options, error) {
	c := &Options{}
	if o != nil {
		*c = *o
	}
	if c.Settings == nil {
		s, err := settings.Load(nil)
		if err != nil {
			return nil, &Error{StepSettings, err}
		}
		c.Settings = s
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = startTimeout
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// Validate lists everything that is wrong with the options, in an *OptionsError, and
// opens nothing. Servers are looked up in Settings, which may be nil for none. New does
// the same.
func (o *Options) Validate() error {
	var errs []error
	ours := func(set bool, field, instead string) {
		if set {
			errs = append(errs, fmt.Errorf("the settings decide Options.%s: %s", field, instead))
		}
	}
	h := &o.Host
	ours(!reflect.DeepEqual(h.CodeMode, host.CodeModeConfig{}), "Host.CodeMode", "set Options.CodeMode")
	ours(h.Allow != nil || h.Deny != nil, "Host.Allow and Host.Deny", "use tools.allow and tools.deny, or those of host.RunOptions")
	ours(h.Sandbox.Allow != nil || h.Sandbox.AlsoAllow != nil || h.Sandbox.Deny != nil, "Host.Sandbox", "use tools.sandbox")
	ours(h.Plugins != nil, "Host.Plugins", "use Options.Dirs, or install them")
	ours(h.MCP != nil, "Host.MCP", "use mcp.servers")
	ours(h.Lock != nil, "Host.Lock", "use settings.Places.Lock")
	ours(o.Gateway != nil && o.Gateway.Host != nil, "Gateway.Host", "it is the one that is made")
	if o.StartTimeout < 0 {
		errs = append(errs, errors.New("Options.StartTimeout must not be negative"))
	}
	for i, dir := range o.Dirs {
		if wrong := forms.NotEmpty(dir); wrong != "" {
			errs = append(errs, fmt.Errorf("Options.Dirs[%d] %s", i, wrong))
		}
	}
	if o.NoServers && len(o.OnlyServers) > 0 {
		errs = append(errs, errors.New("Options.NoServers and Options.OnlyServers are given both"))
	} else if _, err := o.servers(); err != nil {
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		return nil
	}
	return &OptionsError{errs}
}
