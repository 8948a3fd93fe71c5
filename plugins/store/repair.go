package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// Repaired is what [Store.Repair] found and did.
type Repaired struct {
	// Generation is the current one now.
	Generation *Generation
	// Back is the number of the generation whose entries it took over, or -1 if the current one stayed.
	Back int
	// Found lists what was damaged, Done what was done about it: one plain sentence each. Both empty: all is well.
	Found, Done []string
}

// Repair reads everything again: current, all generations, all blobs. Where the current generation is damaged, or a file
// that it needs, it makes a new generation with the entries of the newest one that is whole, and says so: an older
// generation may hold a plugin that was removed or updated since. Without any whole one, the newest whose list can be read
// stays, since its damaged plugins are refused one by one; without even that, the new generation is empty.
//
// Damaged generations and blobs are removed, so that installing again writes them anew. Errors are ErrBusy, ErrTooNew and
// those of the file system; damage is not an error here.
func (s *Store) Repair(ctx context.Context) (*Repaired, error) {
	r := &Repaired{Back: -1}
	err := s.exclusive(ctx, func(c *change) error { return r.run(ctx, c) })
	if err != nil {
		return nil, err
	}
	return r, nil
}

// survey is what Repair knows of one generation.
type survey struct {
	g     *Generation
	whole bool // its blobs too
}

func (r *Repaired) run(ctx context.Context, c *change) error {
	now, err := c.current()
	if err != nil && !isDamage(err) {
		return err
	}
	if err != nil {
		r.Found = append(r.Found, sentence(err))
	}
	list, bad, err := r.survey(ctx, c, now)
	if err != nil {
		return err
	}
	if err := r.settle(ctx, c, now, list); err != nil {
		return err
	}
	// Last: a kill before this leaves a store that can be repaired again.
	for _, n := range bad {
		if n == r.Generation.Number {
			continue // its number was taken over
		}
		if err := c.RemoveAll(genFile(n)); err != nil {
			return fmt.Errorf("repair: %w", err)
		}
		r.Done = append(r.Done, fmt.Sprintf("Removed generation %d, which was damaged.", n))
	}
	return r.dropBlobs(ctx, c)
}

// survey reads all generations, newest first, and lists those that cannot be read.
func (r *Repaired) survey(ctx context.Context, c *change, now *Generation) (list []survey, bad []int, err error) {
	numbers, err := c.numbers()
	if err != nil {
		return nil, nil, err
	}
	for _, n := range slices.Backward(numbers) {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		c.last = max(c.last, n)
		if now != nil && n > now.Number {
			continue // of a writer that did not come to its end; the next one writes over it
		}
		g, _, err := c.generation(n)
		if err != nil {
			if !isDamage(err) {
				return nil, nil, err
			}
			bad = append(bad, n)
			if text := sentence(err); !slices.Contains(r.Found, text) {
				r.Found = append(r.Found, text)
			}
			continue
		}
		s := survey{g: g, whole: true}
		for i := range g.Entries {
			if err := c.checkBlobs(&g.Entries[i]); err != nil {
				s.whole = false
				if text := sentence(err); !slices.Contains(r.Found, text) {
					r.Found = append(r.Found, text)
				}
			}
		}
		list = append(list, s)
	}
	return list, bad, nil
}

// settle makes the current generation one that can be used.
func (r *Repaired) settle(ctx context.Context, c *change, now *Generation, list []survey) error {
	c.now = now
	if now != nil {
		c.last = now.Number
		if now.Number == 0 || len(list) > 0 && list[0].g.Number == now.Number && list[0].whole {
			r.Generation = now
			return nil
		}
	}
	i := slices.IndexFunc(list, func(s survey) bool { return s.whole })
	reason, entries := "repair: nothing was left", []Entry{}
	switch {
	case i >= 0:
		r.Back = list[i].g.Number
		entries = list[i].g.copies()
		reason = "repair: back to generation " + strconv.Itoa(r.Back)
	case now != nil:
		r.Generation = now
		r.Done = append(r.Done, "Kept generation "+strconv.Itoa(now.Number)+", since no older one is whole: install its damaged plugins again.")
		return nil
	case len(list) > 0:
		r.Back = list[0].g.Number
		entries = list[0].g.copies()
		reason = "repair: back to generation " + strconv.Itoa(r.Back) + ", parts of which are damaged"
	}
	g, err := c.commit(ctx, entries, reason)
	if err != nil {
		return err
	}
	r.Generation = g
	r.Done = append(r.Done, fmt.Sprintf("Made generation %d: %s.", g.Number, g.Reason))
	return nil
}

// dropBlobs removes blobs that are not what their names say.
func (r *Repaired) dropBlobs(ctx context.Context, c *change) error {
	names, err := c.names(blobDir)
	if err != nil {
		return fmt.Errorf("repair: %w", err)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := c.blob(digestStart+name, maxBlobBytes); err == nil {
			continue
		}
		if err := c.RemoveAll(blobDir + "/" + name); err != nil {
			return fmt.Errorf("repair: %w", err)
		}
		r.Done = append(r.Done, "Removed the damaged blob "+plaintext.Line(name, 80)+".")
	}
	return nil
}

// sentence makes a sentence of a damage.
func sentence(err error) string {
	var de *DamageError
	if !errors.As(err, &de) {
		return plaintext.Line(err.Error(), 600) + "."
	}
	s := plaintext.Line(de.File, 200)
	if de.Plugin != "" {
		s += " (of " + plaintext.Line(de.Plugin, 100) + ")"
	}
	return s + " " + de.Detail + "."
}
