// Package transpile turns the TypeScript of a cell into JavaScript. It is the
// only package that imports esbuild, and it runs esbuild in processes of its own
// with limits on memory, stack and time, because a cell is hostile: 256 KB of "!"
// end a process that parses them with esbuild, by a stack overflow that Go cannot
// recover from, and 20 KB of "{" take more than a gigabyte.
//
//	w := transpile.NewWorker(nil)
//	defer w.Close()
//	out, err := w.Transform(ctx, transpile.Input{Source: source, Filename: "cell.ts"})
//
// Plain JavaScript never needs this package, and a Worker that is never used
// starts nothing.
//
// # What goes in and what comes out
//
// The source is the body of an async function: await and return work at its top
// level. So is the output, which starts with "use strict" because TypeScript is
// strict. The engine puts the function around it; its parameter list must be
// simple. In it, this is undefined.
//
// There is no type checking. Types, interfaces, declare in all its forms,
// overloads, `import type`, `export type`, `export interface` and `export
// declare` are erased. Enums, const enums, namespaces, parameter properties,
// accessor fields, decorators and `using` become JavaScript that QuickJS-NG and
// Node 20 run; all else stays as it is (ES2024, and the v flag of regular
// expressions). Decorators are the standard ones of TypeScript 5; a source with a
// decorator at a parameter, which only the older kind allows, is read with
// experimentalDecorators. JSX is a syntax error that says so.
//
// Modules: a value import or export, import.meta and `export =` are a
// *ModuleAccessError, also where nothing uses what is imported, and also the
// empty `export {}`. `import {type T} from "x"` is a value import of nothing, as in
// TypeScript's verbatimModuleSyntax. import(x), require(x) and `import x =
// require("y")` stay in the output, for the engine to refuse when they run.
//
// The functions that esbuild puts in front of code it had to lower make no code
// from strings, use Object, Symbol, Promise, WeakMap, WeakSet and Error as they
// find them, and work in a realm where everything is frozen. What a cell itself
// makes does not always: where Object.prototype is frozen, an enum or namespace
// with a member such as toString fails, because strict code cannot assign to a
// name that the prototype has frozen.
//
// # Lines
//
// Errors say where in the source they are. Output.Map does the same for runtime
// errors: take the first frame of the stack, from the innermost on, for which
// Source says true (helpers have no source). [Position] says how lines and
// columns are counted. Comments such as `//# sourceMappingURL` in a cell have no
// influence on it.
//
// # How one source is transformed
//
// No single pass of esbuild takes such a source: as a module it may not return,
// and inside of a function it may not have namespaces, `declare module` or
// `import type`. So it is read as a module. esbuild then reports each top-level
// return, and nothing else, as an error with its place; in those places the
// source gets a throw of a marked operand, which obeys the same grammar, and the
// marks in the output, random names of one run, are turned back into returns.
// Nothing is put around the source at any time, so there is nothing to close:
// `}); evil(); (async()=>{` is a syntax error.
//
// # The worker process
//
// A worker is this very program, started again. The package recognises that in
// its init and serves requests instead of letting the program go on, so an
// embedder needs no hook, and neither does a test binary. This is safe because
// three things have to fit:
//
//   - os.Args is exactly ["cloister-transpile-worker"]: no argument, and not the
//     name that shells and service managers start a program under. A variable
//     alone, left behind in some environment, does nothing.
//   - CLOISTER_TRANSPILE_WORKER holds 16 random bytes in hexadecimal. It is set for
//     the one child only, never in the environment of the host, and the worker
//     clears its environment.
//   - The first frame on standard input is a hello of the same version with the
//     same random bytes and limits in range; else the process exits with 91 and a
//     line on standard error. The parent expects them back before it sends a source.
//
// Whoever can set the arguments and the environment of the host can make it a
// worker, which can do nothing but transform text: that is less than the program
// could do without.
//
// Packages whose init runs earlier (Go orders independent packages by import
// path) run it in the worker too, with an empty environment; package main and all
// that imports this package do not. An init that writes to standard output breaks
// the hello, and Transform then returns ErrWorkerUnavailable.
//
// A worker gets nothing from the host: three variables of environment, pipes for
// standard input, output and error, the root as its directory; descriptors that
// the host left open for any child it closes. Before its first source it sets a
// limit on memory (RLIMIT_AS and RLIMIT_DATA on Linux; everywhere a guard that
// looks at the heap every 5 ms, and Go's own limits for heap and stack), and on
// Unix gives up core files, writing to files and opening descriptors of any kind
// (RLIMIT_CORE, RLIMIT_FSIZE, RLIMIT_NOFILE). It ends when its standard input
// does, also in the midst of a source, so it never outlives the host.
//
// What a worker says is believed no more than the cell: frames are bounded before
// they are read, and what it returns is code that the engine treats as hostile.
//
// # Limits
//
// See [Options]. A source bomb ends as ErrTimeLimit or as ErrWorkerDied, and costs
// the other cells one of the MaxWorkers processes until then, at most for Timeout.
// The next source gets a new process, which takes about 10 ms.
package transpile
