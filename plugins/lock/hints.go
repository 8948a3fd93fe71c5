package lock

import (
	"slices"
	"strconv"
	"strings"
)

// claim is one thing that an author says of a tool and that something is decided by. From the loosest of its values to
// the strictest, what it says makes approvals and policies ask for more and never for less.
type claim struct {
	what   What
	values []string // from the loosest to the strictest
	of     func(*Tool) string
}

// claims are those that an entry has. What an author does not say stands between: a policy sees the default of the MCP
// specification, which assumes the worst, but approvals ask only for a tool that says that it destroys.
var claims = []claim{
	{WhatReadOnly, []string{"true", "", "false"}, func(t *Tool) string { return said(t.Annotations.ReadOnly) }},
	{WhatDestructive, []string{"false", "", "true"}, func(t *Tool) string { return said(t.Annotations.Destructive) }},
	{WhatIdempotent, []string{"true", "", "false"}, func(t *Tool) string { return said(t.Annotations.Idempotent) }},
	{WhatOpenWorld, []string{"false", "", "true"}, func(t *Tool) string { return said(t.Annotations.OpenWorld) }},
	{WhatApproval, []string{"never", "ask", "always"}, func(t *Tool) string { return needed(t.Approval) }},
}

func isClaim(what What) bool {
	return slices.ContainsFunc(claims, func(c claim) bool { return c.what == what })
}

// claimed puts title and claims into one line.
func claimed(t *Tool) string {
	var parts []string
	if t.Title != "" {
		parts = append(parts, "title "+strconv.Quote(t.Title))
	}
	for _, c := range claims {
		if value := c.of(t); value != "" && (c.what != WhatApproval || t.Approval != "") {
			parts = append(parts, string(c.what)+" "+value)
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func said(b *bool) string {
	if b == nil {
		return ""
	}
	return strconv.FormatBool(*b)
}

func needed(approval string) string {
	if approval == "" {
		return "never"
	}
	return approval
}

// compareClaims lists the claims that differ. Those that are stricter now take nothing away from what was agreed to.
func compareClaims(id string, was, now *Tool) []Difference {
	var list []Difference
	for _, c := range claims {
		before, after := c.of(was), c.of(now)
		if before != after {
			stricter := slices.Index(c.values, after) > slices.Index(c.values, before)
			list = append(list, Difference{ID: id, What: c.what, Before: before, After: after, Stricter: stricter})
		}
	}
	return list
}

// strictest says whether a tool claims nothing that could be looser than what anybody agreed to, whatever that was. A
// hint that is not given can be one that was taken away, so that a tool has to say that it destroys. The others change
// nothing about approvals, and for policies not to give them is to assume the worst. A plugin's author decides about
// approval as well.
func strictest(id string, t *Tool) bool {
	a := t.Annotations
	isNot := func(b *bool, loose bool) bool { return b == nil || *b != loose }
	return isNot(a.ReadOnly, true) && a.Destructive != nil && *a.Destructive && isNot(a.Idempotent, true) && isNot(a.OpenWorld, false) &&
		(PluginOf(id) == "" || t.Approval == "always")
}
