// Package guestloop is the event loop of one guest program: it owns the virtual
// machine, the table of open requests and their queue, turns, the time that the
// guest may compute, suspension and restoring. It knows no tools and no surface:
// what a message of the guest means, what a result looks like and when state is
// worth storing are the Program's to say.
//
// # Who runs the guest
//
// A virtual machine is for one goroutine at a time. Whoever holds the loop's
// token (Loop.mu.busy) owns it; nobody else touches Loop.guest. The token changes
// hands with the work, so that no goroutine is woken for nothing:
//
//   - Run, called for an exec or a wait, attaches a leg and starts a goroutine that
//     drives. Run itself only watches the clock and its context, so it returns on
//     time whatever the guest or the embedder's callbacks do.
//   - A driver that is left with a single request gives the token back and does
//     that request's work itself, in its own goroutine.
//   - The goroutine that settles a request takes the token if it is free and a leg
//     is attached, and drives on.
//
// Without a leg the program is suspended: what settles is kept for the next leg.
//
// # Two clocks
//
// Wall time ends a leg; computing time ends a program. For each leg the program may
// compute for Leg.Compute, the host's work in its turns included; only that interrupts
// it. When a leg's time is up while a turn is under way, Run returns and the turn goes
// on to its end in the background, for as long as a leg may compute from where it began;
// the next leg counts from its end. So the wall clock kills nothing, and a program that
// only computes ends when both clocks do.
//
// # Lock order
//
// Loop.mu is a leaf: no method of a Program, no work of a request and no callback
// is called under it, and no other lock is taken under it but a Budget's.
package guestloop
