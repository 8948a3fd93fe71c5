package waittest_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloister-wasm/cloister/internal/waittest"
)

func TestUntil(t *testing.T) {
	for _, tt := range []struct {
		name     string
		after    time.Duration // when the state is reached
		at, asks int           // the last millisecond of the wait, and the most questions
	}{
		{"at once", 0, 0, 1},
		{"soon", time.Millisecond, 2, 5},
		{"late", 10 * time.Second, 10_005, 2010},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, asks := time.Now(), 0
				waittest.Until(t, tt.name, func() bool {
					asks++
					return time.Since(start) >= tt.after
				})
				if took := time.Since(start); took < tt.after || took > time.Duration(tt.at)*time.Millisecond || asks > tt.asks {
					t.Errorf("took %v and %d questions", took, asks)
				}
			})
		})
	}
}

// broken is a test that notes how it failed.
type broken struct {
	testing.TB
	how string
}

func (b *broken) Helper() {}

func (b *broken) Fatalf(format string, args ...any) {
	b.how = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestUntilNever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &broken{TB: t}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			waittest.Until(b, "the cows are home", func() bool { return false })
			t.Error("it returned")
		}()
		<-ended
		if b.how != "never: the cows are home" {
			t.Errorf("it failed with %q", b.how)
		}
	})
}
