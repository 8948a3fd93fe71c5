package codemode

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/limits"
)

// maxDeleteTime bounds the deletion of a snapshot.
const maxDeleteTime = 2 * time.Second

// cellStore is the store as the loop of one cell sees it. A panic in the embedder's store is a failure.
type cellStore struct{ c *cell }

func (s cellStore) store() api.SnapshotStore {
	if o := s.c.h.o.Snapshots; o != nil {
		return o
	}
	return &s.c.h.memory
}

func (s cellStore) Put(ctx context.Context, snapshot []byte) (err error) {
	h := s.c.h
	if !h.d.Contain("SnapshotStore.Put", func() {
		err = s.store().Put(ctx, &api.Snapshot{CellID: s.c.id, Scope: s.c.run.calls.Scope(), Bytes: snapshot})
	}) {
		return errors.New("the store failed inside")
	}
	return err
}

func (s cellStore) Get(ctx context.Context) (b []byte, err error) {
	h := s.c.h
	if !h.d.Contain("SnapshotStore.Get", func() { b, err = s.store().Get(ctx, s.c.id) }) {
		return nil, errors.New("the store failed inside")
	}
	return b, err
}

// Delete does not report failures: a store that cannot delete keeps an unguessable name that nothing refers to.
func (s cellStore) Delete(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, maxDeleteTime)
	defer cancel()
	s.c.h.d.Contain("SnapshotStore.Delete", func() { _ = s.store().Delete(ctx, s.c.id) })
}

// memoryStore is the store of hosts without one. What it keeps counts in the host's budget.
type memoryStore struct {
	budget *limits.Budget
	mu     struct {
		sync.Mutex
		m map[string][]byte
	}
}

// errNoBudget reports state that the host has no room for.
var errNoBudget = errors.New("the budget of the host is used up")

func (s *memoryStore) Put(_ context.Context, snap *api.Snapshot) error {
	if !s.budget.Take(len(snap.Bytes)) {
		return fmt.Errorf("storing %d bytes: %w", len(snap.Bytes), errNoBudget)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.m == nil {
		s.mu.m = map[string][]byte{}
	}
	s.mu.m[snap.CellID] = snap.Bytes
	return nil
}

func (s *memoryStore) Get(_ context.Context, cellID string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.mu.m[cellID]
	if !ok {
		return nil, api.ErrSnapshotNotFound
	}
	return b, nil
}

func (s *memoryStore) Delete(_ context.Context, cellID string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.budget.Give(len(s.mu.m[cellID]))
	delete(s.mu.m, cellID)
	return nil
}
