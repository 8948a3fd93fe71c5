package limits

import (
	"sync/atomic"
)

// Budget bounds what a Host keeps for all its cells together, in bytes. It is safe for
// concurrent use and takes no lock.
type Budget struct{ left atomic.Int64 }

// Reset makes n bytes the whole budget. It is for the time before the first use.
func (b *Budget) Reset(n int64) { b.left.Store(n) }

// Left is what nobody has taken.
func (b *Budget) Left() int64 { return b.left.Load() }

// Take takes n bytes, or none and says false.
func (b *Budget) Take(n int) bool {
	for {
		left := b.left.Load()
		if int64(n) > left {
			return false
		}
		if b.left.CompareAndSwap(left, left-int64(n)) {
			return true
		}
	}
}

// Give gives n bytes back.
func (b *Budget) Give(n int) { b.left.Add(int64(n)) }
