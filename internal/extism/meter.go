package extism

import (
	"context"

	"github.com/cloister-wasm/cloister/internal/wasmbin"
	ext "github.com/extism/go-sdk"
)

const (
	meterName = "meter"
	// meterQuantum units of meterUnit instructions are some five milliseconds of code without branches, and a fraction of
	// that as a rule: prices are upper bounds. A checkpoint takes some 200 ns.
	meterQuantum = 1 << 18
	meterUnit    = 64
)

// guestMeter counts a plugin's work. 64 bytes of bulk memory are a unit.
var guestMeter = wasmbin.GuestMeter{
	Quantum: meterQuantum, Unit: meterUnit, Module: ownModule, Name: meterName, BulkShift: 6, ImportCost: importCost,
	Extend: addWindows,
}

// Costs of host functions, in instructions. Ours take a fraction of a microsecond or look at the call's context
// themselves. Of WASI's, some take time with what the plugin names, within [wasiBounds]: each call of those comes with a
// checkpoint.
const (
	ownCost   = 256
	cheapWASI = 1024
	longWASI  = meterQuantum * meterUnit
)

// cheap are functions of WASI that take no longer for what they are given.
var cheap = map[string]bool{
	"clock_res_get": true, "clock_time_get": true, "fd_fdstat_get": true, "fd_prestat_get": true, "sched_yield": true,
	"proc_exit": true, "fd_close": true, "fd_seek": true, "fd_tell": true, "args_sizes_get": true, "environ_sizes_get": true,
}

func importCost(im wasmbin.Import) uint64 {
	switch {
	case im.Module != wasiModule:
		return ownCost
	case cheap[im.Name]:
		return cheapWASI
	default:
		return longWASI
	}
}

// unmetered says why countdowns would not hold a module to its time, "" if they do. Through a table, where no countdown
// knows what is called, a function of WASI could be called at the price of a small one.
func unmetered(m *wasmbin.Module, a *wasmbin.Analysis) string {
	for i, im := range m.Imports {
		if a.Referenced[uint32(i)] && im.Module == wasiModule && !cheap[im.Name] {
			return "it takes a reference to " + im.Name + " of WASI"
		}
	}
	return ""
}

// meterFunction is called at checkpoints. Bit 1 of the answer ends the plugin.
func meterFunction() ext.HostFunction {
	return own(meterName, func(ctx context.Context, _ *ext.CurrentPlugin, stack []uint64) {
		stack[0] = 0
		if f, ok := ctx.Value(frameKey{}).(*frame); !ok || f.instance.over() {
			stack[0] = 2
		}
	}, nil, []ext.ValueType{ext.ValueTypeI32})
}
