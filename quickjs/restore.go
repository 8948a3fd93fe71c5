package quickjs

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math/bits"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Restore makes a VM that continues where the snapshot was taken, and gives its
// roots. Snapshots of another engine, template or version are refused. The
// options' MemoryLimit and Random have no effect: both are part of the state.
//
// The pages are decompressed into the VM's memory, without a copy in between. Every
// 32 pages Restore looks at the context, and gives its error and cause once it has
// ended.
//
// The snapshot's bytes are read twice, for the checksum and for the state, and none
// is relied upon to be the same the second time. If they change meanwhile, as those of
// a mapped file may, Restore gives ErrSnapshot or a VM whose guest has another state,
// which is as safe for the host as any other state that a guest may get into.
func (t *Template) Restore(ctx context.Context, snapshot []byte, o *VMOptions) (*VM, []Value, error) {
	h, err := t.readHead(snapshot)
	if err != nil {
		return nil, nil, err
	}
	if err := look(ctx); err != nil {
		return nil, nil, err
	}
	vm, err := t.blank(ctx)
	if err != nil {
		return nil, nil, err
	}
	if o != nil {
		vm.configure(o)
	}
	if err := vm.load(ctx, h); err != nil {
		vm.destroy() // half of its memory may be the snapshot's
		return nil, nil, err
	}
	return vm, h.roots, nil
}

// load gives a blank VM the state of a snapshot.
func (vm *VM) load(ctx context.Context, h *snapshotHead) error {
	if grow := h.pages - vm.memory.Size()/wasmPage; grow > 0 {
		if _, ok := vm.memory.Grow(grow); !ok {
			return ErrOutOfMemory
		}
	}
	l := loaders.Get().(*loader)
	defer l.release()
	if err := l.load(ctx, vm.mem(), h.data, h.raw); err != nil {
		return err
	}
	// Whatever the snapshot says, a cell that was started has no evaluator.
	binary.LittleEndian.PutUint32(vm.mem()[vm.t.evalAt:], 0)
	vm.stackPtr.Set(uint64(h.stack))
	if h.flags&flagOOM != 0 {
		vm.oom.Set(1)
	}
	vm.moduleDenied = h.flags&flagModule != 0
	if h.flags&flagLostReject != 0 {
		vm.lost = 1
	}
	vm.rejections = h.rejections
	for _, r := range h.rejections {
		vm.rejected = max(vm.rejected, r.number)
	}
	return nil
}

// loader is what one restore needs. It is used again.
type loader struct {
	dec  *zstd.Decoder
	src  bytes.Reader
	head [pageHead]byte
}

// Options that are constants cannot be refused.
var loaders = sync.Pool{New: func() any {
	dec, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(snapshotWindow))
	return &loader{dec: dec}
}}

// release puts the loader back without a reference to the snapshot.
func (l *loader) release() {
	_ = l.dec.Reset(nil) // fails after Close only
	l.src.Reset(nil)
	loaders.Put(l)
}

// load writes compressed page data over a fresh image. It reads exactly as many bytes
// as the header says, so what else the data decompresses to is never made.
func (l *loader) load(ctx context.Context, mem, data []byte, left int64) error {
	l.src.Reset(data)
	if l.dec.Reset(&l.src) != nil {
		return errPageData()
	}
	last := -1
	for n := 1; left > 0; n++ {
		if n%lookEvery == 0 {
			if err := look(ctx); err != nil {
				return err
			}
		}
		if left < pageHead {
			return refuse("damaged: a page is cut short")
		}
		if _, err := io.ReadFull(l.dec, l.head[:]); err != nil {
			return errPageData()
		}
		left -= pageHead
		p, bitmap := int64(binary.LittleEndian.Uint32(l.head[:])), binary.LittleEndian.Uint64(l.head[4:])
		size := int64(bits.OnesCount64(bitmap)) * lineSize
		if p <= int64(last) || (p+1)*pageSize > int64(len(mem)) || size > left {
			return refuse("damaged: page %d is out of place", p)
		}
		last = int(p)
		left -= size
		if err := l.lines(mem[last*pageSize:(last+1)*pageSize], bitmap); err != nil {
			return err
		}
	}
	if n, err := l.dec.Read(l.head[:1]); n != 0 || err != io.EOF {
		return errPageData()
	}
	return nil
}

// lines reads the lines of a page that the bitmap names, neighbours at once.
func (l *loader) lines(page []byte, bitmap uint64) error {
	for bitmap != 0 {
		from := bits.TrailingZeros64(bitmap)
		to := from + bits.TrailingZeros64(^(bitmap >> from))
		if _, err := io.ReadFull(l.dec, page[from*lineSize:to*lineSize]); err != nil {
			return errPageData()
		}
		bitmap &^= 1<<to - 1<<from
	}
	return nil
}

func errPageData() error { return refuse("damaged: the page data does not decompress") }
