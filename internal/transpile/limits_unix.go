//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package transpile

import (
	"fmt"
	"syscall"
)

// limitProcess takes from this process what a worker never needs. These systems
// bound the memory of a Go program badly or not at all; the guard does it.
func limitProcess(int64) error {
	closeInherited()
	for _, resource := range []int{syscall.RLIMIT_CORE, syscall.RLIMIT_FSIZE, syscall.RLIMIT_NOFILE} {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{}); err != nil {
			return fmt.Errorf("setrlimit %d: %w", resource, err)
		}
	}
	return nil
}
