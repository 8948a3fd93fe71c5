package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// said counts the messages that a server gets through in a time, and gives what ended it.
func said(b *unasked, for_ time.Duration) (n int, err error) {
	for start := time.Now(); err == nil && time.Since(start) < for_; n++ {
		err = b.message(0)
	}
	return n, err
}

func TestUnaskedBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := 0
		b := newUnasked(t.Context(), 100, overTime, func() { slow++ })
		// A burst costs no time, and then it is slowed down to its budget.
		start := time.Now()
		for range 100 * unaskedBurst {
			if err := b.message(0); err != nil {
				t.Fatal(err)
			}
		}
		if time.Since(start) != 0 || slow != 0 {
			t.Errorf("a burst took %s, and was noted %d times", time.Since(start), slow)
		}
		if n, err := said(b, 5*time.Second); err != nil || n < 499 || n > 501 || slow != 1 {
			t.Errorf("%d messages in 5 s, %v, noted %d times", n, err, slow)
		}
		// One that calms down may begin anew.
		time.Sleep(unaskedBurst * time.Second)
		if n, err := said(b, 5*time.Second); err != nil || n < 2499 || n > 2501 || slow != 2 {
			t.Errorf("%d messages in 5 s after a pause, %v, noted %d times", n, err, slow)
		}
		// One that does not is ended.
		n, err := said(b, time.Hour)
		if !errors.Is(err, ErrFlood) || n > 1001 || !strings.Contains(err.Error(), "more than 100 messages a second for 10s (limits.maxUnaskedPerSecond)") {
			t.Errorf("%d messages, %v", n, err)
		}
		if n, err := said(b, time.Hour); n != 1 || !errors.Is(err, ErrFlood) {
			t.Errorf("it goes on: %d, %v", n, err)
		}
	})
}

// Bytes count as well: by messages that are large, and by lines without an end.
func TestUnaskedBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newUnasked(t.Context(), 100, overTime, func() {})
		start := time.Now()
		if err := b.message(100 * (unaskedBurst + 5) * unaskedBytes); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start).Round(time.Second); took != 5*time.Second {
			t.Errorf("a message of 25 seconds' worth took %s", took)
		}
		in := &metered{bytes.NewReader(bytes.Repeat([]byte("x"), 8<<20)), b.spend}
		if n, err := io.Copy(io.Discard, in); !errors.Is(err, ErrFlood) || n > 5<<20 {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
}

// A connection that ends is waited for no longer.
func TestUnaskedEndsWithTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		b := newUnasked(ctx, 1, time.Hour, func() {})
		time.AfterFunc(time.Second, func() { cancel(ErrClosed) })
		start := time.Now()
		if err := b.message(100 * unaskedBytes); !errors.Is(err, ErrClosed) || time.Since(start) != time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
	var none *unasked
	if err := none.message(1 << 30); err != nil {
		t.Error(err)
	}
}
