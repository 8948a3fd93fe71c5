package setup

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/host/settings"
)

// lookEvery is how often Watch looks at files.
const lookEvery = 2 * time.Second

// Watch calls Reload when a file has changed that decides about tools, or when now is
// sent to, until ctx ends. It looks every two seconds; a nil now is never sent to. What
// cannot be taken over is logged. Without Options.Follow it is ErrFixed, else the end of
// ctx.
func (s *Setup) Watch(ctx context.Context, now <-chan struct{}) error {
	if !s.o.Follow {
		return ErrFixed
	}
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	seen := s.fingerprint()
	for {
		forced := false
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-now:
			forced = true
		case <-ticker.C:
		}
		look := s.fingerprint()
		if look == seen && !forced {
			continue
		}
		seen = look
		if err := s.Reload(ctx); err != nil && ctx.Err() == nil {
			s.o.Logger.Error("what changed is not taken over", "error", err)
		}
	}
}

// fingerprint says what the files look like that decide about tools.
func (s *Setup) fingerprint() string {
	cfg := s.Settings()
	places := cfg.Places
	var files []string
	if name, err := cfg.Locate(); err == nil && name != "" {
		files = append(files, name)
	}
	if name, err := places.ServerList(); err == nil {
		files = append(files, name)
	}
	if dir, err := places.StoreDir(); err == nil {
		files = append(files, filepath.Join(dir, "current"))
	}
	if name, err := places.InstalledLock(); err == nil {
		files = append(files, name)
	}
	files = append(files, cfg.Policies...)
	if choice, err := places.LockFile(cfg); err == nil {
		files = append(files, choice.Path)
	}
	if name, _, err := places.TrustFile(cfg); err == nil {
		files = append(files, name)
	}
	var b strings.Builder
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			fmt.Fprintf(&b, "%s -\n", name)
			continue
		}
		fmt.Fprintf(&b, "%s %d %d %d\n", name, info.Size(), info.ModTime().UnixNano(), info.Mode())
	}
	return b.String()
}

// Reload reads everything again, the settings as they were loaded, and takes over what
// changed: plugins, MCP servers, policies, the lock file. Runs that have started keep
// what they have; clients are told. Settings of tools, serve and approvals are those of
// the start, which is logged if they changed. What is wrong leaves all as it was.
//
// Without Options.Follow it is ErrFixed, after Close ErrClosed.
func (s *Setup) Reload(ctx context.Context) error {
	if !s.o.Follow {
		return ErrFixed
	}
	s.reloading.Lock()
	defer s.reloading.Unlock()
	cfg, err := s.Settings().Reload()
	if err != nil {
		return at(StepSettings, err)
	}
	next := *s.o
	next.Settings = cfg
	servers, err := next.servers()
	if err != nil {
		return at(StepServers, err)
	}
	policy := s.o.Host.Policy
	if policy == nil {
		if policy, err = cfg.ToolPolicy(); err != nil {
			return at(StepPolicies, err)
		}
	}
	loaded, err := next.loadParts(ctx)
	if err != nil {
		return err
	}
	s.swap(true)
	defer s.swap(false)
	if err := s.manager.SetServers(servers); err != nil {
		_ = loaded.plugins.Close() // nobody has used them
		return at(StepServers, err)
	}
	next.loadServers(ctx, s.manager)
	if err := s.takeOver(ctx, loaded, policy); err != nil {
		s.backToServers(ctx)
		return err
	}
	return nil
}

// swap says whether the servers are being changed, and afterwards takes over what they
// changed meanwhile.
func (s *Setup) swap(on bool) {
	s.changing.Lock()
	missed := s.missed
	s.swapping, s.missed = on, false
	s.changing.Unlock()
	if missed {
		s.serversChanged(nil)
	}
}

// backToServers has the manager use the servers of the settings that apply. What
// connections were closed are made anew.
func (s *Setup) backToServers(ctx context.Context) {
	o := *s.o
	o.Settings = s.Settings()
	servers, err := o.servers()
	if err != nil || s.manager.SetServers(servers) != nil {
		return // closed: it had these servers before
	}
	o.loadServers(ctx, s.manager)
	s.changing.Lock()
	defer s.changing.Unlock()
	s.missed = true // swap hands them to the host
}

// takeOver puts what was loaded in the place of what is there.
func (s *Setup) takeOver(ctx context.Context, next *parts, policy host.Policy) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	if s.closed {
		_ = next.plugins.Close() // nobody has used them
		return ErrClosed
	}
	old, oldPolicy := s.now.Load(), s.policy.now.Load()
	s.policy.set(policy)
	if needsRestart(old.settings, next.settings) {
		s.o.Logger.Warn("the configuration has other settings of tools, serve or approvals; they count after a new start")
	}
	s.now.Store(next)
	servers, err := s.give(ctx)
	if err != nil {
		s.now.Store(old)
		s.policy.now.Store(oldPolicy)
		_ = next.plugins.Close() // the host has not taken them
		return err
	}
	old.plugins.retire() // runs that use them keep them
	s.changed()
	s.o.Logger.Info("took over what changed", "plugins", len(next.plugins.Loaded), "mcp", servers)
	return nil
}

// needsRestart says whether settings differ that a running host keeps.
func needsRestart(old, now *settings.Settings) bool {
	return !reflect.DeepEqual(old.CodeMode, now.CodeMode) || !reflect.DeepEqual(old.Allow, now.Allow) || !reflect.DeepEqual(old.Deny, now.Deny) ||
		!reflect.DeepEqual(old.Sandbox, now.Sandbox) || !reflect.DeepEqual(old.Serve, now.Serve) || old.Approvals != now.Approvals
}

// give hands plugins, servers and lock to the host, and says how many servers there are.
// The caller holds changing.
func (s *Setup) give(ctx context.Context) (servers int, err error) {
	now, list := s.now.Load(), s.manager.Servers()
	agreed, err := now.agreed(list)
	if err != nil {
		return 0, err
	}
	if err := s.host.SetTools(ctx, host.ToolChange{Plugins: now.plugins.Loaded, MCP: list, Lock: agreed}); err != nil {
		return 0, at(StepHost, err)
	}
	s.tellDrift()
	return len(list), nil
}

// serversChanged takes over what MCP servers have now.
func (s *Setup) serversChanged(*mcp.Manager) {
	s.changing.Lock()
	defer s.changing.Unlock()
	if s.closed || s.host == nil {
		return
	}
	if s.swapping {
		s.missed = true
		return
	}
	if _, err := s.give(context.Background()); err != nil {
		s.o.Logger.Error("the tools of MCP servers were not taken over", "error", err)
		return
	}
	s.changed()
}

// changed tells clients and the program that tools changed. The caller holds changing.
func (s *Setup) changed() {
	if s.gateway != nil {
		s.gateway.Changed()
	}
	if s.o.OnChange != nil {
		s.o.OnChange(s)
	}
}
