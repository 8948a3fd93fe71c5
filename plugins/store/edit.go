package store

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
)

// SetEnabled has a plugin loaded from now on, or not, and gives the new generation. Errors are ErrNotInstalled, ErrSame if it
// is so already, ErrBusy, ErrDamaged.
func (s *Store) SetEnabled(ctx context.Context, id string, enabled bool) (*Generation, error) {
	return s.edit(ctx, func(c *change) ([]Entry, string, error) {
		e, ok := c.now.Entry(id)
		if !ok {
			return nil, "", fail(ErrNotInstalled, "%s; `cloister plugin list` shows those that are", id)
		}
		verb := "disable"
		if enabled {
			verb = "enable"
		}
		if e.Disabled == !enabled {
			return nil, "", fail(ErrSame, "%s is %sd already", id, verb)
		}
		e.Disabled = !enabled
		return c.now.with(*e), verb + " " + id, nil
	})
}

// Remove takes a plugin out and gives the new generation. Its files stay until [Store.Collect]. Errors are ErrNotInstalled,
// ErrBusy, ErrDamaged.
func (s *Store) Remove(ctx context.Context, id string) (*Generation, error) {
	return s.edit(ctx, func(c *change) ([]Entry, string, error) {
		e, ok := c.now.Entry(id)
		if !ok {
			return nil, "", fail(ErrNotInstalled, "%s; `cloister plugin list` shows those that are", id)
		}
		return c.now.without(id), "remove " + id + " " + e.Version, nil
	})
}

// Rollback makes a new generation with the entries of an older one, and gives it. number 0 is the generation before the
// current one. All files of the older generation must be there and right. Going back grants no trust: plugins that are
// revoked or have drifted are refused when they are loaded, as ever.
//
// With a number it works on a store whose current generation is damaged. Errors are ErrNoGeneration, ErrSame for the
// current one, ErrDamaged, ErrBusy.
func (s *Store) Rollback(ctx context.Context, number int) (*Generation, error) {
	var made *Generation
	err := s.exclusive(ctx, func(c *change) error {
		if err := c.beforeRollback(number); err != nil {
			return err
		}
		to := number
		if to == 0 {
			to = c.now.Number - 1
		}
		switch {
		case to < 0 || to > c.last:
			return fail(ErrNoGeneration, "generation %d was never made", to)
		case c.now != nil && to == c.now.Number:
			return fail(ErrSame, "generation %d is the current one", to)
		}
		old, err := c.whole(to)
		if err != nil {
			return err
		}
		made, err = c.commit(ctx, old.copies(), "roll back to generation "+strconv.Itoa(to))
		return err
	})
	return made, err
}

// beforeRollback finds where the store is. A generation after the current one was never made; where current is damaged
// nobody knows, and the number that was asked for decides.
func (c *change) beforeRollback(number int) error {
	now, err := c.current()
	if err == nil {
		c.now, c.last = now, now.Number
		return nil
	}
	if number == 0 || !isDamage(err) {
		return err
	}
	numbers, nerr := c.numbers()
	if nerr != nil {
		return nerr
	}
	if len(numbers) == 0 {
		return err
	}
	c.last = numbers[len(numbers)-1]
	return nil
}

// whole reads a generation and checks everything that it needs.
func (c *change) whole(number int) (*Generation, error) {
	g, _, err := c.generation(number)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fail(ErrNoGeneration, "generation %d was collected, or never made", number)
	}
	if err != nil {
		return nil, err
	}
	for i := range g.Entries {
		if err := c.checkBlobs(&g.Entries[i]); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func (g *Generation) copies() []Entry {
	list := []Entry{}
	for _, e := range g.Entries {
		list = append(list, e.clone())
	}
	return list
}
