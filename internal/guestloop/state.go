package guestloop

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/cloister-wasm/cloister/quickjs"
)

// Store keeps the state of one program.
type Store interface {
	Put(ctx context.Context, snapshot []byte) error
	Get(ctx context.Context) ([]byte, error)
	Delete(ctx context.Context)
}

// Guest is the machine of a program. Its holder owns the guest.
type Guest struct {
	VM   *quickjs.VM
	Main quickjs.Value // the promise of the program's value

	store Store // where the state is while there is no machine
	sum   [sha256.Size]byte
	size  int
}

// Save stores the state, at most max bytes of it, and closes the machine. After an
// error the machine is as before: a quickjs.ErrSnapshotTooLarge, an end of ctx, or an
// ErrStore.
func (g *Guest) Save(ctx context.Context, s Store, max int) (size int, err error) {
	snap, err := g.VM.Snapshot(ctx, &quickjs.SnapshotOptions{Max: max}, g.Main)
	if err != nil {
		return 0, err
	}
	if err := s.Put(ctx, snap); err != nil {
		if ctx.Err() != nil {
			s.Delete(context.WithoutCancel(ctx)) // it may have been written all the same
			return 0, context.Cause(ctx)
		}
		return 0, fmt.Errorf("%w: %w", ErrStore, err)
	}
	g.store, g.sum, g.size = s, sha256.Sum256(snap), len(snap)
	g.VM.Close()
	g.VM = nil
	return len(snap), nil
}

// restore makes a machine of what Save stored. What a store gives is used only if it is
// byte for byte what was saved: it may mix up names, or be somebody else's.
func (g *Guest) restore(ctx context.Context, restore func(context.Context, []byte) (*quickjs.VM, []quickjs.Value, error)) error {
	if g.store == nil {
		return ErrRestore
	}
	snap, err := g.store.Get(ctx)
	if err != nil {
		return fmt.Errorf("%w: reading it: %w", ErrRestore, err)
	}
	if len(snap) != g.size || sha256.Sum256(snap) != g.sum {
		return fmt.Errorf("%w: it is not what was saved", ErrRestore)
	}
	vm, roots, err := restore(ctx, snap)
	if err == nil && len(roots) != 1 {
		vm.Close()
		err = errors.New("it has no promise")
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRestore, err)
	}
	g.VM, g.Main = vm, roots[0]
	g.forget(ctx)
	return nil
}

// forget drops what is stored.
func (g *Guest) forget(ctx context.Context) {
	if g.store != nil {
		g.store.Delete(context.WithoutCancel(ctx))
		g.store = nil
	}
}

func (g *Guest) close(ctx context.Context) {
	if g.VM != nil {
		g.VM.Close()
		g.VM = nil
	}
	g.forget(ctx)
}

// Save saves a suspended program in the background. It does nothing to one that is
// not suspended, or has no machine, and says so. A leg that is attached meanwhile ends
// it. A program whose state cannot be saved ends as the error.
func (l *Loop) Save(ctx context.Context, s Store, max int) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.mu.Lock()
	m := &l.mu
	if m.busy || m.leg != nil || m.over || m.ending != nil || l.guest.VM == nil {
		m.Unlock()
		return false
	}
	m.busy, m.saving = true, cancel
	m.Unlock()
	stop := context.AfterFunc(l.ctx, cancel)
	saved, err := l.saveContained(ctx, s, max)
	stop()
	l.mu.Lock()
	m.saving = nil
	l.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		l.end(err)
		return false
	}
	l.drive() // for a leg that has come, or to give the token back
	return saved
}

func (l *Loop) saveContained(ctx context.Context, s Store, max int) (saved bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			l.panicked(p)
			saved, err = false, ErrPanicked
		}
	}()
	_, err = l.guest.Save(ctx, s, max)
	return err == nil, err
}
