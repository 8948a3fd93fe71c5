package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/setup"
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/lock"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

// lockState is a lock file beside what would be loaded.
type lockState struct {
	path string
	// file is what was agreed to, now what is there. missing: there is no file.
	file, now *lock.File
	missing   bool
	refused   []*trust.Error
	// failed are MCP servers that could not be asked.
	failed []failedServer
}

// lockState reads both. ids may name plugins under development to be locked too.
func (f *lockFlags) state(ctx context.Context, ids []string) (*lockState, error) {
	cfg, err := f.tools.load()
	if err != nil {
		return nil, err
	}
	choice, err := cfg.Places.LockFile(cfg)
	if err != nil {
		return nil, placeFault(err)
	}
	o, err := f.tools.setup(cfg)
	if err != nil {
		return nil, err
	}
	s := &lockState{path: choice.Path, now: lock.New()}
	s.file, err = lock.Load(choice.Path)
	if s.missing = errors.Is(err, fs.ErrNotExist); s.missing {
		s.file, err = lock.New(), nil
	}
	if err != nil {
		return nil, usageError(err, "")
	}
	set, err := setup.LoadPlugins(ctx, o, nil)
	if err != nil {
		return nil, setupFault(ctx, err)
	}
	defer func() { _ = set.Close() }() // nobody has used them
	s.refused = set.Refused
	unknown, err := notLoaded(set)
	if err != nil {
		return nil, err
	}
	s.keep(set, unknown)
	for _, p := range set.Loaded {
		o := p.Origin()
		switch {
		case !p.Unsigned():
			s.now.Plugins[p.ID()] = lock.Plugin{Version: p.Version(), Digest: o.Digest, Publisher: o.Publisher, Signer: o.Signer}
		case len(s.file.PluginTools(p.ID())) == 0 && !slices.Contains(ids, p.ID()):
			continue
		}
		maps.Copy(s.now.Tools, host.LockPlugin(p))
	}
	manager, err := setup.NewManager(o)
	if err != nil {
		return nil, setupFault(ctx, err)
	}
	err = s.addServers(freshServers(ctx, manager, ids), cfg, ids)
	return s, errors.Join(err, manager.Close())
}

// notLoaded are the installed plugins of which nothing can be said: those that are
// disabled, and those that are refused.
func notLoaded(set *setup.Plugins) (map[string]bool, error) {
	out := map[string]bool{}
	for _, e := range set.Refused {
		out[e.Plugin] = true
	}
	s, err := existingStore()
	if s == nil || err != nil {
		return out, err
	}
	now, err := s.Current()
	if err != nil {
		return nil, err
	}
	for _, e := range now.Entries {
		if e.Disabled {
			out[e.ID] = true
		}
	}
	return out, nil
}

// keep takes over what this command knows nothing about: tools of other sources,
// and plugins that are installed but not loaded or under development elsewhere.
func (s *lockState) keep(set *setup.Plugins, unknown map[string]bool) {
	loaded := map[string]bool{}
	for _, p := range set.Loaded {
		loaded[p.ID()] = true
	}
	for id, p := range s.file.Plugins {
		if unknown[id] {
			s.now.Plugins[id] = p
		}
	}
	for id, t := range s.file.Tools {
		owner := lock.PluginOf(id)
		_, signed := s.file.Plugins[owner]
		if owner == "" || unknown[owner] || !signed && !loaded[owner] {
			s.now.Tools[id] = t
		}
	}
}

// lockChange is one difference from the lock file.
type lockChange struct {
	// Plugin is whose it is, ID the plugin or the tool.
	Plugin string `json:"plugin"`
	ID     string `json:"id"`
	What   string `json:"what"`
	// State is "new", "gone" or "changed".
	State string `json:"state"`
	// Stricter says that a hint asks for more than what was agreed to: it counts already.
	Stricter bool   `json:"stricter,omitempty"`
	Text     string `json:"text"`
	Before   string `json:"before,omitempty"`
	After    string `json:"after,omitempty"`
}

// changes lists the differences, plugin by plugin; with ids only theirs.
func (s *lockState) changes(ids []string) []lockChange {
	out := []lockChange{}
	for _, d := range s.file.Differences(s.now) {
		c := lockChange{Plugin: lockOwner(d.ID), ID: d.ID, What: string(d.What), State: "changed", Stricter: d.Stricter, Before: d.Before, After: d.After}
		if c.Plugin == "" {
			c.Plugin = d.ID
		}
		switch {
		case d.New:
			c.State = "new"
		case d.Gone:
			c.State = "gone"
		}
		c.Text = s.sentence(&d)
		if len(ids) == 0 || slices.Contains(ids, c.Plugin) || slices.Contains(ids, c.ID) {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b lockChange) int { return strings.Compare(a.Plugin, b.Plugin) })
	return out
}

// sentence says what differs.
func (s *lockState) sentence(d *lock.Difference) string {
	name, are, them := lockSubject(d.ID)
	switch p, plugin := s.now.Plugins[d.ID]; {
	case d.New && plugin:
		return fmt.Sprintf("%s %s new: version %s, signed by %s of %s.", name, are, p.Version, p.Signer, p.Publisher)
	case d.New:
		return fmt.Sprintf("%s %s new: the lock file does not have %s.", name, are, them)
	case d.Gone:
		return fmt.Sprintf("%s %s gone: only the lock file has %s.", name, are, them)
	case d.What == lock.WhatAnnotations:
		return name + " was agreed to before titles and annotations were locked: look at them now."
	case d.Claim():
		text := fmt.Sprintf("%s changed: its %s, from %s to %s.", name, d.What, cmp.Or(d.Before, "unsaid"), cmp.Or(d.After, "unsaid"))
		if d.Stricter {
			text += " That is stricter, and counts already."
		}
		return text
	}
	return fmt.Sprintf("%s changed: its %s.", name, d.What)
}

// lockSubject names what an entry of the lock file is about, with the words that go with it.
func lockSubject(id string) (name, are, them string) {
	if lockOwner(id) == "" {
		return "The plugin", "is", "it"
	}
	name = id[strings.LastIndexByte(id, ':')+1:]
	if what := lock.TextOf(id); what != "" {
		return "The server's " + what, "are", "them"
	}
	if space, ok := strings.CutPrefix(name, "namespace/"); ok && lock.PluginOf(id) != "" {
		return "The namespace " + space, "is", "it"
	}
	return "The tool " + name, "is", "it"
}

// knows says whether an id stands for anything.
func (s *lockState) knows(id string) bool {
	for _, l := range []*lock.File{s.file, s.now} {
		_, plugin := l.Plugins[id]
		_, tool := l.Tools[id]
		server, mcp := strings.CutPrefix(id, mcpOwner(""))
		if plugin || tool || len(l.PluginTools(id)) > 0 || mcp && len(l.ServerTools(server)) > 0 {
			return true
		}
	}
	return false
}

// take makes the lock file agree with differences.
func (s *lockState) take(changes []lockChange) {
	for _, c := range changes {
		if p, ok := s.now.Plugins[c.ID]; ok {
			s.file.Plugins[c.ID] = p
		} else {
			delete(s.file.Plugins, c.ID)
		}
		if t, ok := s.now.Tools[c.ID]; ok {
			s.file.Tools[c.ID] = t
		} else {
			delete(s.file.Tools, c.ID)
		}
	}
}

// lockChangesText lays differences out.
func lockChangesText(s *stream, changes []lockChange) string {
	d := &plugins.Difference{}
	for _, c := range changes {
		d.Changes = append(d.Changes, plugins.Change{Area: c.Plugin, Path: c.ID, Text: c.Text, Before: c.Before, After: c.After, Widens: c.State != "gone" && !c.Stricter})
	}
	return strings.TrimPrefix(changesText(s, d), "\n")
}
