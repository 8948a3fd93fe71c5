package limits

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestBudget(t *testing.T) {
	var b Budget
	b.Reset(1000)
	var taken atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				if b.Take(7) {
					taken.Add(7)
				}
			}
		})
	}
	wg.Wait()
	if taken.Load() != 994 || b.Left() != 6 || b.Take(7) || !b.Take(6) {
		t.Errorf("%d taken, %d left", taken.Load(), b.Left())
	}
	b.Give(1000)
	if b.Left() != 1000 {
		t.Errorf("%d left after all was given back", b.Left())
	}
}

func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := make(Slots, 1)
		if err := s.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(gone) })
		if err := s.Take(ctx); !errors.Is(err, gone) {
			t.Errorf("a caller who left: %v", err)
		}
		if err := s.TakeUntil(t.Context(), ctx, time.Now().Add(time.Hour)); !errors.Is(err, gone) {
			t.Errorf("the second context: %v", err)
		}
		if err := s.TakeUntil(t.Context(), t.Context(), time.Now().Add(time.Second)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the time: %v", err)
		}
		time.AfterFunc(time.Second, s.Give)
		if err := s.TakeUntil(t.Context(), t.Context(), time.Now().Add(time.Hour)); err != nil {
			t.Errorf("a place that was given back: %v", err)
		}
	})
}

func TestCensus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Census
		c.Wait(time.Hour) // nobody is there
		for range 2 {
			if !c.Enter() {
				t.Fatal("refused")
			}
		}
		time.AfterFunc(time.Second, c.Leave)
		time.AfterFunc(2*time.Second, c.Leave)
		start := time.Now()
		if c.Wait(time.Hour); time.Since(start) != 2*time.Second {
			t.Errorf("waited %v", time.Since(start))
		}
		c.Enter()
		start = time.Now()
		if c.Wait(time.Second); time.Since(start) != time.Second {
			t.Errorf("waited %v for one that stays", time.Since(start))
		}
		c.Close()
		if c.Enter() {
			t.Error("let in after Close")
		}
	})
}

func TestEach(t *testing.T) {
	var mu sync.Mutex
	var now, most int
	var got []int
	Each([]int{1, 2, 3, 4, 5, 6, 7}, 3, func(n int) {
		mu.Lock()
		now++
		most = max(most, now)
		got = append(got, n)
		mu.Unlock()
		mu.Lock()
		now--
		mu.Unlock()
	})
	slices.Sort(got)
	if most > 3 || !slices.Equal(got, []int{1, 2, 3, 4, 5, 6, 7}) {
		t.Errorf("%v, %d at once", got, most)
	}
	Each(nil, 3, func(int) { t.Error("called") })
}
