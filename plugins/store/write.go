package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// briefly is how long methods without a context wait for the lock.
const briefly = 10 * time.Second

func (f folder) lockBriefly() (func() error, error) {
	ctx, cancel := context.WithTimeout(context.Background(), briefly)
	defer cancel()
	return f.lock(ctx, false)
}

// change is one change of the store, while it holds the exclusive lock.
type change struct {
	folder
	s    *Store
	now  *Generation // the current one; nil if it is damaged
	last int         // the highest number that is taken
}

// exclusive runs do while no other process writes.
func (s *Store) exclusive(ctx context.Context, do func(c *change) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := s.open(true)
	if err != nil {
		return err
	}
	defer f.close() // what is written was closed and synced where it was written
	release, err := f.lock(ctx, true)
	if err != nil {
		return err
	}
	defer release() // nothing is written to the lock file
	if err := f.clean(); err != nil {
		return fmt.Errorf("%w: %w", ErrDir, err)
	}
	return do(&change{folder: f, s: s})
}

// edit makes a new generation of the current one. plan says what its entries are and why it is made; it may write blobs.
func (s *Store) edit(ctx context.Context, plan func(c *change) ([]Entry, string, error)) (*Generation, error) {
	var made *Generation
	err := s.exclusive(ctx, func(c *change) error {
		now, err := c.current()
		if err != nil {
			return err
		}
		c.now, c.last = now, now.Number
		entries, reason, err := plan(c)
		if err != nil {
			return err
		}
		made, err = c.commit(ctx, entries, reason)
		return err
	})
	return made, err
}

// commit writes a generation and then makes it the current one. Blobs come first, then the generation, then current, each
// synced before the next: what a name leads to is always there.
func (c *change) commit(ctx context.Context, entries []Entry, reason string) (*Generation, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.now != nil && c.now.Number == 0 {
		if err := c.first(); err != nil {
			return nil, err
		}
	}
	g := &Generation{Number: c.last + 1, Created: c.s.time(), Reason: plaintext.Line(reason, maxReason), Entries: entries}
	if err := c.put(g); err != nil {
		return nil, err
	}
	return g, nil
}

// first gives a new store its empty generation, so that a current that is missing later is known as damage.
func (c *change) first() error {
	if _, err := c.Lstat(currentFile); err == nil {
		return nil
	}
	return c.put(emptyGeneration())
}

// put writes a generation's file and has current name it.
func (c *change) put(g *Generation) error {
	text, err := encodeGeneration(g)
	if err != nil {
		return err
	}
	c.s.stepped("blobs are written")
	write := func(name, dir string, data []byte) error {
		err := c.write(name, data)
		if err == nil {
			err = c.sync(dir)
		}
		if err != nil {
			return fmt.Errorf("write the plugin store: %w", err)
		}
		return nil
	}
	if err := write(genFile(g.Number), genDir, text); err != nil {
		return err
	}
	c.s.stepped("the generation is written")
	if err := write(currentFile, ".", fmt.Appendf(nil, "%d %s\n", g.Number, digestOf(text))); err != nil {
		return err
	}
	c.s.stepped("current is written")
	return nil
}

// isDamage says whether an error is about the store's own files.
func isDamage(err error) bool { return errors.Is(err, ErrDamaged) }
