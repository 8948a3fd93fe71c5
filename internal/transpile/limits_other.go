//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package transpile

// limitProcess has nothing to set here; the memory guard, the limit of the stack
// and the parent's clock bound the worker.
func limitProcess(int64) error { return nil }
