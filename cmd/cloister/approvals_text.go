package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/cloister-wasm/cloister/host"
)

// waitingText shows a call. All in it is chosen by a model, a server or a plugin.
func waitingText(s *stream, c *waitingCall, now time.Time) string {
	var b strings.Builder
	who := escapeLine(c.Tool)
	if c.Unsigned {
		who += " (unsigned)"
	}
	fmt.Fprintf(&b, "%s  %s  %s\n", s.paint(styleDim, escapeLine(c.ID)), s.paint(styleBold, who), s.paint(styleDim, "since "+shownAge(now.Sub(c.Since))))
	fmt.Fprintf(&b, "  %s\n", boundedJSON(s, c.Input))
	var about []string
	for _, part := range []struct{ name, value string }{
		{"made by", c.Caller}, {"as", c.Namespace}, {"agent", c.AgentID}, {"client", c.Sender}, {"session", c.SessionID},
	} {
		if part.value != "" {
			about = append(about, part.name+" "+clip(escapeLine(part.value), 60))
		}
	}
	if c.Approval.Approval == host.ApprovalAlways {
		about = append(about, "asks every time")
	}
	if len(about) > 0 {
		b.WriteString("  " + s.paint(styleDim, strings.Join(about, ", ")) + "\n")
	}
	return b.String()
}

func shownAge(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}
