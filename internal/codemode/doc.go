// Package codemode runs programs of models, the cells of exec and wait: what the messages of their guests mean, how they
// are suspended and continued, what they put out, and what is said of how they ended.
//
// A [Runner] is what the programs of all runs of a host share: templates, places, the list of what is suspended, the
// store. A [Run] has the programs of one agent run. The loop of a program is guestloop's, its machine guest's; its calls
// go to package dispatch, which alone reaches tools; what it sees of tools is a view.
//
// Locks: Runner.mu, then Run.mu; under neither is a loop, a callback or a plugin asked for anything. All others are
// leaves.
package codemode
