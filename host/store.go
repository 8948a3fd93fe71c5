package host

import (
	"context"
	"sync"
)

// SnapshotStore keeps the memory of suspended runs. Names are run ids. It must be
// safe for concurrent use. The host deletes a snapshot when its run ends in any
// way, expiry included; a store that outlives the process must drop what is left.
type SnapshotStore interface {
	Put(ctx context.Context, name string, snapshot []byte) error
	// Get gives a snapshot, or ErrSnapshotNotFound.
	Get(ctx context.Context, name string) ([]byte, error)
	Delete(ctx context.Context, name string) error
}

type memoryStore struct {
	mu sync.Mutex
	m  map[string][]byte
}

func (s *memoryStore) Put(_ context.Context, name string, snapshot []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = map[string][]byte{}
	}
	s.m[name] = snapshot
	return nil
}

func (s *memoryStore) Get(_ context.Context, name string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.m[name]
	if !ok {
		return nil, ErrSnapshotNotFound
	}
	return b, nil
}

func (s *memoryStore) Delete(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.m, name)
	return nil
}
