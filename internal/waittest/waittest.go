// Package waittest waits, in tests, for what another goroutine or process is about to
// do and says nothing of when it has done it. A test that has a channel for that, or that
// runs in a bubble of testing/synctest, does not need it.
package waittest

import (
	"testing"
	"time"
)

// most ends a broken test. It is no measure of how long anything may take: a machine with
// ten times as many runnable processes as cores lets some of them wait for seconds.
const most = time.Minute

// The pauses grow, so that what happens at once is seen at once, and a long wait leaves
// the processor to those who are waited for.
const (
	firstPause = 100 * time.Microsecond
	lastPause  = 5 * time.Millisecond
)

// Until returns when reached gives true, and asks again and again until then, in the
// goroutine of the test. After a minute it fails the test with what was waited for.
func Until(t testing.TB, what string, reached func() bool) {
	t.Helper()
	end := time.Now().Add(most)
	for pause := firstPause; !reached(); pause = min(2*pause, lastPause) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(pause)
	}
}
