package quickjs

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// SnapshotOptions bounds a snapshot. Nil is the zero value.
type SnapshotOptions struct {
	// Max is how many bytes the stored snapshot may have. 0 means that there is no
	// bound.
	Max int
}

// Snapshot saves a VM that has no guest code on the stack: between calls that is
// always so. The roots are values that Restore gives back.
//
// Only pages that were written are read, and they are compressed as they are read, in
// blocks of 128 KiB. Between blocks Snapshot looks at the context, and gives its error
// and cause once it has ended. As soon as more than o.Max bytes would have to be
// stored, it gives ErrSnapshotTooLarge. After either error, as after success, the VM
// is as it was and can be used and saved.
//
// Besides the bytes of the result, a call allocates at most 4 MiB, whatever the state
// is. On Linux what was compressed waits outside of Go's heap until the result can be
// allocated, and that memory goes back to the system while the result is written; on
// other systems it waits on the heap, which takes a few times the result's bytes. Max
// bounds either. How many calls run side by side is for the caller to bound.
func (vm *VM) Snapshot(ctx context.Context, o *SnapshotOptions, roots ...Value) ([]byte, error) {
	if vm.dead {
		return nil, ErrClosed
	}
	if len(roots) > maxRoots {
		return nil, fmt.Errorf("quickjs: a snapshot has at most %d roots", maxRoots)
	}
	if err := look(ctx); err != nil {
		return nil, err
	}
	most := 0
	if o != nil {
		most = o.Max
	}
	s := savers.Get().(*saver)
	defer s.release()
	return s.save(ctx, vm, most, roots)
}

// saver is what one save needs, about a MiB. It is used again.
type saver struct {
	enc *zstd.Encoder
	src pageSource
	out collector
}

// Options that are constants cannot be refused.
var savers = sync.Pool{New: func() any {
	enc, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false), zstd.WithWindowSize(snapshotWindow))
	return &saver{enc: enc}
}}

// release puts the saver back without a reference to the VM.
func (s *saver) release() {
	s.src = pageSource{}
	s.out.release()
	savers.Put(s)
}

func (s *saver) save(ctx context.Context, vm *VM, most int, roots []Value) ([]byte, error) {
	mem := vm.mem()
	head := vm.headLength(roots)
	// This is the one thing known to be too large before any page is looked at: a
	// page that was written may equal the image after all, and a block of 32 pages
	// may shrink to four bytes.
	if most != 0 && head+snapshotSum > most {
		return nil, &SnapshotTooLargeError{Max: most}
	}
	s.out.start(most, head+len(mem)/pageSize*(pageSize+pageHead), head)
	s.out.buf = vm.appendHead(s.out.buf, roots)
	s.src.start(ctx, vm, mem)
	s.enc.Reset(&s.out)
	if _, err := s.enc.ReadFrom(&s.src); err != nil {
		return nil, err
	}
	if err := s.enc.Close(); err != nil {
		return nil, err
	}
	setRawLength(s.out.buf, s.src.raw)
	return s.out.finish(ctx)
}

// pageSource reads as page data: memory as its difference from the image, made as it
// is asked for.
type pageSource struct {
	ctx       context.Context
	lm        linear
	im        *image
	mem       []byte
	spans     []span // to be read; next and end are what to ask for then
	next, end int
	seen      int   // pages looked at
	raw       int64 // bytes of page data so far
	rest      []byte
	page      [pageHead + pageSize]byte // rest is a part of it
}

func (r *pageSource) start(ctx context.Context, vm *VM, mem []byte) {
	r.ctx, r.lm, r.im, r.mem, r.end = ctx, vm.lm, vm.t.im, mem, len(mem)/pageSize
}

// Read implements io.Reader.
func (r *pageSource) Read(p []byte) (int, error) {
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	for n < len(p) {
		number, ok := r.candidate()
		if !ok {
			return n, io.EOF
		}
		if r.seen++; r.seen%lookEvery == 0 {
			if err := look(r.ctx); err != nil {
				return n, err
			}
		}
		var size int
		if room := p[n:]; len(room) >= len(r.page) {
			size = r.diff(room, number)
			n += size
		} else {
			size = r.diff(r.page[:], number)
			k := copy(room, r.page[:size])
			n, r.rest = n+k, r.page[k:size]
		}
		if r.raw += int64(size); r.raw > math.MaxUint32 {
			return n, fmt.Errorf("%w: the format holds 4 GiB of page data", ErrSnapshotTooLarge)
		}
	}
	return n, nil
}

// candidate gives the next page that may differ from the image.
func (r *pageSource) candidate() (int, bool) {
	for len(r.spans) == 0 {
		if r.next >= r.end {
			return 0, false
		}
		r.spans, r.next, _ = r.lm.scan(r.next, r.end)
	}
	s := &r.spans[0]
	number := s.from
	if s.from++; s.from == s.to {
		r.spans = r.spans[1:]
	}
	return number, true
}

// diff writes the difference of a page from the image and gives its length: 0 if
// there is none, else a number, a bitmap and the lines that differ. There is room
// for a whole page.
func (r *pageSource) diff(to []byte, number int) int {
	page, old := r.mem[number*pageSize:(number+1)*pageSize], r.im.page(number)
	if bytes.Equal(page, old) {
		return 0
	}
	n := pageHead
	var bitmap uint64
	for l := range pageSize / lineSize {
		a, b := page[l*lineSize:(l+1)*lineSize], old[l*lineSize:(l+1)*lineSize]
		if string(a) != string(b) {
			bitmap |= 1 << l
			n += copy(to[n:], a)
		}
	}
	binary.LittleEndian.PutUint32(to, uint32(number))
	binary.LittleEndian.PutUint64(to[4:], bitmap)
	return n
}
