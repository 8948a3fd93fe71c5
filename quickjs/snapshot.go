package quickjs

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/cloister-wasm/cloister/guestabi"
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
	snapshotSum     = 4  // the checksum at the end
	pageHead        = 12 // before a page's lines: u32 page number, u64 bitmap
	lineSize        = 64
	maxRoots        = 16
)

const (
	flagOOM = 1 << iota
	flagModule
	flagLostReject
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// snapshotWindow bounds how far back the compressed data may refer, in bytes. It is
// also the size of the blocks in which page data is compressed.
const snapshotWindow = 1 << 17

// lookEvery is how many pages are saved or restored between two looks at the
// context: one block of page data.
const lookEvery = snapshotWindow / pageSize

// look gives the error of a context that has ended.
func look(ctx context.Context) error {
	if ctx.Err() != nil {
		return contextError(ctx)
	}
	return nil
}

// appendHead appends all that comes before the page data. The length of the page
// data is put in later, by setRawLength.
func (vm *VM) appendHead(out []byte, roots []Value) []byte {
	le := binary.LittleEndian
	out = append(out, snapshotMagic...)
	out = le.AppendUint32(out, snapshotVersion)
	out = le.AppendUint32(out, guestabi.Version)
	out = append(append(out, vm.t.e.sum[:]...), vm.t.digest[:]...)
	out = le.AppendUint32(out, vm.memory.Size()/wasmPage)
	out = le.AppendUint32(out, uint32(vm.stackPtr.Get()))
	out = le.AppendUint32(out, vm.flags())
	out = le.AppendUint32(out, uint32(len(roots)))
	out = le.AppendUint32(out, uint32(len(vm.rejections)))
	out = le.AppendUint32(out, 0)
	for _, r := range roots {
		out = le.AppendUint64(out, uint64(r))
	}
	for promise, r := range vm.rejections {
		out = le.AppendUint64(out, promise)
		out = le.AppendUint32(le.AppendUint32(out, r.reason), r.number)
	}
	return out
}

// headLength is the length of what appendHead appends.
func (vm *VM) headLength(roots []Value) int {
	return snapshotHeader + len(roots)*8 + len(vm.rejections)*16
}

func setRawLength(snapshot []byte, n int64) {
	binary.LittleEndian.PutUint32(snapshot[96:], uint32(n))
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

// snapshotHead is a snapshot's header after its checks.
type snapshotHead struct {
	pages, stack, flags uint32
	roots               []Value
	rejections          map[uint64]rejection
	raw                 int64 // bytes of page data before compression
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
	if string(b[12:44]) != string(t.e.sum[:]) {
		return nil, refuse("taken from another engine")
	}
	if string(b[44:76]) != string(t.digest[:]) {
		return nil, refuse("taken from another template: the catalog or the prelude has changed")
	}
	h := &snapshotHead{pages: le.Uint32(b[76:]), stack: le.Uint32(b[80:]), flags: le.Uint32(b[84:]), raw: int64(le.Uint32(b[96:]))}
	nRoots, nRej := le.Uint32(b[88:]), le.Uint32(b[92:])
	rest := b[snapshotHeader : len(b)-4]
	if nRoots > maxRoots || nRej > maxRejections || uint64(nRoots)*8+uint64(nRej)*16 > uint64(len(rest)) {
		return nil, refuse("damaged: %d roots and %d rejections", nRoots, nRej)
	}
	size := uint64(h.pages) * wasmPage
	if size < t.im.size || size > t.maxMem || uint64(h.raw) > size+size/pageSize*pageHead || uint64(h.stack) > size {
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
