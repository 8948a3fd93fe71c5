package transpile

import (
	"errors"
	"fmt"
	"time"
)

// Options bound a Worker. The zero value of each field means its default.
type Options struct {
	// MaxSourceBytes is the longest source that is accepted: default 1 MiB, at
	// most 16 MiB. It is checked before the source is sent anywhere.
	MaxSourceBytes int

	// MaxOutputBytes is the longest answer of a worker, JavaScript and line map
	// together: default 8 MiB, at most 64 MiB.
	MaxOutputBytes int

	// MemoryLimitBytes is what one worker process may use beyond its own start:
	// default 512 MiB, from 64 MiB to 8 GiB. One MiB of ordinary source needs
	// about 150 MiB. An eighth of it is the longest stack.
	MemoryLimitBytes int64

	// MaxWorkers is the largest number of worker processes at any moment, those
	// that are dying included: default 2, at most 64. It is also how many
	// sources are transformed at the same time; others wait in order of arrival.
	MaxWorkers int

	// Timeout is how long one source may keep a worker, besides what ctx says:
	// default 5 s. It keeps a few hostile cells with long deadlines from
	// holding every worker. Waiting for a free worker does not count.
	Timeout time.Duration

	// IdleTimeout is how long a worker without work is kept: default 1 minute.
	IdleTimeout time.Duration

	// Executable is the program to start as a worker. Default is the running
	// program, which is right unless Go code runs inside a foreign one (a
	// c-shared library or a plugin): then name a Go program that links this
	// package.
	Executable string
}

// Hard ends of the ranges, so that every number fits the wire and no product of
// them overflows.
const (
	maxSourceBytes = 16 << 20
	maxOutputBytes = 64 << 20
	minMemory      = 64 << 20
	maxMemory      = 8 << 30
	maxWorkers     = 64
)

// withDefaults returns a copy of o in which every field is set; o may be nil.
func (o *Options) withDefaults() Options {
	var s Options
	if o != nil {
		s = *o
	}
	setDefault(&s.MaxSourceBytes, 1<<20)
	setDefault(&s.MaxOutputBytes, 8<<20)
	setDefault(&s.MemoryLimitBytes, 512<<20)
	setDefault(&s.MaxWorkers, 2)
	setDefault(&s.Timeout, 5*time.Second)
	setDefault(&s.IdleTimeout, time.Minute)
	return s
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Validate lists every field that is out of its range in one error, or returns
// nil. A nil o is valid.
func (o *Options) Validate() error {
	s := o.withDefaults()
	return errors.Join(
		inRange("MaxSourceBytes", int64(s.MaxSourceBytes), 1, maxSourceBytes),
		inRange("MaxOutputBytes", int64(s.MaxOutputBytes), 1, maxOutputBytes),
		inRange("MemoryLimitBytes", s.MemoryLimitBytes, minMemory, maxMemory),
		inRange("MaxWorkers", int64(s.MaxWorkers), 1, maxWorkers),
		inRange("Timeout", int64(s.Timeout), 1, int64(time.Hour)),
		inRange("IdleTimeout", int64(s.IdleTimeout), 1, int64(24*time.Hour)),
	)
}

func inRange(field string, got, low, high int64) error {
	if got < low || got > high {
		return fmt.Errorf("transpile: Options.%s is %d; it must be from %d to %d", field, got, low, high)
	}
	return nil
}
