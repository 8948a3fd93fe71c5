package extism

import (
	"time"
)

// Bounds that nobody may raise.
const (
	// MaxWasmBytes bounds a module. A small Go plugin has 3.5 MB.
	MaxWasmBytes = 32 << 20
	// MaxMessageBytes bounds a plugin's error message.
	MaxMessageBytes = 16 << 10
	// MaxMemoryBytes is the most memory an instance may have.
	MaxMemoryBytes = 1 << 30
	// MaxTransferBytes is the most that input or output may have.
	MaxTransferBytes = 64 << 20
)

// Defaults of [Config].
const (
	DefaultMemoryBytes = 64 << 20
	DefaultInputBytes  = 4 << 20
	DefaultOutputBytes = 4 << 20
	DefaultLogBytes    = 64 << 10
	DefaultCallTime    = 30 * time.Second
)

// Config bounds a module's instances. The zero value is usable.
type Config struct {
	// CacheDir keeps machine code between processes; "" keeps none. It is made if missing; one that others can read or
	// write, or that is not ours, is refused with [ErrCacheDir].
	CacheDir string
	// MemoryBytes bounds the linear memory of an instance, in whole 64 KiB pages; 0 means [DefaultMemoryBytes]. The SDK's
	// kernel has another 2 MiB and room for input and output beside it.
	MemoryBytes int64
	// InputBytes and OutputBytes bound one call; 0 means the default.
	InputBytes, OutputBytes int
	// LogBytes bounds what one call may log; 0 means [DefaultLogBytes]. Writing more fails inside the plugin.
	LogBytes int
	// CallTime bounds a call, time in a [HostFunction] that pauses left out; 0 means [DefaultCallTime]. The context of
	// the call may end it earlier.
	CallTime time.Duration
	// Functions are the host functions that the plugin may import.
	Functions []HostFunction
	// Log takes what plugins write, line by line, on the goroutine of the call; nil drops it. It must not call back into
	// the instance.
	Log func(LogRecord)
}

// LogRecord is one line of a plugin.
type LogRecord struct {
	// Level is "stdout" or "stderr", or "trace", "debug", "info", "warn" or "error" from the PDK's log functions.
	Level string
	// Text is valid UTF-8 without line ends, at most 4 KiB.
	Text string
	// Truncated marks the last record of a call that logged more than it may.
	Truncated bool
}

func (c Config) withDefaults() Config {
	set := func(v *int, def int, most int) {
		if *v <= 0 {
			*v = def
		}
		*v = min(*v, most)
	}
	set(&c.InputBytes, DefaultInputBytes, MaxTransferBytes)
	set(&c.OutputBytes, DefaultOutputBytes, MaxTransferBytes)
	set(&c.LogBytes, DefaultLogBytes, MaxTransferBytes)
	if c.MemoryBytes <= 0 {
		c.MemoryBytes = DefaultMemoryBytes
	}
	c.MemoryBytes = min(c.MemoryBytes, MaxMemoryBytes)
	if c.CallTime <= 0 {
		c.CallTime = DefaultCallTime
	}
	return c
}
