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
//   - Every function that does not start with a loop is given an empty one, since wazero looks at the deadline at loop
//     headers only, and a function that calls itself twice would never be stopped. See the cost below.
//   - Stores into the SDK's kernel memory, and its log functions, are replaced: a plugin could damage the kernel's list of
//     blocks and hang or confuse the host's own calls into it, which have no deadline.
//   - WASI has no files, no arguments, no environment; clocks are real, sleeping ends with the call, randomness is
//     crypto/rand's (wazero's default is a fixed sequence), stdout and stderr go to a bounded log.
//   - Data segments that follow each other closely become one: a Go plugin has tens of thousands, and an instance costs a
//     quarter of what it did.
//   - Input and output over their limits are errors; the SDK drops input silently when its memory is full.
//   - Memory of an instance is bounded by an allocator that remembers a refusal, so that a plugin that dies of it says so.
//   - The SDK's process-wide log level is never touched, and its panics end here.
//
// # Cost of the deadline
//
// wazero's checks make compute-bound Go plugins four to eight times slower (recursive fib(27): 6 to 48 ms; sorting and
// JSON of 20,000 strings: 95 to 440 ms); the checks at function entry add up to two fifths where functions call each
// other and have no loops (67 ms for that fib). Calls that mostly move data hardly notice.
//
// # Compiled code on disk
//
// With [Config.CacheDir] machine code is kept between processes. Whoever can write there runs code here, so the directory
// must be 0700 and ours. Each entry has a list of checksums beside it, because wazero reads sizes from an entry before it
// verifies anything; a damaged entry is dropped and compiled again.
package extism
