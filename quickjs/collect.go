package quickjs

import (
	"context"
	"encoding/binary"
	"hash/crc32"
)

const (
	// keptOutput is the largest output that is collected in a buffer on Go's heap,
	// which is kept for the next save.
	keptOutput = 256 << 10
	// finishStep is how much of the output is copied at a time, in bytes: a multiple
	// of every page size.
	finishStep = 1 << 20
)

// collector takes a snapshot as it is made and refuses what is over its bound.
//
// How long a snapshot becomes is known at its end only. A slice that grows by being
// copied leaves garbage of several times its length, and even a list of pieces exists
// twice when it is joined. So a large output is collected in scratch memory, which
// goes back to the system piece by piece while the result is written.
type collector struct {
	most, bound int    // of the snapshot, 0 is no bound; of what may come
	buf         []byte // what has come
	kept        []byte // a buffer on the heap
	scratch     []byte // where buf lies when it is large
}

// start makes room for the first bytes: those of the head.
func (c *collector) start(most, bound, first int) {
	c.most, c.bound = most, bound
	if c.kept == nil {
		c.kept = make([]byte, 0, 16<<10)
	}
	c.buf = c.kept[:0]
	if first > cap(c.buf) {
		c.grow(first)
	}
}

// Write implements io.Writer. Too much is a *SnapshotTooLargeError.
func (c *collector) Write(p []byte) (int, error) {
	if c.most != 0 && len(p) > c.most-snapshotSum-len(c.buf) {
		return 0, &SnapshotTooLargeError{Max: c.most}
	}
	if len(p) > cap(c.buf)-len(c.buf) {
		c.grow(len(c.buf) + len(p))
	}
	c.buf = append(c.buf, p...)
	return len(p), nil
}

// grow makes room for n bytes. If it does not, append will.
func (c *collector) grow(n int) {
	switch {
	case n <= keptOutput && c.scratch == nil:
		c.kept = append(make([]byte, 0, keptOutput), c.buf...)
		c.buf = c.kept
	case c.scratch == nil:
		bound := c.bound + c.bound/1000 + keptOutput // what does not compress gets a little longer
		if c.most > 0 {
			bound = min(bound, c.most)
		}
		if c.scratch = newScratch(bound); c.scratch != nil {
			c.buf = append(c.scratch[:0], c.buf...)
		}
	}
}

// finish gives the snapshot with its checksum. What was collected is gone then.
func (c *collector) finish(ctx context.Context) ([]byte, error) {
	out := make([]byte, len(c.buf)+snapshotSum)
	sum := uint32(0)
	for at := 0; at < len(c.buf); at += finishStep {
		if err := look(ctx); err != nil {
			return nil, err
		}
		part := c.buf[at:min(at+finishStep, len(c.buf))]
		copy(out[at:], part)
		sum = crc32.Update(sum, castagnoli, part)
		if end := at + finishStep; end <= len(c.scratch) {
			dropScratch(c.scratch[at:end])
		}
	}
	binary.LittleEndian.PutUint32(out[len(c.buf):], sum)
	return out, nil
}

func (c *collector) release() {
	if c.scratch != nil {
		freeScratch(c.scratch)
	}
	*c = collector{kept: c.kept}
}
