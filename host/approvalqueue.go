package host

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"sync"
	"time"
)

// ApprovalQueue is an approver for programs where the answer comes from elsewhere:
// its Approve, the value for Options.Approve, puts the call into a list and waits
// until somebody answers with Decide. It is safe for concurrent use.
type ApprovalQueue struct {
	mu      sync.Mutex
	open    map[string]*question
	changed chan struct{} // nil while nobody waits for a change
}

// NewApprovalQueue makes an empty queue.
func NewApprovalQueue() *ApprovalQueue { return &ApprovalQueue{open: map[string]*question{}} }

type question struct {
	PendingApproval
	answer chan Decision // capacity 1
}

// maxQuestions bounds the open questions of a queue: over it, calls are refused.
const maxQuestions = 10_000

// Approve implements Options.Approve. It waits for Decide, or for ctx. The call's input is kept as it is: the host gives each
// approver a copy.
func (q *ApprovalQueue) Approve(ctx context.Context, call *ToolCall) (Decision, error) {
	c := *call
	it := &question{PendingApproval{"approval_" + strings.ToLower(rand.Text()), &c, time.Now()}, make(chan Decision, 1)}
	q.mu.Lock()
	if len(q.open) >= maxQuestions {
		q.mu.Unlock()
		return Decision{Reason: "too many calls wait for approval"}, nil
	}
	q.open[it.ID] = it
	q.tellLocked()
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.open[it.ID] != nil { // the call ended unanswered
			delete(q.open, it.ID)
			q.tellLocked()
		}
	}()
	select {
	case d := <-it.answer:
		return d, nil
	case <-ctx.Done():
		return Decision{}, ctx.Err()
	}
}

func (q *ApprovalQueue) tellLocked() {
	if q.changed != nil {
		close(q.changed)
		q.changed = nil
	}
}

// Changed gives a channel that is closed when the list next changes. Take it before
// Pending, so that no change is missed.
func (q *ApprovalQueue) Changed() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.changed == nil {
		q.changed = make(chan struct{})
	}
	return q.changed
}

// Pending lists the open questions, oldest first.
func (q *ApprovalQueue) Pending() []PendingApproval {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := make([]PendingApproval, 0, len(q.open))
	for _, it := range q.open {
		list = append(list, it.PendingApproval)
	}
	slices.SortFunc(list, func(a, b PendingApproval) int {
		if d := a.Since.Compare(b.Since); d != 0 {
			return d
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list
}

// Decide answers a question. ErrUnknownApproval means that it is not open: never
// asked, answered already, or its call has ended.
func (q *ApprovalQueue) Decide(id string, d Decision) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	it := q.open[id]
	if it == nil {
		return ErrUnknownApproval
	}
	delete(q.open, id)
	it.answer <- d
	q.tellLocked()
	return nil
}
