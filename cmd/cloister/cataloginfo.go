package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/lock"
)

// catalogInfo is the catalog and what a person wants to know beside it: who
// vouches for what, the globals of cells, and what is not there and why.
type catalogInfo struct {
	Tools      []host.CatalogEntry `json:"tools"`
	Namespaces []namespaceInfo     `json:"namespaces"`
	// Plugins are those that have a tool in the catalog.
	Plugins []pluginInfo `json:"plugins"`
	// Servers are the MCP servers, whatever their state.
	Servers []serverInfo `json:"mcpServers"`
	Refused []refusedOne `json:"refused"`
	Drifted []driftInfo  `json:"drifted"`
}

// pluginInfo says where a plugin is from.
type pluginInfo struct {
	ID        string `json:"id"`
	Version   string `json:"version"`
	Unsigned  bool   `json:"unsigned,omitempty"`
	Publisher string `json:"publisher,omitempty"`
	Signer    string `json:"signer,omitempty"`
	Ref       string `json:"ref,omitempty"`
	Digest    string `json:"digest,omitempty"`
}

// namespaceInfo is a global of cells.
type namespaceInfo struct {
	GlobalName  string `json:"globalName"`
	Plugin      string `json:"plugin"`
	ID          string `json:"id"`
	Description string `json:"description"`
	// Computed says that the plugin makes the members for each run.
	Computed bool           `json:"computed,omitempty"`
	Members  []memberReport `json:"members"`
}

// serverInfo is an MCP server, and what became of it.
type serverInfo struct {
	Name string `json:"name"`
	// State is that of the connection: idle where the tools are those of an earlier one.
	State string `json:"state"`
	Tools int    `json:"tools"`
	Error string `json:"error,omitempty"`
	// LeftOut are tools that the server lists and that are not in the catalog.
	LeftOut []string `json:"leftOut,omitempty"`
	Server  string   `json:"server,omitempty"`
	Version string   `json:"version,omitempty"`
}

// driftInfo is a tool that is not in the catalog because it is not as it was
// agreed to.
type driftInfo struct {
	ID   string `json:"id"`
	What string `json:"what"`
	Text string `json:"text"`
}

// info collects it.
func (s *session) info() *catalogInfo {
	in := &catalogInfo{
		Tools: nonNil(s.run.Catalog()), Namespaces: []namespaceInfo{}, Plugins: []pluginInfo{},
		Refused: refusedJSON(s.Plugins().Refused), Drifted: []driftInfo{}, Servers: s.serverInfos(),
	}
	visible := map[string]bool{}
	for _, e := range in.Tools {
		visible[e.ID] = true
	}
	for _, p := range s.Plugins().Loaded {
		m, o := p.Manifest(), p.Origin()
		if slices.ContainsFunc(m.Tools, func(t plugins.Tool) bool { return visible[toolID(m.ID, t.Name)] }) {
			in.Plugins = append(in.Plugins, pluginInfo{m.ID, m.Version, o.Unsigned, o.Publisher, o.Signer, o.Ref, o.Digest})
		}
		members := membersOf(m)
		for i := range m.Namespaces {
			n := &m.Namespaces[i]
			if !shown(m.ID, n, visible) {
				continue
			}
			ns := namespaceInfo{GlobalName: n.GlobalName, Plugin: m.ID, ID: n.ID, Description: n.Description, Computed: n.ScopeExport, Members: []memberReport{}}
			for _, member := range members {
				if member.Namespace == n.ID {
					ns.Members = append(ns.Members, member)
				}
			}
			in.Namespaces = append(in.Namespaces, ns)
		}
	}
	for _, err := range s.Host().Drift() {
		d := driftInfo{Text: err.Error()}
		var de *lock.DriftError
		if errors.As(err, &de) {
			d.ID, d.What = de.ID, string(de.What)
		}
		in.Drifted = append(in.Drifted, d)
	}
	return in
}

// serverInfos says how the MCP servers stand.
func (s *session) serverInfos() []serverInfo {
	out := []serverInfo{}
	for _, m := range s.Settings().Shadowed {
		out = append(out, serverInfo{Name: m.Name, State: "shadowed", Error: fmt.Sprintf("%s has another of that name, and this one of %s is not used", s.Settings().File, m.File)})
	}
	hosts := map[string]host.MCPStatus{}
	for _, h := range s.Host().MCPStatus() {
		hosts[h.Name] = h
	}
	for _, m := range s.Servers().Status() {
		h := hosts[m.Name]
		in := serverInfo{Name: m.Name, State: string(m.State), Tools: h.Tools, Server: m.ServerName, Version: m.ServerVersion}
		if h.Err != nil {
			in.Error = h.Err.Error()
		}
		for _, t := range m.Skipped {
			in.LeftOut = append(in.LeftOut, t.Tool+": "+t.Reason)
		}
		for _, err := range h.Faults {
			in.LeftOut = append(in.LeftOut, err.Error())
		}
		out = append(out, in)
	}
	return out
}

// vouches says who vouches for an owner of tools, by its id in the catalog.
func (in *catalogInfo) vouches(owner string) string {
	for _, p := range in.Plugins {
		if "cloister:"+p.ID == owner && !p.Unsigned {
			return "signed by " + escapeLine(p.Publisher)
		}
	}
	return ""
}

// extraText is what stands below the table of tools.
func (in *catalogInfo) extraText(s *stream) string {
	var b strings.Builder
	if len(in.Namespaces) > 0 {
		heading(&b, s, "Globals of cells")
	}
	for _, n := range in.Namespaces {
		fmt.Fprintf(&b, "  %s  %s\n", s.paint(styleBold, escapeLine(n.GlobalName)), s.paint(styleDim, escapeLine(n.Plugin)))
		bullet(&b, s, "  ", n.Description)
		if n.Computed {
			bullet(&b, s, "  ", "(its members are computed by the plugin, for each run)")
		}
		for _, m := range n.Members {
			bullet(&b, s, "  ", m.call()+" calls "+m.Tool)
		}
	}
	in.serversText(&b, s)
	if len(in.Refused) > 0 {
		heading(&b, s, "Refused plugins")
	}
	for _, r := range in.Refused {
		bullet(&b, s, "", fmt.Sprintf("%s, at %s, %s: %s", r.Plugin, r.Step, r.State, r.Detail))
	}
	if len(in.Drifted) > 0 {
		heading(&b, s, "Tools that are not as they were agreed to")
	}
	for _, d := range in.Drifted {
		bullet(&b, s, "", d.Text)
	}
	return b.String()
}

// serversText is the section of MCP servers.
func (in *catalogInfo) serversText(b *strings.Builder, s *stream) {
	if len(in.Servers) > 0 {
		heading(b, s, "MCP servers")
	}
	for _, m := range in.Servers {
		state := count(m.Tools, "tool") + ", " + m.State
		if m.Error != "" {
			state = s.paint(styleRed, m.State+": ") + escapeLine(m.Error)
		}
		fmt.Fprintf(b, "  %s  %s\n", s.paint(styleBold, escapeLine(m.Name)), state)
		for _, text := range m.LeftOut {
			bullet(b, s, "  ", "left out: "+text)
		}
	}
}
