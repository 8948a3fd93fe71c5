//go:build wasip1

// A plugin that the tests of internal/extism call: some exports behave, the others attack.
package main

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	pdk "github.com/extism/go-pdk"
)

var counter int

//go:wasmexport echo
func echo() int32 {
	pdk.Output(pdk.Input())
	return 0
}

//go:wasmexport count
func count() int32 {
	counter++
	pdk.OutputString(fmt.Sprint(counter))
	return 0
}

//go:wasmexport fail
func fail() int32 {
	pdk.SetError(errors.New("no such city: " + pdk.InputString()))
	return 1
}

//go:wasmexport fail_silently
func failSilently() int32 { return 7 }

//go:wasmexport random
func random() int32 {
	b := make([]byte, 16)
	if _, err := rand.Read(b); err != nil {
		pdk.SetError(err)
		return 1
	}
	pdk.OutputString(hex.EncodeToString(b))
	return 0
}

//go:wasmexport clock
func clock() int32 {
	start := time.Now()
	time.Sleep(2 * time.Millisecond)
	pdk.OutputString(fmt.Sprint(start.UnixMilli(), " ", time.Since(start) >= 2*time.Millisecond))
	return 0
}

// seal reports what of the host's machine the plugin can see.
//
//go:wasmexport seal
func seal() int32 {
	_, rootErr := os.ReadDir("/")
	_, fileErr := os.ReadFile("/etc/passwd")
	_, writeErr := os.Create("x")
	out, _ := json.Marshal(map[string]any{
		"args": len(os.Args), "env": len(os.Environ()),
		"root": rootErr == nil, "file": fileErr == nil, "write": writeErr == nil,
	})
	pdk.Output(out)
	return 0
}

//go:wasmexport loop
func loop() int32 {
	for counter = 0; ; counter++ {
		if counter < 0 {
			return 1
		}
	}
}

//go:wasmexport sleep_forever
func sleepForever() int32 {
	time.Sleep(1000 * time.Hour)
	return 0
}

//go:wasmexport eat_memory
func eatMemory() int32 {
	var kept [][]byte
	for {
		b := make([]byte, 1<<20)
		for i := range b {
			b[i] = 1
		}
		kept = append(kept, b)
		counter = len(kept)
	}
}

//go:wasmexport big_output
func bigOutput() int32 {
	n := 0
	fmt.Sscan(pdk.InputString(), &n)
	pdk.OutputString(strings.Repeat("x", n))
	return 0
}

//go:wasmexport panics
func panics() int32 { panic("on purpose: " + pdk.InputString()) }

//go:wasmexport exits
func exits() int32 {
	code := 0
	fmt.Sscan(pdk.InputString(), &code)
	os.Exit(code)
	return 0
}

//go:wasmexport logs
func logs() int32 {
	fmt.Println("to stdout")
	fmt.Fprintln(os.Stderr, "to stderr")
	fmt.Print("no line end")
	pdk.Log(pdk.LogWarn, "through the PDK\nin two lines")
	return 0
}

//go:wasmexport logs_much
func logsMuch() int32 {
	line := strings.Repeat("y", 1000)
	for range 1000 {
		if _, err := fmt.Println(line); err != nil {
			pdk.OutputString(err.Error())
			return 0
		}
	}
	return 0
}

//go:wasmexport work
func work() int32 {
	var in struct {
		Name string   `json:"name"`
		Tags []string `json:"tags"`
	}
	if err := json.Unmarshal(pdk.Input(), &in); err != nil {
		pdk.SetError(err)
		return 1
	}
	if err := pdk.OutputJSON(map[string]any{"hello": in.Name, "tags": len(in.Tags)}); err != nil {
		pdk.SetError(err)
		return 1
	}
	return 0
}

//go:wasmexport with_parameter
func withParameter(x int32) int32 { return x }

func main() {}

// fib is recursion and nothing else.
//
//go:wasmexport fib
func fib() int32 {
	n := 0
	fmt.Sscan(pdk.InputString(), &n)
	pdk.OutputString(fmt.Sprint(recursive(n)))
	return 0
}

//go:noinline
func recursive(n int) int {
	if n < 2 {
		return n
	}
	return recursive(n-1) + recursive(n-2)
}

// crunch sorts and encodes as many strings as it is told.
//
//go:wasmexport crunch
func crunch() int32 {
	n := 0
	fmt.Sscan(pdk.InputString(), &n)
	list := make([]string, n)
	seed := uint32(1)
	for i := range list {
		seed = seed*1664525 + 1013904223
		list[i] = fmt.Sprint(seed)
	}
	slices.Sort(list)
	text, err := json.Marshal(list)
	if err != nil {
		pdk.SetError(err)
		return 1
	}
	var back []string
	if err := json.Unmarshal(text, &back); err != nil {
		pdk.SetError(err)
		return 1
	}
	pdk.OutputString(fmt.Sprint(len(back)))
	return 0
}

// sieve is loops and memory.
//
//go:wasmexport sieve
func sieve() int32 {
	n := 0
	fmt.Sscan(pdk.InputString(), &n)
	composite := make([]bool, n)
	found := 0
	for i := 2; i < n; i++ {
		if composite[i] {
			continue
		}
		found++
		for k := i * i; k < n; k += i {
			composite[k] = true
		}
	}
	pdk.OutputString(fmt.Sprint(found))
	return 0
}
