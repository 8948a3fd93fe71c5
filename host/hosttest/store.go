package hosttest

import (
	"context"
	"slices"
	"sync"

	"github.com/cloister-wasm/cloister/host"
)

// Store is a host.SnapshotStore in memory that fails, loses and damages what it
// holds as it is told.
type Store struct {
	mu     sync.Mutex
	m      map[string][]byte
	faults Faults
	stats  StoreStats
}

// Faults says what goes wrong from now on. The zero value is a store that works.
type Faults struct {
	// Put, Get and Delete are returned by the methods of their names.
	Put, Get, Delete error
	// Damage, if set, changes what Get gives; it gets a copy.
	Damage func(name string, snapshot []byte) []byte
}

// StoreStats counts calls of a Store, failed ones included.
type StoreStats struct{ Puts, Gets, Deletes int }

// NewStore makes an empty store that works.
func NewStore() *Store { return &Store{m: map[string][]byte{}} }

// SetFaults replaces the store's faults.
func (s *Store) SetFaults(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// Put implements host.SnapshotStore.
func (s *Store) Put(_ context.Context, snapshot *host.Snapshot) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Puts++
	if s.faults.Put != nil {
		return s.faults.Put
	}
	s.m[snapshot.CellID] = slices.Clone(snapshot.Bytes)
	return nil
}

// Get implements host.SnapshotStore.
func (s *Store) Get(_ context.Context, name string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Gets++
	if s.faults.Get != nil {
		return nil, s.faults.Get
	}
	b, ok := s.m[name]
	if !ok {
		return nil, host.ErrSnapshotNotFound
	}
	b = slices.Clone(b)
	if s.faults.Damage != nil {
		b = s.faults.Damage(name, b)
	}
	return b, nil
}

// Delete implements host.SnapshotStore.
func (s *Store) Delete(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Deletes++
	if s.faults.Delete != nil {
		return s.faults.Delete
	}
	delete(s.m, name)
	return nil
}

// Len is the number of snapshots that the store holds.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.m)
}

// Snapshot gives a copy of what is stored under name, or nil.
func (s *Store) Snapshot(name string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.m[name])
}

// Drop loses what is stored under name, as a store does whose entries age.
func (s *Store) Drop(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.m, name)
}

// Stats gives the counts so far.
func (s *Store) Stats() StoreStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}
