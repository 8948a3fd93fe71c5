//go:build !linux

package quickjs

// newScratch has no memory to give besides Go's heap, which append uses by itself.
func newScratch(int) []byte { return nil }

func dropScratch([]byte) {}
func freeScratch([]byte) {}
