package quickjs

import (
	"bytes"
	"encoding/binary"
)

const (
	wasmPage = 65536
	// pageSize is the unit of copy-on-write, dirty tracking and snapshots. It is
	// the engine's own and does not depend on the machine's page size.
	pageSize = 4096
)

// image is the memory of a template: what every instance starts from. It is
// immutable once sealed.
type image struct {
	pages [][]byte // by page number; nil is a page of zeros
	used  int      // pages up to the last that is not zero
	size  uint64   // of the linear memory, in bytes, a multiple of wasmPage
	hot   []span   // page ranges that nearly every cell writes
	cold  []span   // the rest, up to size
	back  any      // what the platform needs: on Linux a *memfd
}

// newImage keeps the pages of mem that are not zero.
func newImage(mem []byte) *image {
	im := &image{pages: make([][]byte, len(mem)/pageSize), size: uint64(len(mem))}
	for p := range im.pages {
		page := mem[p*pageSize : (p+1)*pageSize]
		if !isZero(page) {
			im.pages[p] = append([]byte(nil), page...)
			im.used = p + 1
		}
	}
	im.setHot(nil)
	return im
}

// span is a range of pages [from, to).
type span struct{ from, to int }

// linear is the memory of one instance. It implements wazero's
// experimental.LinearMemory and can be put back to the template's image.
type linear interface {
	Reallocate(size uint64) []byte
	Free()
	// reset makes the memory equal to the image. Only memory that never grew
	// beyond the image's size can be reset.
	reset()
	// scan lists ranges of pages in [from, to) that may differ from the image, in
	// order, and gives the page to go on with: to when there are no more. It may
	// list too many, never too few. Where nobody can tell what was written, told is
	// false and all pages are listed. The ranges are valid until the next call.
	scan(from, to int) (spans []span, next int, told bool)
	// base is the memory from its start, as long as it was ever made.
	base() []byte
}

// setHot marks the pages that differ from the image in mem as hot, and joins
// ranges that lie close together: copying two pages costs less than a system call.
func (im *image) setHot(pages []int) {
	im.hot, im.cold = nil, nil
	for _, p := range pages {
		if n := len(im.hot); n > 0 && p-im.hot[n-1].to <= 2 {
			im.hot[n-1].to = p + 1
			continue
		}
		im.hot = append(im.hot, span{p, p + 1})
	}
	at := 0
	for _, s := range im.hot {
		if s.from > at {
			im.cold = append(im.cold, span{at, s.from})
		}
		at = s.to
	}
	if end := int(im.size / pageSize); at < end {
		im.cold = append(im.cold, span{at, end})
	}
}

// page gives page p of the image.
func (im *image) page(p int) []byte {
	if p < im.used && im.pages[p] != nil {
		return im.pages[p]
	}
	return zeroPage[:]
}

var zeroPage [pageSize]byte

// dirty lists the pages of lm below size that differ from the image, in order.
func (im *image) dirty(lm linear, size uint64) []int {
	var out []int
	mem, end := lm.base(), int(size/pageSize)
	for at := 0; at < end; {
		var spans []span
		spans, at, _ = lm.scan(at, end)
		for _, s := range spans {
			for p := s.from; p < s.to; p++ {
				if !bytes.Equal(mem[p*pageSize:(p+1)*pageSize], im.page(p)) {
					out = append(out, p)
				}
			}
		}
	}
	return out
}

// held is how many bytes of the memory below size are lm's own.
func held(lm linear, size uint64) uint64 {
	n, end := 0, int(size/pageSize)
	for at := 0; at < end; {
		spans, next, told := lm.scan(at, end)
		if !told {
			return size
		}
		n, at = n+pagesIn(spans), next
	}
	return uint64(n) * pageSize
}

func pagesIn(spans []span) int {
	n := 0
	for _, s := range spans {
		n += s.to - s.from
	}
	return n
}

func isZero(b []byte) bool {
	for len(b) >= 8 {
		if binary.LittleEndian.Uint64(b) != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// copyMemory is the portable linear memory: a plain copy of the image.
type copyMemory struct {
	im  *image
	buf []byte // length: highest size so far; capacity: the limit's
	max uint64
	all [1]span // what scan gives
}

func newCopyMemory(im *image, max uint64) *copyMemory {
	m := &copyMemory{im: im, buf: make([]byte, im.size, im.size+8*wasmPage), max: max}
	m.fill()
	return m
}

// Reallocate implements experimental.LinearMemory. Beyond the limit it gives
// nil, and memory.grow fails in the guest.
func (m *copyMemory) Reallocate(size uint64) []byte {
	if size > m.max {
		return nil
	}
	if uint64(cap(m.buf)) < size {
		grown := make([]byte, size, min(m.max, size+size/4))
		copy(grown, m.buf)
		m.buf = grown
	}
	if uint64(len(m.buf)) < size {
		m.buf = m.buf[:size]
	}
	return m.buf[:size:size]
}

func (m *copyMemory) Free() { m.buf = nil }

func (m *copyMemory) reset() {
	clear(m.buf)
	m.fill()
}

func (m *copyMemory) fill() {
	for p, page := range m.im.pages[:m.im.used] {
		copy(m.buf[p*pageSize:], page)
	}
}

func (m *copyMemory) base() []byte { return m.buf }

// scan implements linear: nobody keeps a record of what the guest writes.
func (m *copyMemory) scan(from, to int) ([]span, int, bool) {
	m.all[0] = span{from, to}
	return m.all[:], to, false
}
