package settings

import (
	"strings"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/host/gateway"
)

func TestServeLimits(t *testing.T) {
	s, err := Parse("c.json5", []byte(`{serve: {limits: {
		maxSessions: 5, maxConcurrentExecs: 6, maxRunning: 7, maxRunningPerPrincipal: 3, maxRunningBytes: 1073741824,
		maxRequestBytes: 8, resumeTimeoutMs: 0, approvalWaitMs: 9, commentIntervalMs: 500, idleTimeoutMs: 10000,
	}}}`))
	want := gateway.Limits{
		MaxSessions: 5, MaxConcurrentExecs: 6, MaxRunning: 7, MaxRunningPerPrincipal: 3, MaxRunningBytes: 1 << 30,
		MaxRequestBytes: 8, ResumeTimeout: -1, ApprovalWait: 9 * time.Millisecond, CommentInterval: 500 * time.Millisecond, IdleTimeout: 10 * time.Second,
	}
	if err != nil || s.Serve.Limits != want {
		t.Errorf("got %+v, %v; want %+v", s.Serve.Limits, err, want)
	}
	for key, value := range map[string]string{
		"maxRunning": "0", "maxRunningPerPrincipal": "-1", "maxRunningBytes": "1000", "maxRunningByte": "1048576",
	} {
		_, err := Parse("c.json5", []byte(`{serve: {limits: {`+key+`: `+value+`}}}`))
		if err == nil || !strings.Contains(err.Error(), "serve.limits."+key+": ") {
			t.Errorf("%s %s: %v", key, value, err)
		}
	}
}
