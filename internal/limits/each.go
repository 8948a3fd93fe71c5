package limits

import (
	"sync"
)

// Each calls f for all items, n at a time, and returns when all have returned.
func Each[T any](items []T, n int, f func(T)) {
	next := make(chan T)
	var wg sync.WaitGroup
	for range min(n, len(items)) {
		wg.Go(func() {
			for it := range next {
				f(it)
			}
		})
	}
	for _, it := range items {
		next <- it
	}
	close(next)
	wg.Wait()
}
