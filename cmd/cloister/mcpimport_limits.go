package main

import (
	"regexp"
	"strings"
	"time"

	"github.com/cloister-wasm/cloister/internal/json5"
)

// looksRestricting are names of members that may say which tools a server gives, or when to ask.
var looksRestricting = regexp.MustCompile(`(?i)^(allow|den[iy]|block|disable|enable|exclude|include|filter|hidden?|available|approv|permission)\w*tool|tool\w*(allow|den[iy]|block|disable|enable|exclude|include|filter|approv|permission)`)

// restriction reads what bounds a server; false means that the member is not known. What may be a bound and is not understood
// is a reason to refuse: a server must not be able to do more here than it could there.
func (i *importer) restriction(key string, n *json5.Node) bool {
	s := &i.out.Server
	switch key {
	case "enabled_tools", "includeTools", "available_tools", "enabledTools", "allowedTools":
		i.allow(key, n)
	case "disabled_tools", "excludeTools", "disabledTools":
		s.Deny = append(s.Deny, i.toolNames(key, n)...)
	case "tools":
		i.tools(n)
	case "default_tools_approval_mode":
		i.approvalMode(n)
	case "startup_timeout_sec":
		i.duration(&s.Limits.ConnectTimeout, key, n, time.Second, time.Hour)
	case "startup_timeout_ms":
		i.duration(&s.Limits.ConnectTimeout, key, n, time.Millisecond, time.Hour)
	case "tool_timeout_sec":
		i.duration(&s.Limits.CallTimeout, key, n, time.Second, 24*time.Hour)
	default:
		if looksRestricting.MatchString(key) {
			i.refuse("its %s may say what it must not do, and is not understood; add it by hand with --allow, --deny and --approval", key)
		}
		return false
	}
	return true
}

// allow reads the tools that a server may give. A list of none is not the same as no list.
func (i *importer) allow(key string, n *json5.Node) {
	if n.Kind == json5.Null {
		return
	}
	names := i.toolNames(key, n)
	if len(names) == 0 && i.out.refused == "" {
		i.out.Disabled, i.out.Deny = true, append(i.out.Deny, "*") // an empty list here would be all of them
		i.note("its %s names no tool, so it is disabled and all are denied", key)
	}
	i.out.Allow = append(i.out.Allow, names...)
}

// toolNames reads a list of names. They are patterns here, so what would mean more here is refused.
func (i *importer) toolNames(key string, n *json5.Node) (names []string) {
	if n.Kind != json5.Array && n.Kind != json5.Null {
		i.refuse("its %s is not a list", key)
	}
	for _, e := range n.Elements {
		if e.Kind != json5.String || e.Text == "" || strings.ContainsAny(e.Text, "*?[]\\") {
			i.refuse("its %s holds what is no name of a tool; add it by hand with --allow and --deny", key)
			return nil
		}
		names = append(names, e.Text)
	}
	return names
}

// tools reads a list of tools, where "*" is all of them, or what Codex says of single ones.
func (i *importer) tools(n *json5.Node) {
	if n.Kind == json5.Object {
		for _, m := range n.Members {
			mode := m.Value.Member("approval_mode")
			if mode == nil {
				i.refuse("its tools.%s is not understood; add it by hand", m.Key)
				continue
			}
			i.approvalMode(mode.Value)
		}
		return
	}
	if len(n.Elements) == 1 && n.Elements[0].Text == "*" {
		return
	}
	i.allow("tools", n)
}

// approvalMode keeps that somebody is asked, and for the whole server: of what is not asked for there, nothing is said here.
func (i *importer) approvalMode(n *json5.Node) {
	switch n.Text {
	case "prompt":
		if i.out.Approval == "" {
			i.out.Approval = "ask"
			i.note("calls of its tools are asked for")
		}
	case "auto", "approve", "writes":
	default:
		i.refuse("its approval mode is not understood; add it by hand with --approval")
	}
}

// duration reads a number of units.
func (i *importer) duration(to *time.Duration, key string, n *json5.Node, unit, most time.Duration) {
	switch {
	case n.Kind == json5.Null:
	case n.Kind != json5.Number || !(n.Number > 0):
		i.note("not taken: %s, which is no time", key)
	case n.Number*float64(unit) > float64(most):
		*to = most
		i.note("its %s is %s here, the longest that there is", key, most)
	default:
		*to = max(time.Duration(n.Number*float64(unit)), time.Millisecond)
	}
}
