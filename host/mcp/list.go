package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/mcpapi"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds on lists.
const (
	maxListBytes = 32 << 20 // all pages of one list
	maxListItems = 20_000   // resources, templates, prompts
	maxCursor    = 4096     // bytes
	maxSkipped   = 100      // tools that are named as left out
)

// toolList is what a server offers, checked. It does not change.
type toolList struct {
	Tools                               []host.MCPTool
	Skipped                             []Skipped
	Notes                               []string // what was made good, a line for each tool
	Instructions                        string
	Resources, Prompts                  bool
	Protocol, ServerName, ServerVersion string
}

// offered gives the tools that the configuration lets through, with their approval.
func (l *toolList) offered(cfg *Server) []host.MCPTool {
	out := make([]host.MCPTool, 0, len(l.Tools))
	for _, t := range l.Tools {
		if cfg.Allow != nil && !matchesAny(cfg.Allow, t.Name) || matchesAny(cfg.Deny, t.Name) {
			continue
		}
		t.Approval = approval(cfg, &t)
		out = append(out, t)
	}
	return out
}

// approval is what the configuration says, and without it what the tool says of itself:
// a hint can make a call harder and never easier.
func approval(cfg *Server, t *host.MCPTool) host.Approval {
	switch {
	case cfg.Approval != "":
		return cfg.Approval
	case t.Annotations.Destructive != nil && *t.Annotations.Destructive:
		return host.ApprovalAsk
	default:
		return host.ApprovalNever
	}
}

// find gives the tool of a name, nil if there is none.
func (l *toolList) find(name string) *host.MCPTool {
	for i := range l.Tools {
		if l.Tools[i].Name == name {
			return &l.Tools[i]
		}
	}
	return nil
}

// listTools reads all pages of the server's tools, and what else it says it has.
func (s *session) listTools(ctx context.Context) (*toolList, error) {
	hello := s.sdk.InitializeResult()
	l := &toolList{Protocol: s.protocol, Instructions: mcpapi.Instructions(hello.Instructions)}
	if i := hello.ServerInfo; i != nil {
		l.ServerName, l.ServerVersion = plaintext.Short(i.Name, 200), plaintext.Short(i.Version, 100)
	}
	caps := hello.Capabilities
	if caps == nil {
		caps = &sdk.ServerCapabilities{}
	}
	l.Resources, l.Prompts = caps.Resources != nil, caps.Prompts != nil
	if caps.Tools == nil {
		return l, nil
	}
	var kept map[string]bool // what the SDK takes for usable over HTTP
	if s.web != nil {
		kept = map[string]bool{}
	}
	items, err := pages("tools", s.u.limits.MaxPages, s.u.limits.MaxTools, func(cursor string) (json.RawMessage, error) {
		return s.request(ctx, func(ctx context.Context) error {
			r, err := s.sdk.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
			if err == nil && kept != nil {
				for _, t := range r.Tools {
					kept[t.Name] = true
				}
			}
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("listing tools: %w", err)
	}
	l.add(items, kept)
	return l, nil
}

// pages reads a list to its end. A server that does not come to an end, or goes in
// circles, breaks the protocol.
func pages(member string, maxPages, maxItems int, ask func(cursor string) (json.RawMessage, error)) ([]json.RawMessage, error) {
	var items []json.RawMessage
	seen := map[string]bool{}
	size, cursor := 0, ""
	for range maxPages {
		raw, err := ask(cursor)
		if err != nil {
			return nil, err
		}
		if size += len(raw); size > maxListBytes {
			return nil, protocolError("a list of %s has more than %d bytes", member, maxListBytes)
		}
		page, next, err := decodePage(raw, member)
		if err != nil {
			return nil, err
		}
		if items = append(items, page...); len(items) > maxItems {
			return nil, protocolError("a list of %s has more than %d entries%s", member, maxItems, limitName(member))
		}
		switch {
		case next == "":
			return items, nil
		case seen[next]:
			return nil, protocolError("a list of %s goes in circles: its cursor comes again", member)
		case len(next) > maxCursor:
			return nil, protocolError("a cursor of a list of %s has more than %d bytes", member, maxCursor)
		}
		seen[next] = true
		cursor = next
	}
	return nil, protocolError("a list of %s has more than %d pages (limits.maxPages)", member, maxPages)
}

func limitName(member string) string {
	if member == "tools" {
		return " (limits.maxTools)"
	}
	return ""
}

// request sends one request without an answer of its own for guests.
func (s *session) request(ctx context.Context, ask func(ctx context.Context) error) (json.RawMessage, error) {
	return s.send(ctx, &call{}, &request{ask: func(ctx context.Context, _ *session, _ any) error { return ask(ctx) }})
}

func decodePage(raw json.RawMessage, member string) (items []json.RawMessage, next string, err error) {
	page := map[string]json.RawMessage{}
	if err := into(raw, &page); err != nil {
		return nil, "", protocolError("a list of %s: %v", member, err)
	}
	if name := folded(otherMembers(page, member), member, "nextCursor"); name != "" {
		return nil, "", protocolError("a list of %s has a member %q, which differs from ours in letter case", member, name)
	}
	if err := into(page[member], &items); err != nil || page[member][0] != '[' {
		return nil, "", protocolError("a list has no array %q", member)
	}
	if c := page["nextCursor"]; c != nil && string(c) != "null" {
		if err := into(c, &next); err != nil {
			return nil, "", protocolError("the cursor of a list of %s is no string", member)
		}
	}
	return items, next, nil
}

// otherMembers is a page without the members that are known.
func otherMembers(page map[string]json.RawMessage, member string) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for k, v := range page {
		if k != member && k != "nextCursor" {
			out[k] = v
		}
	}
	return out
}
