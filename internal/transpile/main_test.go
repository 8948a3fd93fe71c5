package transpile

import (
	"testing"
)

// newTestWorker returns a Worker that is closed with the test.
func newTestWorker(t testing.TB, o *Options) *Worker {
	t.Helper()
	w := NewWorker(o)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}
