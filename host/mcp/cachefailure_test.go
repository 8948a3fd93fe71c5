package mcp

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// A server that was waited for in vain is not waited for at the next start, and what is
// remembered of it is gone when it works.
func TestFailureIsRemembered(t *testing.T) {
	t.Parallel()
	o := &Options{Cache: t.TempDir()}
	deaf := program(t, "deaf")
	start := func(ctx context.Context, brief time.Duration, cfg Server) *upstream {
		t.Helper()
		m := open(t, o, cfg)
		m.brief = brief
		m.Load(ctx)
		return m.all()[0]
	}
	short := func() context.Context {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if u := start(gone, 0, deaf); u.m.cache.failedLately(u) {
		t.Error("a caller that went away is noted as a failure of the server")
	}
	if u := start(context.Background(), time.Hour, program(t, "exits")); u.m.cache.failedLately(u) {
		t.Error("a failure that cost no time is noted")
	}
	first := start(short(), time.Millisecond, deaf)
	if !first.m.cache.failedLately(first) {
		t.Fatal("the failure is not noted")
	}
	path, _ := first.m.cache.failurePath(&deaf)
	noted, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// This one would wait for 20 seconds, and the attempt would be over.
	second := start(context.Background(), time.Millisecond, deaf)
	if st := second.status(); st.State != StateConnecting || st.Err == nil || !strings.Contains(st.Err.Error(), "not waited for longer") {
		t.Errorf("status %+v", st)
	}
	if again, err := os.ReadFile(path); err != nil || string(again) != string(noted) {
		t.Errorf("a brief wait changed the note: %s, %v", again, err)
	}
	changed := deaf
	changed.Args = append(changed.Args, "other")
	u := open(t, o, changed).all()[0]
	if u.m.cache.failedLately(u) {
		t.Error("another configuration is taken for the one that failed")
	}
	works := open(t, o, program(t, "good"))
	u = works.all()[0]
	u.m.cache.noteFailure(u)
	works.brief = 0
	if _, err := works.Test(testCtx(t), "good"); err != nil {
		t.Fatal(err)
	}
	if u.m.cache.failedLately(u) {
		t.Error("a success left the note")
	}
}

func TestForgedFailure(t *testing.T) {
	t.Parallel()
	u := open(t, &Options{Cache: t.TempDir()}, program(t, "deaf")).all()[0]
	path, key := u.m.cache.failurePath(&u.cfg)
	at := func(age time.Duration) string {
		return fmt.Sprintf(`{"version":1,"key":%q,"failed":%d}`, key, time.Now().Add(-age).Unix())
	}
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"now":       {at(0), true},
		"lately":    {at(failureLasts / 2), true},
		"long ago":  {at(failureLasts), false},
		"to come":   {at(-time.Hour), false},
		"no JSON":   {"{", false},
		"other key": {strings.Replace(at(0), key, "x", 1), false},
		"version":   {strings.Replace(at(0), ":1,", ":2,", 1), false},
		"unknown":   {strings.Replace(at(0), "{", `{"Failed":1,`, 1), false},
		"large":     {at(0) + strings.Repeat(" ", maxFailureBytes), false},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := u.m.cache.failedLately(u); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
