package main

import (
	"time"

	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/host/settings"
)

// withEnded adds why a server's connection was ended lately, as any process of this user
// has noted it in the cache.
func (a *app) withEnded(r serverJSON, cfg *settings.Settings, s *settings.Server) serverJSON {
	ended, err := mcp.LastEnded(cfg.Places.ServerCache(), &s.Server)
	if err != nil {
		a.complain("note: "+s.Name+": "+err.Error(), "")
	}
	r.Ended = ended
	return r
}

// endedText is a line for people.
func endedText(e *mcp.Ended) string {
	return "cut off at " + e.At.Format(time.RFC3339) + ": " + escapeLine(e.Reason)
}
