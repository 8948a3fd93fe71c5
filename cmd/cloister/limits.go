package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/cloister-wasm/cloister/host"
)

// limitFlags are limits of code mode on the command line. They win over the
// configuration. Values out of range are errors here: whoever types a number
// wants that number.
type limitFlags struct {
	timeout    time.Duration
	memory     size
	output     size
	maxPending int
	set        *pflag.FlagSet
}

func (f *limitFlags) register(fs *pflag.FlagSet) {
	f.set = fs
	fs.DurationVar(&f.timeout, "timeout", 0, "`TIME` of one turn of the cell, such as 30s, 100ms to 60s (default 10s); waiting for tools can take longer")
	fs.Var(&f.memory, "memory", "memory of the cell, `SIZE` such as 128MiB, 1MiB to 1GiB (default 64MiB)")
	fs.Var(&f.output, "max-output", "output and value together, `SIZE` of 1KiB to 10MiB (default 64KiB)")
	fs.IntVar(&f.maxPending, "max-pending", 0, "`N` tool calls in flight at once, 1 to 128 (default 16)")
}

// apply puts the flags that were given into a configuration.
func (f *limitFlags) apply(c *host.CodeModeConfig) error {
	type limit struct {
		flag  string
		value int
		to    *int
		show  func(int) string
	}
	bytes := func(n int) string { return size(n).String() }
	for _, l := range []limit{
		{"timeout", int(min(f.timeout.Milliseconds(), math.MaxInt32)), &c.TimeoutMs, showMilliseconds},
		{"memory", int(f.memory), &c.MemoryLimitBytes, bytes},
		{"max-output", int(f.output), &c.MaxOutputBytes, bytes},
		{"max-pending", f.maxPending, &c.MaxPendingToolCalls, strconv.Itoa},
	} {
		if !f.set.Changed(l.flag) {
			continue
		}
		*l.to = l.value
		if l.value == 0 {
			*l.to = -1 // zero would mean the default
		}
		before := *l.to
		*c = c.Clamped()
		if *l.to != before {
			return usageError(fmt.Errorf("--%s %s is out of range", l.flag, f.set.Lookup(l.flag).Value), "the nearest value that can be had is "+l.show(*l.to))
		}
	}
	return nil
}

// showMilliseconds writes a time as people would type it: 60s rather than 1m0s.
func showMilliseconds(ms int) string {
	if ms%1000 == 0 {
		return strconv.Itoa(ms/1000) + "s"
	}
	return strconv.Itoa(ms) + "ms"
}

// size is a number of bytes as a flag.
type size int

var units = []struct {
	suffix string
	bytes  int
}{
	{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"kb", 1000}, {"mb", 1000 * 1000}, {"gb", 1000 * 1000 * 1000},
	{"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30}, {"b", 1},
}

// Set implements pflag.Value: a number with or without a unit.
func (s *size) Set(text string) error {
	number, factor := strings.ToLower(strings.TrimSpace(text)), 1
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok {
			number, factor = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n < 0 || n*float64(factor) > math.MaxInt32*1024 {
		return errors.New("give a size such as 64MiB, 512KiB or a number of bytes")
	}
	*s = size(n * float64(factor))
	return nil
}

// String implements pflag.Value.
func (s size) String() string {
	n := int(s)
	for _, u := range units[:3] {
		if n >= u.bytes && n%u.bytes == 0 && n/u.bytes < 1024 {
			return strconv.Itoa(n/u.bytes) + strings.ToUpper(u.suffix[:1]) + "iB"
		}
	}
	return strconv.Itoa(n)
}

// Type implements pflag.Value.
func (s size) Type() string { return "SIZE" }
