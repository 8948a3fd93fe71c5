package quickjs

import (
	"bytes"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// sealedImage is an image of n pages, every third of which is not zero.
func sealedImage(t *testing.T, n int) *image {
	t.Helper()
	mem := make([]byte, n*pageSize)
	for p := 0; p < n; p += 3 {
		for i := range pageSize {
			mem[p*pageSize+i] = byte(p + i)
		}
	}
	im := newImage(mem)
	sealImage(im)
	t.Cleanup(func() { closeImage(im) })
	return im
}

func newLinear(t *testing.T, im *image, plain bool) linear {
	t.Helper()
	lm, err := newMemory(im, im.size+64*wasmPage, plain)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lm.Free)
	return lm
}

// equalsImage compares a memory with the image and with zeros beyond it.
func equalsImage(t *testing.T, what string, im *image, mem []byte) {
	t.Helper()
	for p := range len(mem) / pageSize {
		want := zeroPage[:]
		if p < len(im.pages) {
			want = im.page(p)
		}
		if !bytes.Equal(mem[p*pageSize:(p+1)*pageSize], want) {
			t.Errorf("%s: page %d differs from the image", what, p)
			return
		}
	}
}

func TestMemoryResets(t *testing.T) {
	const pages = 4 * wasmPage / pageSize * 6
	im := sealedImage(t, pages)
	for _, m := range modes {
		lm := newLinear(t, im, m.plain)
		mem := lm.Reallocate(im.size)
		equalsImage(t, m.name+", new", im, mem)
		for _, c := range []struct {
			name  string
			write func()
		}{
			{"one byte", func() { mem[5*pageSize]++ }},
			{"every page", func() {
				for p := range pages {
					mem[p*pageSize+p] ^= 0xff
				}
			}},
			{"every second page", func() {
				for p := 0; p < pages; p += 2 {
					mem[p*pageSize] ^= 1
				}
			}},
			{"zeros over the image", func() { clear(mem) }},
			{"what was there", func() {
				for p := range pages {
					mem[p*pageSize] = mem[p*pageSize] + 0
				}
			}},
			{"the last byte", func() { mem[len(mem)-1] = 1 }},
			{"reads only", func() {
				sum := 0
				for _, b := range mem {
					sum += int(b)
				}
				runtime.KeepAlive(sum)
			}},
		} {
			c.write()
			want := 0
			for p := range pages {
				if !bytes.Equal(mem[p*pageSize:(p+1)*pageSize], im.page(p)) {
					want++
				}
			}
			dirty := im.dirty(lm, im.size)
			if len(dirty) != want {
				t.Errorf("%s, %s: %d dirty pages, want %d", m.name, c.name, len(dirty), want)
			}
			for _, p := range dirty {
				if bytes.Equal(mem[p*pageSize:(p+1)*pageSize], im.page(p)) {
					t.Errorf("%s, %s: page %d is listed and equal", m.name, c.name, p)
				}
			}
			lm.reset()
			equalsImage(t, m.name+", "+c.name, im, mem)
			if dirty := im.dirty(lm, im.size); len(dirty) != 0 {
				t.Errorf("%s, %s: dirty after the reset: %v", m.name, c.name, dirty)
			}
		}
	}
}

func TestMemoryResetsWithHotPages(t *testing.T) {
	const pages = 4 * wasmPage / pageSize * 2
	for _, hot := range [][]int{{}, {0}, {pages - 1}, {1, 2, 3, 9, 11, 14, 50}, {0, 1, 2, pages - 2, pages - 1}} {
		im := sealedImage(t, pages)
		im.setHot(hot)
		covered := make([]int, pages)
		for _, s := range append(append([]span(nil), im.hot...), im.cold...) {
			for p := s.from; p < s.to; p++ {
				covered[p]++
			}
		}
		for p, n := range covered {
			if n != 1 {
				t.Errorf("hot %v: page %d is in %d ranges", hot, p, n)
			}
		}
		lm := newLinear(t, im, false)
		mem := lm.Reallocate(im.size)
		for range 3 {
			for p := range pages {
				mem[p*pageSize+1] ^= 0x5a
			}
			lm.reset()
			equalsImage(t, "hot", im, mem)
		}
	}
}

func TestMemoryGrowsWithinItsBound(t *testing.T) {
	im := sealedImage(t, 16)
	for _, m := range modes {
		lm := newLinear(t, im, m.plain)
		mem := lm.Reallocate(im.size)
		mem[3] = 77
		for size := im.size; size <= im.size+64*wasmPage; size += wasmPage {
			mem = lm.Reallocate(size)
			if uint64(len(mem)) != size || uint64(cap(mem)) != size || mem[3] != 77 || size > im.size && mem[size-1] != 0 {
				t.Fatalf("%s: %d bytes of %d, capacity %d", m.name, len(mem), size, cap(mem))
			}
			mem[size-1] = 1
		}
		if lm.Reallocate(im.size+65*wasmPage) != nil || lm.Reallocate(1<<40) != nil {
			t.Errorf("%s: the memory grows over its bound", m.name)
		}
		if n := len(lm.base()); uint64(n) < im.size+64*wasmPage {
			t.Errorf("%s: %d bytes at the end", m.name, n)
		}
	}
}

// The kernel is told addresses of Go variables. A goroutine's stack moves when it
// grows, so the test asks at many depths of small, new stacks: what the kernel
// writes must arrive, and nowhere else.
func TestWrittenPagesAreFoundAtEveryStackDepth(t *testing.T) {
	const pages = 512
	im := sealedImage(t, pages)
	cow, ok := newLinear(t, im, false).(*cowMemory)
	if !ok {
		t.Log("this kernel has no copy-on-write memory")
		return
	}
	mem := cow.Reallocate(im.size)
	var want []span // more ranges than one request gives
	for p := 1; p < pages; p += 2 {
		mem[p*pageSize]++
		want = append(want, span{p, p + 1})
	}
	if _, ok := cow.written(im.size); !ok {
		t.Log("this kernel does not tell which pages were written")
		return
	}
	var wg sync.WaitGroup
	var wrong atomic.Int32
	var mu sync.Mutex // a memory belongs to one goroutine at a time
	for depth := range 1000 {
		wg.Go(func() {
			atDepth(depth, func() {
				mu.Lock()
				defer mu.Unlock()
				if spans, ok := cow.written(im.size); !ok || !slices.Equal(spans, want) {
					wrong.Add(1)
				}
			})
		})
	}
	wg.Wait()
	if n := wrong.Load(); n > 0 {
		t.Errorf("at %d of 1000 depths the kernel's answer did not arrive: it was written to where the stack had been", n)
	}
}

//go:noinline
func atDepth(n int, f func()) {
	var pad [8]byte
	if n == 0 {
		f()
		return
	}
	atDepth(n-1, f)
	runtime.KeepAlive(&pad)
}
