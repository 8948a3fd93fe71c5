package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/host/setup"
	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/plugins/lock"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

// tellNotes says on standard error what is not there and why, or, for those who want
// all of it, that this is an error.
func (a *app) tellNotes(s *setup.Setup, strict bool) error {
	all := setupNotes(s)
	if strict {
		return strictly(all)
	}
	for _, note := range all {
		a.complain("note: "+note, "")
	}
	return nil
}

// strictly makes notes an error, if there are any.
func strictly(notes []string) error {
	if len(notes) == 0 {
		return nil
	}
	return usageError(fmt.Errorf("not all plugins and MCP servers can be used as they are\n%s", strings.Join(notes, "\n")), "without --strict the run goes on without them")
}

// setupNotes says what is not there and why: plugins that are refused, servers that
// cannot be had, tools that are not as they were agreed to.
func setupNotes(s *setup.Setup) []string {
	var notes []string
	for _, e := range s.Plugins().Refused {
		notes = append(notes, refusalLine(e))
	}
	notes = append(notes, shadowedNotes(s.Settings())...)
	notes = append(notes, mcpNotes(s.Host().MCPStatus(), s.Servers().Status())...)
	return append(notes, driftNotes(s.Host().Drift())...)
}

// refusalLine names a plugin that was not loaded, at which step and why.
func refusalLine(e *trust.Error) string {
	return fmt.Sprintf("plugin not loaded: %s, refused at %s, %s: %s", e.Plugin, e.Step, e.State, e.Detail)
}

// shadowedNotes says which servers are not used because the configuration has others of
// their names.
func shadowedNotes(cfg *settings.Settings) []string {
	var notes []string
	for _, s := range cfg.Shadowed {
		notes = append(notes, fmt.Sprintf("the MCP server %s of %s is not used: %s has another of that name", s.Name, s.File, cfg.File))
	}
	return notes
}

// mcpNotes says which servers and tools are not there, and why.
func mcpNotes(hosts []host.MCPStatus, servers []mcp.Status) []string {
	var notes []string
	for _, s := range hosts {
		if s.Err != nil {
			notes = append(notes, fmt.Sprintf("the MCP server %s is not available: %s; cloister mcp test %s waits for it and says more, cloister mcp disable %s leaves it out",
				s.Name, whyUnavailable(s.Err), s.Name, s.Name))
		}
		for _, err := range s.Faults {
			notes = append(notes, "tool not in the catalog: "+err.Error())
		}
	}
	for _, s := range servers {
		for _, t := range s.Skipped {
			notes = append(notes, fmt.Sprintf("tool not in the catalog: mcp:%s: %s: %s", s.Name, t.Tool, t.Reason))
		}
	}
	return notes
}

// whyUnavailable is the error of a server, without the words that it begins with where
// they were said already.
func whyUnavailable(err error) string {
	return strings.TrimPrefix(err.Error(), mcp.ErrUnavailable.Error()+": ")
}

// driftNotes says which tools are not as they were agreed to. The tools of a server
// are one note: there may be hundreds.
func driftNotes(drift []error) []string {
	var notes, order []string
	servers := map[string]*serverDrift{}
	for _, err := range drift {
		var de *lock.DriftError
		if !errors.As(err, &de) || lock.ServerOf(de.ID) == "" {
			notes = append(notes, "tool not in the catalog: "+err.Error())
			continue
		}
		server := lock.ServerOf(de.ID)
		if servers[server] == nil {
			servers[server] = &serverDrift{}
			order = append(order, server)
		}
		servers[server].add(de)
	}
	for _, server := range order {
		notes = append(notes, servers[server].note(server))
	}
	return notes
}

// serverDrift is what of a server is not as it was agreed to.
type serverDrift struct {
	tools, others []string
	unlocked      bool // version 1 of the lock file held less than is asked about today
}

func (s *serverDrift) add(e *lock.DriftError) {
	if what := lock.TextOf(e.ID); what != "" {
		s.others = append(s.others, what)
		return
	}
	s.tools = append(s.tools, strings.TrimPrefix(e.ID, mcpOwner(lock.ServerOf(e.ID))+":"))
	s.unlocked = s.unlocked || e.What == lock.WhatAnnotations
}

func (s *serverDrift) note(server string) string {
	has, names := s.others, ""
	if n := len(s.tools); n > 0 {
		has = append([]string{count(n, "tool")}, s.others...)
		names = ": " + strings.Join(s.tools[:min(n, 5)], ", ")
		if n > 5 {
			names += fmt.Sprintf(" and %d more", n-5)
		}
	}
	why := ""
	if s.unlocked {
		why = "; the lock file is of a version that held no titles and annotations"
	}
	return fmt.Sprintf("the MCP server %s has %s that differ from the lock file or are not in it, and are left out%s%s; cloister lock accept %s shows and takes them",
		server, strings.Join(has, ", "), names, why, mcpOwner(server))
}

// mcpOwner is a server's name as lock files and the catalog have it.
func mcpOwner(server string) string { return catalog.SourceMCP + ":" + server }
