// Package hosttest has fakes for tests of programs that embed package host: a
// clock that the test moves, tools that record, block, fail or misbehave, a
// snapshot store that injects faults, and a trace sink that keeps its events.
//
// Nothing here reads a real clock, sleeps, or writes a file. A test that needs a
// call to be open at a certain moment uses a Gate, whose calls begin and end when
// the test says so. Everything is safe for concurrent use.
package hosttest
