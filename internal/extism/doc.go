// Package extism runs Extism plugins sealed. It is the only importer of github.com/extism/go-sdk and, beside the engine,
// of wazero.
//
// [Compile] checks and prepares a module once; [Module.NewInstance] makes an instance for one run; [Instance.Call] calls
// an export, bytes in and bytes out. A plugin is hostile. What the package adds to the SDK, each thing for a reason that
// was reproduced:
//
//   - Imports are checked here, before anything is compiled, against a list of names ([ImportError]). HTTP, variables and
//     configuration of the SDK are not on it: its HTTP follows redirects out of the allowed hosts.
//   - Declared sizes are checked before wazero reads them: thirty bytes of locals make it allocate four gigabytes, a table
//     without maximum grows outside the memory limit. So is how often functions branch, since compiling takes time with
//     its square and cannot be stopped. Custom sections are dropped.
//   - Deadlines hold whatever the code does, and cost little; see below.
//   - The memory that plugin and host share, the SDK's kernel, is written in Go here, with its table of blocks out of the
//     plugin's reach: a plugin could damage the kernel's list of blocks and hang or confuse the host's own calls into it.
//     All functions of Extism's module are this package's.
//   - Host functions ([Config].Functions) take a request and give a response, bounded both; some stop the clock.
//   - WASI has no files, no arguments, no environment; clocks are real, sleeping ends with the call, randomness is
//     crypto/rand's (wazero's default is a fixed sequence), stdout and stderr go to a bounded log. None of its functions works
//     for long without looking at the deadline: random bytes come in pieces, vectors, polls and paths are bounded.
//   - Data segments that follow each other closely become one: a Go plugin has tens of thousands, and an instance costs a
//     quarter of what it did.
//   - Input and output over their limits are errors; the SDK drops input silently when its memory is full.
//   - Input and output move 64 bytes a call of the host in place of 8, with windows in the plugin's own module.
//   - Memory of an instance is bounded by an allocator that remembers a refusal, so that a plugin that dies of it says so.
//   - The SDK's process-wide log level is never touched, and its panics end here.
//
// # Deadlines
//
// A module is rewritten (internal/wasmbin) so that it counts down a global at loop headers, at bulk memory and table
// instructions, and at the entry of each function that is not small in all it calls. The prices are upper bounds of the
// code that may run until the next countdown, calls included. When the counter runs out, the module calls the host, which
// looks at the call's context and clock, and traps it there. That also gives Go's scheduler and collector their turns,
// which native code never would.
//
// [Instance.CallFor] bounds the time that a plugin runs. The clock stands still in a host function that pauses; the
// call's context ends the call all the same.
//
// Counting makes compute-bound Go plugins some 10 % slower: recursion 2 to 6 %, JSON 6 to 10 %, sorting and JSON of many
// strings 7 to 11 %, the tightest of loops over memory 25 to 50 %. wazero's own checks make them 4 to 10 times slower.
// They remain for modules in which a reference is taken to a function of WASI whose time depends on what it is given:
// through a table, nobody knows what is called. [Module.SlowPath] says so.
//
// # Compiled code on disk
//
// With [Config.CacheDir] machine code is kept between processes. Whoever can write there runs code here, so the directory
// must be 0700 and ours. Each entry has a list of checksums beside it, because wazero reads sizes from an entry before it
// verifies anything; a damaged entry is dropped and compiled again.
package extism
