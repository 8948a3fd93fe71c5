package quickjs

import (
	"testing"
	"time"
)

// TestSlice wants the clock to start with the first question, and anew when a whole slice was used.
func TestSlice(t *testing.T) {
	var s slice
	first := time.Now().Add(-time.Hour)
	s.share(first)
	s.share(first.Add(timeSlice - 1))
	if !s.start.Equal(first) {
		t.Error("a part of a slice was given away")
	}
	s.share(first.Add(timeSlice))
	if time.Since(s.start) > time.Minute {
		t.Error("a whole slice was kept")
	}
}

// TestSliceOfEachCall wants every call into a guest to start with a slice of its own.
func TestSliceOfEachCall(t *testing.T) {
	vm := newVM(t, testTemplate(t), nil)
	old := time.Now().Add(-time.Hour)
	vm.slice.start = old
	if _, err := vm.String(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	if vm.slice.start.Equal(old) {
		t.Error("the clock of the call before goes on")
	}
}
