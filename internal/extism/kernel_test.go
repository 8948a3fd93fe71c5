package extism

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// Blocks do not overlap, begin as zeros, keep what is written, and never take more than the limit.
func TestKernelBlocks(t *testing.T) {
	const limit = 1 << 20
	rnd := rand.New(rand.NewPCG(1, 2))
	k := newKernel(limit)
	for range 3 {
		k.begin([]byte("input"))
		live := map[uint64]byte{}
		for n := range 20_000 {
			if len(live) > 0 && rnd.IntN(3) == 0 {
				for at, fill := range live { // any
					if b := k.block(at); !bytes.Equal(b, bytes.Repeat([]byte{fill}, len(b))) {
						t.Fatalf("the block at %d changed", at)
					}
					k.release(at)
					delete(live, at)
					break
				}
				continue
			}
			size := 1 + rnd.IntN(1<<rnd.IntN(14))
			at := k.alloc(uint64(size))
			if at == 0 {
				continue
			}
			b := k.block(at)
			if len(b) != size || !bytes.Equal(b, make([]byte, size)) || at%kernelUnit != 0 || at < kernelBase {
				t.Fatalf("block of %d at %d, %d bytes wanted, or not zeros", len(b), at, size)
			}
			live[at] = byte(n)
			for i := range b {
				b[i] = byte(n)
			}
		}
		if len(k.mem) > limit || !k.refused {
			t.Errorf("%d bytes of memory, refused: %v", len(k.mem), k.refused)
		}
	}
}

// Metadata counts: a million blocks of one byte are not a way around the limit.
func TestKernelSmallBlocks(t *testing.T) {
	k := newKernel(1 << 20)
	k.begin(nil)
	n := 0
	for k.alloc(1) != 0 {
		n++
	}
	if n > 1<<20/(kernelUnit+blockOverhead) || n < 1000 {
		t.Errorf("%d blocks of a byte in a mebibyte", n)
	}
	for _, size := range []uint64{1 << 20, 1 << 32, 1 << 63, 1<<64 - 1} {
		if at := k.alloc(size); at != 0 {
			t.Errorf("a block of %d at %d", size, at)
		}
	}
}

func TestKernelClasses(t *testing.T) {
	last := 0
	for n := 1; n < 1<<27; n += 1 + n/97 {
		index, size := class(n)
		if size < n || size > max(n+n/4, n+kernelUnit) || size%kernelUnit != 0 || index < last || index >= len(newKernel(0).free) {
			t.Fatalf("class(%d) = %d, %d", n, index, size)
		}
		last = index
	}
}
