package main

import (
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/host/mcp"
)

// What may have to be fetched gets time for it, and what somebody said counts.
func TestFirstStart(t *testing.T) {
	for _, test := range []struct {
		command string
		args    []string
		limit   time.Duration
		want    time.Duration
		note    string
	}{
		{"npx", []string{"-y", "x"}, 0, fetchTime, "starting s, which npx may fetch first"},
		{"npx.cmd", nil, 0, fetchTime, "starting s, which npx may fetch first"},
		{"/usr/bin/uvx", []string{"x"}, 0, fetchTime, "starting s, which uvx may fetch first"},
		{"docker", []string{"run", "-i", "x"}, 0, fetchTime, "starting s, which docker may fetch first"},
		{"npx", nil, time.Second, time.Second, "starting s, which npx may fetch first"},
		{"npm", []string{"start"}, 0, 0, "starting s"},
		{"docker", nil, 0, 0, "starting s"},
		{"node", []string{"npx"}, 0, 0, "starting s"},
		{"", nil, 0, 0, "starting s"},
	} {
		s, note := firstStart(mcp.Server{Name: "s", Command: test.command, Args: test.args, Limits: mcp.Limits{ConnectTimeout: test.limit}})
		if s.Limits.ConnectTimeout != test.want || note != test.note {
			t.Errorf("%s %q: %s, %q; want %s, %q", test.command, test.args, s.Limits.ConnectTimeout, note, test.want, test.note)
		}
	}
}
