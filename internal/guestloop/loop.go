package guestloop

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/quickjs"
)

// Program is what a surface makes of a guest program. But for Computing, its
// methods are called by the goroutine that owns the guest, one at a time, with no
// lock held. A panic in one ends the program as ErrPanicked.
type Program interface {
	// Start compiles and starts the program and returns its main promise.
	Start(ctx context.Context, vm *quickjs.VM) (main quickjs.Value, err error)
	// Message acts on one message of the guest, with the loop's Open, Answer and Yield.
	// The line is valid until Message returns. An error ends the program.
	Message(line []byte) error
	// Delivered is told of each outcome as the guest gets it, in the order of delivery.
	// This is where a ledger listens.
	Delivered(d *Delivery)
	// Finish takes the value of the main promise. Doing so may run code of the guest that
	// asks for more, so another turn follows before the program has ended.
	Finish(ctx context.Context, g *Guest) error
	// Suspend is told that the program stops here, for the reason that why gives, and
	// returns what the leg's caller gets. Guest is nil where there is no machine to save: it
	// was saved before and not restored. An error ends the program.
	Suspend(ctx context.Context, g *Guest, why Why) (payload any, err error)
	// Computing returns what the caller of a leg gets whose time is up while a turn is
	// under way. It is called by the leg's goroutine, beside the others. An error ends the program.
	Computing() (payload any, err error)
	// Ended is called once and last, with nil for a program that completed, and returns
	// what the leg's caller gets. Guest is nil where there is no machine. After it the
	// machine is closed.
	Ended(ctx context.Context, g *Guest, err error) (payload any)
	// Released is called when the end was told, or nobody will ask for it any more.
	Released()
}

// Why says why a program stops without having ended.
type Why int

// The reasons of a suspension.
const (
	// Yielded: the program asked for it.
	Yielded Why = iota + 1
	// TimeUp: the leg's time is up and requests are open.
	TimeUp
	// AwaitsPerson: a request waits for a person.
	AwaitsPerson
	// AwaitsCaller: all open requests wait for the caller of the leg.
	AwaitsCaller
	// Background: a turn has ended whose leg had gone.
	Background
)

// AtEnd says what becomes of requests that are open when the main promise settles.
type AtEnd int

// The rules for open requests at the end of a program.
const (
	// AwaitOpen waits for them: their failures still count.
	AwaitOpen AtEnd = iota
	// CancelOpen ends the program; their contexts end.
	CancelOpen
	// FailOpen ends the program as ErrOpenAtEnd.
	FailOpen
)

// Limits bound a program. All are required.
type Limits struct {
	MaxOpen     int // requests open at once
	MaxInFlight int // of these, how many work at once
	MaxHeld     int // bytes of inputs of open requests and of outcomes on their way
	MaxBatch    int // bytes of outcomes delivered in one turn
	MaxOutbox   int // bytes that the guest may say in one turn
}

// Budget is a bound on bytes that programs share. It is safe for concurrent use.
type Budget interface {
	// Take takes n bytes, or none and says false.
	Take(n int) bool
	Give(n int)
}

// Options describes a Loop. Program, Limits and NewVM are required.
type Options struct {
	Program Program
	Limits  Limits
	AtEnd   AtEnd
	Budget  Budget // nil bounds nothing
	// NewVM makes the machine; Restore makes one of saved state.
	NewVM   func(ctx context.Context) (*quickjs.VM, error)
	Restore func(ctx context.Context, snapshot []byte) (*quickjs.VM, []quickjs.Value, error)
	// CallerTold says that the caller learns of requests that wait for it (Caller) by itself, so
	// that a leg goes on for them.
	CallerTold bool
	// Grace is how long a request may wait for a person before that suspends the program.
	Grace time.Duration
	// Now is the clock of Keep. Nil means time.Now.
	Now func() time.Time
	// Panicked, if set, is told of a panic in the Program.
	Panicked func(value any)
}

// Loop is one program from its start to its end. It is safe for concurrent use.
type Loop struct {
	o      Options
	ctx    context.Context
	cancel context.CancelCauseFunc

	// Owned by the holder of mu.busy.
	guest  Guest
	batch  []quickjs.Settlement
	caller context.Context // for guest code in the goroutine of Run: ends with its caller too

	mu struct {
		sync.Mutex
		busy    bool          // somebody owns the guest
		leg     *leg          // nil while the program is suspended
		compute time.Duration // how long the program may compute for the leg
		used    time.Duration // of compute, but for what runs since since
		since   time.Time     // since when the program computes; zero while it awaits something
		fresh   bool          // a leg came during a turn: its time counts from the end of that

		started  bool
		mainDone bool
		finished bool // Finish has taken the value
		paused   bool // Suspend was called since the last leg was attached
		over     bool
		ending   error // why the program is to end
		final    any   // what Ended returned, until it is told
		told     bool
		dropped  bool // nobody asks for the end of a program without a leg
		expires  time.Time
		saving   context.CancelFunc // ends a save in the background

		open     map[int]*Request
		queue    []*Request
		settled  []*Request
		yields   []*Request
		single   *Request // the only open request, for the driver to work on
		inFlight int
		held     int
	}
}

// New makes a loop. Requests work, and the guest runs, until ctx ends.
func New(ctx context.Context, o *Options) *Loop {
	l := &Loop{o: *o}
	if l.o.Now == nil {
		l.o.Now = time.Now
	}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	l.mu.open = map[int]*Request{}
	return l
}

// Context ends with the program.
func (l *Loop) Context() context.Context { return l.ctx }

// Delivery is an outcome on its way into the guest.
type Delivery struct {
	ID   int
	Data any // that of Open; nil for what the program answered itself
	// Value is the outcome in guestabi's codec, if Failure is nil.
	Value   []byte
	Failure *guestabi.Thrown
}

// Outcome settles a request.
type Outcome struct {
	Value   json.RawMessage // JSON, if Failure is nil
	Failure *guestabi.Thrown
}

// Keep sets until when a suspended program can be attached to again.
func (l *Loop) Keep(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.expires = until
}

// Waiting says whether no leg is attached, so that Keep's time counts, and until when that is.
func (l *Loop) Waiting() (expires time.Time, waiting bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.expires, l.mu.leg == nil && !l.mu.told
}

// End ends the program as err from outside: at once if it is suspended, else as soon
// as its guest and its callbacks let go. It says false if it has ended before.
func (l *Loop) End(err error) bool { return l.endIf(err, func() bool { return true }) }

// Expire ends the program as err if no leg is attached and its time is over at now.
func (l *Loop) Expire(now time.Time, err error) bool {
	return l.endIf(err, func() bool {
		return l.mu.leg == nil && !l.mu.expires.IsZero() && !now.Before(l.mu.expires)
	})
}

func (l *Loop) endIf(err error, due func() bool) bool {
	l.mu.Lock()
	if !due() || l.mu.over && (l.mu.told || l.mu.leg != nil) || l.mu.ending != nil && !l.mu.over {
		l.mu.Unlock()
		return false
	}
	if l.mu.over { // nobody asks for its end any more
		l.mu.final, l.mu.told = nil, true
		l.mu.Unlock()
		l.o.Program.Released()
		return true
	}
	l.mu.ending, l.mu.dropped = err, true
	mine := !l.mu.busy
	l.mu.busy = true
	l.mu.Unlock()
	l.cancel(err)
	if mine {
		l.end(err)
	}
	return true
}

// end ends the program. The caller holds the token and gives it up.
func (l *Loop) end(err error) {
	l.mu.Lock()
	if l.mu.over {
		l.mu.Unlock()
		return
	}
	// A driver that fails because the loop's context ended was ended from outside.
	if l.mu.ending != nil {
		err = l.mu.ending
	}
	l.mu.ending = err
	l.mu.Unlock()
	l.caller = nil
	payload := l.ended(err)
	l.guest.close(l.ctx)
	l.cancel(errEnded)
	l.mu.Lock()
	m := &l.mu
	m.over, m.busy = true, false
	held := m.held
	m.open, m.queue, m.settled, m.yields, m.single, m.held = nil, nil, nil, nil, nil, 0
	leg := m.leg
	m.leg = nil
	if m.told = leg != nil || m.dropped; !m.told {
		m.final = payload
	}
	told := m.told
	m.Unlock()
	if l.o.Budget != nil {
		l.o.Budget.Give(held)
	}
	if told {
		l.o.Program.Released()
	}
	if leg != nil {
		leg.done <- Stop{Ended: true, Payload: payload}
	}
}

// ended calls Program.Ended, also for one that panics.
func (l *Loop) ended(err error) (payload any) {
	defer func() {
		if p := recover(); p != nil {
			l.panicked(p)
		}
	}()
	return l.o.Program.Ended(l.ctx, l.machine(), err)
}

func (l *Loop) panicked(p any) {
	if l.o.Panicked != nil {
		l.o.Panicked(p)
	}
}

// machine is the guest, nil if there is none. The caller holds the token.
func (l *Loop) machine() *Guest {
	if l.guest.VM == nil {
		return nil
	}
	return &l.guest
}
