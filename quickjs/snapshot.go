package quickjs

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
	"sync"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/klauspost/compress/zstd"
)

// A snapshot is a header, the host's side of the state, and the memory as its
// difference from the template: for each page that differs a bitmap of its 64
// lines of 64 bytes and the lines that differ, compressed with zstd. All numbers
// are little-endian.
//
//	 0  "CLSS"
//	 4  u32 format version
//	 8  u32 guestabi.Version
//	12  32 bytes engine digest, 32 bytes template digest
//	76  u32 memory size in pages of 64 KiB
//	80  u32 stack pointer
//	84  u32 flags
//	88  u32 number of roots, u32 number of rejections
//	96  u32 length of the page data before compression
//	100 roots (u64 each), rejections (promise u64, reason u32, number u32 each), compressed page data
//	-4  u32 CRC-32C of all before it
const (
	snapshotMagic   = "CLSS"
	snapshotVersion = 1
	snapshotHeader  = 100
	lineSize        = 64
	maxRoots        = 16
)

const (
	flagOOM = 1 << iota
	flagModule
	flagLostReject
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// snapshotWindow bounds how far back the compressed data may refer, in bytes.
const snapshotWindow = 1 << 17

// The encoder is safe for concurrent use of EncodeAll; decoders are used by one
// goroutine at a time. Options that are constants cannot be refused.
var (
	snapshotEncoder, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(4), zstd.WithEncoderCRC(false), zstd.WithWindowSize(snapshotWindow))
	snapshotDecoders   = sync.Pool{New: func() any {
		d, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(snapshotWindow))
		return d
	}}
)

// decompress reads exactly n bytes. Memory grows with what is read, not with what
// is declared.
func decompress(data []byte, n int) ([]byte, error) {
	d := snapshotDecoders.Get().(*zstd.Decoder)
	defer snapshotDecoders.Put(d)
	if err := d.Reset(bytes.NewReader(data)); err != nil {
		return nil, refuse("damaged: the page data does not decompress")
	}
	var out bytes.Buffer
	out.Grow(min(n+1, 64<<10))
	if _, err := out.ReadFrom(io.LimitReader(d, int64(n)+1)); err != nil || out.Len() != n {
		return nil, refuse("damaged: the page data does not decompress")
	}
	return out.Bytes(), nil
}

// Snapshot saves a VM that has no guest code on the stack: between calls that is
// always so. The roots are values that Restore gives back. The VM stays usable.
func (vm *VM) Snapshot(roots ...Value) ([]byte, error) {
	if vm.dead {
		return nil, ErrClosed
	}
	if len(roots) > maxRoots {
		return nil, fmt.Errorf("quickjs: a snapshot has at most %d roots", maxRoots)
	}
	mem := vm.mem()
	raw := vm.diff(mem)
	out := make([]byte, snapshotHeader, snapshotHeader+len(raw)/2+64)
	copy(out, snapshotMagic)
	le := binary.LittleEndian
	le.PutUint32(out[4:], snapshotVersion)
	le.PutUint32(out[8:], guestabi.Version)
	vm.t.putDigests(out[12:76])
	le.PutUint32(out[76:], uint32(len(mem)/wasmPage))
	le.PutUint32(out[80:], uint32(vm.stackPtr.Get()))
	le.PutUint32(out[84:], vm.flags())
	le.PutUint32(out[88:], uint32(len(roots)))
	le.PutUint32(out[92:], uint32(len(vm.rejections)))
	le.PutUint32(out[96:], uint32(len(raw)))
	for _, r := range roots {
		out = le.AppendUint64(out, uint64(r))
	}
	for promise, r := range vm.rejections {
		out = le.AppendUint64(out, promise)
		out = le.AppendUint32(le.AppendUint32(out, r.reason), r.number)
	}
	out = snapshotEncoder.EncodeAll(raw, out)
	return le.AppendUint32(out, crc32.Checksum(out, castagnoli)), nil
}

func (t *Template) putDigests(b []byte) {
	copy(b[:32], t.e.sum[:])
	copy(b[32:], t.digest[:])
}

func (vm *VM) flags() uint32 {
	var f uint32
	if vm.OutOfMemory() {
		f |= flagOOM
	}
	if vm.moduleDenied {
		f |= flagModule
	}
	if vm.lost > 0 {
		f |= flagLostReject
	}
	return f
}

// diff lists the lines of memory that differ from the template.
func (vm *VM) diff(mem []byte) []byte {
	pages := vm.t.im.dirty(vm.lm, uint64(len(mem)))
	raw := make([]byte, 0, len(pages)*pageSize/2+64)
	for _, p := range pages {
		page, old := mem[p*pageSize:(p+1)*pageSize], vm.t.im.page(p)
		var bitmap uint64
		at := len(raw)
		raw = append(raw, make([]byte, 12)...)
		for l := range pageSize / lineSize {
			a, b := page[l*lineSize:(l+1)*lineSize], old[l*lineSize:(l+1)*lineSize]
			if string(a) != string(b) {
				bitmap |= 1 << l
				raw = append(raw, a...)
			}
		}
		binary.LittleEndian.PutUint32(raw[at:], uint32(p))
		binary.LittleEndian.PutUint64(raw[at+4:], bitmap)
	}
	return raw
}

// snapshotHead is a snapshot's header after its checks.
type snapshotHead struct {
	pages, stack, flags uint32
	roots               []Value
	rejections          map[uint64]rejection
	rawLen              int
	data                []byte
}

func refuse(format string, args ...any) error {
	return &SnapshotError{Reason: fmt.Sprintf(format, args...)}
}

// readHead checks a snapshot against this template before any of it is used.
func (t *Template) readHead(b []byte) (*snapshotHead, error) {
	le := binary.LittleEndian
	if len(b) < snapshotHeader+4 || string(b[:4]) != snapshotMagic {
		return nil, refuse("not a snapshot")
	}
	if v := le.Uint32(b[4:]); v != snapshotVersion {
		return nil, refuse("format version %d, this program reads %d", v, snapshotVersion)
	}
	if crc32.Checksum(b[:len(b)-4], castagnoli) != le.Uint32(b[len(b)-4:]) {
		return nil, refuse("damaged: the checksum differs")
	}
	if v := le.Uint32(b[8:]); v != guestabi.Version {
		return nil, refuse("guest ABI version %d, this program has %d", v, guestabi.Version)
	}
	var want [64]byte
	t.putDigests(want[:])
	if string(b[12:44]) != string(want[:32]) {
		return nil, refuse("taken from another engine")
	}
	if string(b[44:76]) != string(want[32:]) {
		return nil, refuse("taken from another template: the catalog or the prelude has changed")
	}
	h := &snapshotHead{pages: le.Uint32(b[76:]), stack: le.Uint32(b[80:]), flags: le.Uint32(b[84:]), rawLen: int(le.Uint32(b[96:]))}
	nRoots, nRej := le.Uint32(b[88:]), le.Uint32(b[92:])
	rest := b[snapshotHeader : len(b)-4]
	if nRoots > maxRoots || nRej > maxRejections || uint64(nRoots)*8+uint64(nRej)*16 > uint64(len(rest)) {
		return nil, refuse("damaged: %d roots and %d rejections", nRoots, nRej)
	}
	size := uint64(h.pages) * wasmPage
	if size < t.im.size || size > t.maxMem || uint64(h.rawLen) > size+size/pageSize*12 || uint64(h.stack) > size {
		return nil, refuse("damaged: sizes out of range")
	}
	for ; nRoots > 0; nRoots-- {
		h.roots = append(h.roots, Value(le.Uint64(rest)))
		rest = rest[8:]
	}
	if nRej > 0 {
		h.rejections = make(map[uint64]rejection, nRej) // as many as there are bytes for
	}
	for ; nRej > 0; nRej-- {
		h.rejections[le.Uint64(rest)] = rejection{le.Uint32(rest[8:]), le.Uint32(rest[12:])}
		rest = rest[16:]
	}
	h.data = rest
	return h, nil
}

// Restore makes a VM that continues where the snapshot was taken, and gives its
// roots. Snapshots of another engine, template or version are refused. The
// options' MemoryLimit and Random have no effect: both are part of the state.
func (t *Template) Restore(ctx context.Context, snapshot []byte, o *VMOptions) (*VM, []Value, error) {
	h, err := t.readHead(snapshot)
	if err != nil {
		return nil, nil, err
	}
	raw, err := decompress(h.data, h.rawLen)
	if err != nil {
		return nil, nil, err
	}
	vm, err := t.blank(ctx)
	if err != nil {
		return nil, nil, err
	}
	if o != nil {
		vm.configure(o)
	}
	if grow := h.pages - vm.memory.Size()/wasmPage; grow > 0 {
		if _, ok := vm.memory.Grow(grow); !ok {
			vm.destroy()
			return nil, nil, ErrOutOfMemory
		}
	}
	if err := apply(vm.mem(), raw); err != nil {
		vm.destroy()
		return nil, nil, err
	}
	// Whatever the snapshot says, a cell that was started has no evaluator.
	binary.LittleEndian.PutUint32(vm.mem()[t.evalAt:], 0)
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
	return vm, h.roots, nil
}

// apply writes page data over a fresh image.
func apply(mem, raw []byte) error {
	last := -1
	for len(raw) > 0 {
		if len(raw) < 12 {
			return refuse("damaged: a page is cut short")
		}
		p, bitmap := int(binary.LittleEndian.Uint32(raw)), binary.LittleEndian.Uint64(raw[4:])
		raw = raw[12:]
		n := bits.OnesCount64(bitmap) * lineSize
		if p <= last || (p+1)*pageSize > len(mem) || n > len(raw) {
			return refuse("damaged: page %d is out of place", p)
		}
		last = p
		for ; bitmap != 0; bitmap &= bitmap - 1 {
			copy(mem[p*pageSize+bits.TrailingZeros64(bitmap)*lineSize:], raw[:lineSize])
			raw = raw[lineSize:]
		}
	}
	return nil
}
