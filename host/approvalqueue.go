package host

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cloister-wasm/cloister/api"
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
	api.PendingApproval
	answer chan api.Decision // capacity 1
}

// maxQuestions bounds the open questions of a queue: over it, calls are refused.
const maxQuestions = 10_000

// Approve implements Options.Approve. It waits for Decide, or for ctx. The call's input is kept as it is: the host gives each
// approver a copy.
func (q *ApprovalQueue) Approve(ctx context.Context, call *api.ToolCall) (api.Decision, error) {
	c := *call
	it := &question{api.PendingApproval{ID: "approval_" + strings.ToLower(rand.Text()), Call: &c, Since: time.Now()}, make(chan api.Decision, 1)}
	q.mu.Lock()
	if len(q.open) >= maxQuestions {
		q.mu.Unlock()
		return api.Decision{Reason: "too many calls wait for approval"}, nil
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
		return api.Decision{}, ctx.Err()
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
func (q *ApprovalQueue) Pending() []api.PendingApproval {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := make([]api.PendingApproval, 0, len(q.open))
	for _, it := range q.open {
		list = append(list, it.PendingApproval)
	}
	slices.SortFunc(list, func(a, b api.PendingApproval) int {
		if d := a.Since.Compare(b.Since); d != 0 {
			return d
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list
}

// Decide answers a question. ErrUnknownApproval means that it is not open: never
// asked, answered already, or its call has ended.
func (q *ApprovalQueue) Decide(id string, d api.Decision) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	it := q.open[id]
	if it == nil {
		return api.ErrUnknownApproval
	}
	delete(q.open, id)
	it.answer <- d
	q.tellLocked()
	return nil
}
