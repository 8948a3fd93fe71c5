package host

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"sync"
	"time"
)

// approvalQueue is the state of an ApprovalQueue.
type approvalQueue struct {
	mu      sync.Mutex
	open    map[string]*question
	changed chan struct{}
}

type question struct {
	PendingApproval
	answer chan Decision // capacity 1
}

// maxQuestions bounds the open questions of a queue: over it, calls are refused.
const maxQuestions = 10_000

func (q *approvalQueue) approve(ctx context.Context, call *ToolCall) (Decision, error) {
	c := *call
	c.Input = slices.Clone(call.Input)
	it := &question{PendingApproval{"approval_" + strings.ToLower(rand.Text()), &c, time.Now()}, make(chan Decision, 1)}
	q.mu.Lock()
	if len(q.open) >= maxQuestions {
		q.mu.Unlock()
		return Decision{Reason: "too many calls wait for approval"}, nil
	}
	if q.open == nil {
		q.open = map[string]*question{}
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

func (q *approvalQueue) tellLocked() {
	if q.changed != nil {
		close(q.changed)
		q.changed = nil
	}
}

func (q *approvalQueue) changedChannel() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.changed == nil {
		q.changed = make(chan struct{})
	}
	return q.changed
}

func (q *approvalQueue) pending() []PendingApproval {
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

func (q *approvalQueue) decide(id string, d Decision) error {
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
