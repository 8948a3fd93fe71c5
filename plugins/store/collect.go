package store

import (
	"context"
	"fmt"
	"path"
)

// Collected is what [Store.Collect] removed.
type Collected struct {
	// Generations are the numbers of the generations, in order.
	Generations []int
	// Blobs is how many blobs, and Bytes how large they were.
	Blobs int
	Bytes int64
}

// Collect keeps the newest keep generations, the current one among them (1 at least), and removes the others and every blob
// that none of the kept ones needs. A kept generation that is damaged is ErrDamaged and nothing is removed, since nobody
// knows what it needs: see [Store.Repair]. Plugins that are loaded do not need their files any more.
//
// It may be stopped at any moment: what is kept is never touched.
func (s *Store) Collect(ctx context.Context, keep int) (Collected, error) {
	var done Collected
	err := s.exclusive(ctx, func(c *change) error {
		now, err := c.current()
		if err != nil {
			return err
		}
		numbers, err := c.numbers()
		if err != nil {
			return err
		}
		var drop, stay []int
		for _, n := range numbers {
			if n > now.Number || n <= now.Number-max(keep, 1) {
				drop = append(drop, n)
			} else {
				stay = append(stay, n)
			}
		}
		needed := map[string]bool{}
		for _, n := range stay {
			g, _, err := c.generation(n)
			if err != nil {
				return err
			}
			g.need(needed)
		}
		// Generations first: one without its blobs would be damaged.
		for _, n := range drop {
			if err := c.Remove(genFile(n)); err != nil {
				return fmt.Errorf("collect: %w", err)
			}
			done.Generations = append(done.Generations, n)
		}
		if err := c.sync(genDir); err != nil {
			return fmt.Errorf("collect: %w", err)
		}
		c.s.stepped("generations are collected")
		return c.collectBlobs(ctx, needed, &done)
	})
	return done, err
}

// need enters the names of the files that the generation needs.
func (g *Generation) need(names map[string]bool) {
	for i := range g.Entries {
		for _, d := range g.Entries[i].files() {
			names[path.Base(blobFile(d))] = true
		}
	}
}

func (c *change) collectBlobs(ctx context.Context, needed map[string]bool, done *Collected) error {
	names, err := c.names(blobDir)
	if err != nil {
		return fmt.Errorf("collect: %w", err)
	}
	for _, name := range names {
		if needed[name] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		name = path.Join(blobDir, name)
		info, err := c.Lstat(name)
		if err == nil {
			err = c.RemoveAll(name)
		}
		if err != nil {
			return fmt.Errorf("collect: %w", err)
		}
		done.Blobs++
		done.Bytes += info.Size()
	}
	return nil
}
