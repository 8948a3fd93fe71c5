package transpile

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// limitProcess takes from this process what a worker never needs, and bounds its
// memory. The kernel counts what is mapped, not what is used, and a Go program
// maps much when it starts, so the bound is set on top of what there is now.
func limitProcess(memory int64) error {
	// When memory is short on the machine, the kernel should end the worker and
	// not the host. A system that refuses this (no /proc) is no worse off.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)

	closeInherited()
	limits := []resourceLimit{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_FSIZE, 0},
		{unix.RLIMIT_NOFILE, 0}, // no new descriptor: no file, no socket, no pipe
	}
	if mapped, data, ok := mappedBytes(); ok {
		// On top comes what is mapped long before it is used, if it ever is: for
		// the heap arenas of 64 MiB, and in programs that link cgo 8 MiB of stack
		// for each thread and allocation arenas of C.
		limits = append(limits,
			resourceLimit{unix.RLIMIT_DATA, data + memory + 128<<20},
			resourceLimit{unix.RLIMIT_AS, mapped + memory + 512<<20})
	}
	for _, l := range limits {
		if err := l.set(); err != nil {
			return err
		}
	}
	return nil
}

type resourceLimit struct {
	resource int
	limit    int64
}

// set sets both limits of the resource, or keeps a stricter one that the
// process has already.
func (l resourceLimit) set() error {
	var now unix.Rlimit
	if err := unix.Getrlimit(l.resource, &now); err != nil {
		return fmt.Errorf("getrlimit %d: %w", l.resource, err)
	}
	want := unix.Rlimit{Cur: min(uint64(l.limit), now.Cur), Max: min(uint64(l.limit), now.Max)}
	if err := unix.Setrlimit(l.resource, &want); err != nil {
		return fmt.Errorf("setrlimit %d: %w", l.resource, err)
	}
	return nil
}

// mappedBytes returns how much this process has mapped, and how much of that is
// writable and its own. See proc_pid_statm(5), which counts pages.
func mappedBytes() (mapped, data int64, ok bool) {
	text, err := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(text)
	if err != nil || len(fields) < 6 {
		return 0, 0, false
	}
	mapped, err1 := strconv.ParseInt(string(fields[0]), 10, 64)
	data, err2 := strconv.ParseInt(string(fields[5]), 10, 64)
	page := int64(os.Getpagesize())
	return mapped * page, data * page, err1 == nil && err2 == nil
}
