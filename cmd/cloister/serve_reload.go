package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"time"

	"github.com/cloister-wasm/cloister/host/settings"
)

// lookEvery is how often files are looked at for changes.
const lookEvery = 2 * time.Second

// watch reloads when a file has changed, or at SIGHUP, until ctx ends.
func (s *service) watch(ctx context.Context) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	seen := s.fingerprint()
	for {
		forced := false
		select {
		case <-ctx.Done():
			return
		case <-hup:
			forced = true
		case <-ticker.C:
		}
		now := s.fingerprint()
		if now == seen && !forced {
			continue
		}
		seen = now
		s.reload(ctx)
	}
}

// fingerprint says what the files look like that decide about tools.
func (s *service) fingerprint() string {
	f := &s.flags.tools
	var files []string
	if name, _, err := settings.Locate(f.config); err == nil && name != "" {
		files = append(files, name)
	}
	if name, err := (settings.Places{}).ServerList(); err == nil {
		files = append(files, name)
	}
	if dir, err := storeDir(); err == nil {
		files = append(files, filepath.Join(dir, "current"))
	}
	if name, err := dataLockPath(); err == nil {
		files = append(files, name)
	}
	s.mu.Lock()
	cfg := s.cfg
	s.mu.Unlock()
	files = append(files, cfg.Policies...)
	if choice, err := lockFileOf(f.lock, cfg); err == nil {
		files = append(files, choice.Path)
	}
	if name, err := policyPath(f.trust, cfg); err == nil {
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

// reload reads everything again. What is wrong leaves all as it was.
func (s *service) reload(ctx context.Context) {
	fail := func(err error) {
		if ctx.Err() == nil {
			s.log.Error("what changed is not taken over", "error", err)
		}
	}
	f := &s.flags.tools
	cfg, err := loadConfig(f.config)
	if err != nil {
		fail(err)
		return
	}
	servers, err := f.mcp.choose(cfg)
	if err != nil {
		fail(err)
		return
	}
	policy, err := toolPolicy(cfg)
	if err != nil {
		fail(err)
		return
	}
	set, err := f.loadSet(ctx, cfg, s.pluginOptions())
	if err != nil {
		fail(err)
		return
	}
	for i := range servers {
		servers[i] = withRedirect(servers[i])
	}
	if err := s.manager.SetServers(servers); err != nil {
		set.close()
		fail(err)
		return
	}
	loadServers(ctx, s.manager)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		set.close()
		return
	}
	s.policy.set(policy)
	if err := s.take(ctx, cfg, set); err != nil {
		fail(err)
	}
}

// take puts plugins and servers into the host. The caller holds mu.
func (s *service) take(ctx context.Context, cfg *settings.Settings, set *pluginSet) error {
	oldSet, oldCfg := s.set, s.cfg
	if needsRestart(oldCfg, cfg) {
		s.log.Warn("the configuration has other settings of tools, serve or approvals; they count after a new start")
	}
	s.set, s.cfg = set, cfg
	if err := s.give(ctx); err != nil {
		s.set, s.cfg = oldSet, oldCfg
		set.close()
		return err
	}
	for _, p := range oldSet.plugins {
		p.Retire() // runs that use it keep it
	}
	s.changed()
	s.log.Info("took over what changed", "plugins", len(set.plugins), "mcp", len(s.mcp.servers))
	return nil
}

// needsRestart says whether settings differ that a running host keeps.
func needsRestart(old, now *settings.Settings) bool {
	old, now = new(*old), new(*now)
	old.CodeMode.Enabled, now.CodeMode.Enabled = !old.CodeModeOff, !now.CodeModeOff // a flag may have turned it off
	return !reflect.DeepEqual(old.CodeMode, now.CodeMode) || !reflect.DeepEqual(old.Allow, now.Allow) || !reflect.DeepEqual(old.Deny, now.Deny) ||
		!reflect.DeepEqual(old.Sandbox, now.Sandbox) || !reflect.DeepEqual(old.Serve, now.Serve) || old.Approvals != now.Approvals
}
