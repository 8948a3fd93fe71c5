package api

import (
	"context"
)

// SnapshotStore keeps the memory of suspended cells. It must be safe for
// concurrent use, and heed ctx: a store that does not holds up the cell, not the host. The host
// deletes a snapshot when its cell goes on or ends in any way, expiry included; a store that
// outlives the process must drop what is left. What Get returns is used only if it is
// byte for byte what was put.
type SnapshotStore interface {
	Put(ctx context.Context, s *Snapshot) error
	// Get returns the bytes of a snapshot, or ErrSnapshotNotFound.
	Get(ctx context.Context, cellID string) ([]byte, error)
	Delete(ctx context.Context, cellID string) error
}

// Snapshot is the state of a suspended cell.
type Snapshot struct {
	// CellID names it: unguessable, and never used twice.
	CellID string
	// Scope is that of the cell's run.
	Scope Scope
	// Bytes must not be changed, and are the store's to keep.
	Bytes []byte
}
