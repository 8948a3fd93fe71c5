// Package spans turns the events of a trace into spans: what began, what it belongs
// to, when it ended and how.
//
// The rules that give an event its meaning are written once, and used in two ways. A
// [Tree] keeps all spans and orders them when everything has been read, for pictures of
// a trace ([Read] makes one of a file). A [Stream] hands each span on when it ends and
// forgets it, for exporters of a host that runs.
//
//	exec                    from exec.start to exec.end
//	├ call                  of a tool, made while the exec or wait ran
//	│ ├ approval            from approval.asked to approval.decided
//	│ └ call                made by the plugin of the call above it
//	├ call, denied          a moment: it never began
//	└ event                 a moment: a search, a description, what is not known here
//	suspended               in a Tree: while the cell waits to be continued
//	wait                    from wait.start to wait.end, with the calls made in it
//
// # What is not believed
//
// A trace may come from anywhere. Ends without a start, ids that are used twice,
// parents that are not there or go in a circle, clocks that step back and durations
// that cannot be give spans with a mark ([Oddity]), never an error, a panic or
// recursion. Ids are those of their run: no event reaches into another run.
//
// Memory is bounded by what the caller says: [Read] takes so many bytes and events, a
// Stream keeps so many spans open and closes the quietest run to make room. Both cut
// texts, but no ids, which tell spans apart.
//
// Nothing here is safe for concurrent use.
package spans
