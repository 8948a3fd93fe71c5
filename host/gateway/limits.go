package gateway

import (
	"cmp"
	"time"
)

// Limits bound what clients can take. Zero means the default.
type Limits struct {
	// MaxSessions bounds sessions of all kinds together. Default 256. Where there can be
	// more than one principal, none has more than half of them.
	MaxSessions int
	// IdleTimeout ends a session over HTTP without requests, cells and open approvals.
	// Default 30 minutes; ResumeTimeout if that is more.
	IdleTimeout time.Duration
	// MaxConcurrentExecs bounds the calls of exec, wait and tools that run at once in a
	// session. Default 16.
	MaxConcurrentExecs int
	// MaxRunning bounds the programs that run at once, of all clients: those that an exec
	// or a wait is in flight for, and those that still compute after one. One more waits
	// for its place for half of the code mode's timeout. Default 128.
	MaxRunning int
	// MaxRunningPerPrincipal bounds those of one principal. Default half of all where
	// there can be more than one principal.
	MaxRunningPerPrincipal int
	// MaxRunningBytes bounds the memory that running programs may take together, each as
	// much as the code mode's memoryLimitBytes: it lowers MaxRunning. Default 2 GiB. One
	// program always has room.
	MaxRunningBytes int64
	// MaxRequestBytes bounds one message. Default 4 MiB.
	MaxRequestBytes int
	// ResumeTimeout is how long a request goes on when the connection that waits for its
	// answer is lost, for the client to come back (Last-Event-ID). Default 15 seconds; a
	// negative one cancels at once. Clients that were sent no event id cannot come back.
	ResumeTimeout time.Duration
	// CommentInterval is the time between two comments on a stream of events. A client that
	// left without a word is noticed by one or two of them. Default 20 seconds, for proxies
	// that end quiet connections after 30.
	CommentInterval time.Duration
	// ApprovalWait is how long a call without code mode waits for approval by somebody else
	// where the client cannot ask its user. Then it is answered with an error that says what
	// waits, before the client gives up by itself; the same call, made again, goes on with
	// it. Default 45 seconds; with a negative one it waits as long as its client does.
	ApprovalWait time.Duration
}

func (l Limits) withDefaults() Limits {
	l.MaxSessions = cmp.Or(max(l.MaxSessions, 0), 256)
	l.IdleTimeout = cmp.Or(max(l.IdleTimeout, 0), 30*time.Minute)
	l.MaxConcurrentExecs = cmp.Or(max(l.MaxConcurrentExecs, 0), 16)
	l.MaxRunning = cmp.Or(max(l.MaxRunning, 0), 128)
	l.MaxRunningPerPrincipal = max(l.MaxRunningPerPrincipal, 0)
	l.MaxRunningBytes = cmp.Or(max(l.MaxRunningBytes, 0), 2<<30)
	l.MaxRequestBytes = cmp.Or(max(l.MaxRequestBytes, 0), 4<<20)
	l.CommentInterval = cmp.Or(max(l.CommentInterval, 0), 20*time.Second)
	l.ApprovalWait = cmp.Or(l.ApprovalWait, 45*time.Second)
	l.ResumeTimeout = cmp.Or(l.ResumeTimeout, 15*time.Second)
	return l
}

// DefaultLimits are the limits that a zero Limits stands for.
func DefaultLimits() Limits { return Limits{}.withDefaults() }
