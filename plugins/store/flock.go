package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cloister-wasm/cloister/internal/safefile"
)

// How often a lock is tried. A writer holds it for some milliseconds, or as long as a disk takes for a large plugin.
const (
	firstWait = time.Millisecond
	mostWait  = 20 * time.Millisecond
)

// lock takes the store's lock: exclusive for writers, shared for those who read several files that a writer could collect.
// The kernel holds it for the open file, so that it ends with the process, however that ends. The files themselves stay for
// ever: removing one would let two writers hold two files of one name.
//
// A lock is tried again and again instead of waited for: a wait in the kernel would not end with ctx. So that a busy writer
// cannot starve those who wait, everybody first takes the turn, and gives it back once they have the lock.
func (f folder) lock(ctx context.Context, exclusive bool) (release func() error, err error) {
	turn, err := f.take(ctx, turnName, true)
	if err != nil {
		return nil, err
	}
	file, err := f.take(ctx, lockName, exclusive)
	if cerr := turn.Close(); err == nil && cerr != nil {
		err = errors.Join(cerr, file.Close())
	}
	if err != nil {
		return nil, err
	}
	return file.Close, nil
}

// take locks one file.
func (f folder) take(ctx context.Context, name string, exclusive bool) (*os.File, error) {
	file, err := f.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDir, err)
	}
	wait := firstWait
	for {
		err := safefile.TryLock(file, exclusive)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, safefile.ErrLocked) {
			return nil, errors.Join(fmt.Errorf("%w: lock it: %w", ErrDir, err), file.Close())
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
			wait = min(2*wait, mostWait)
		case <-ctx.Done():
			timer.Stop()
			return nil, errors.Join(fmt.Errorf("%w: %w", ErrBusy, context.Cause(ctx)), file.Close())
		}
	}
}
