package gateway

import "time"

// patience is how long the gateway waits for the other end of a connection. Nothing that
// a client holds is held for longer than one of these without the client doing something.
type patience struct {
	// prove is from the header of a request until it is authenticated, with all that is
	// read of its body until then. It ends with authentication.
	prove time.Duration
	// body is how long an authenticated client may take to send a message.
	body time.Duration
	// rest is how long what nobody reads of a body is waited for after the answer. Without
	// any, the kernel resets the connection, and with it the answer that is on its way.
	rest time.Duration
	// write is how long one write of an answer may take.
	write time.Duration
	// comment is the time between two comments on a stream of events. A comment that
	// cannot be written is how a client is noticed that has left without a word.
	comment time.Duration
}

// newPatience is that of every gateway; tests have less.
func newPatience(l *Limits) patience {
	return patience{prove: 10 * time.Second, body: 30 * time.Second, rest: time.Second, write: 30 * time.Second, comment: l.CommentInterval}
}
