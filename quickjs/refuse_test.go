package quickjs

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// refuses holds that a snapshot is refused with a *SnapshotError that says why,
// and that nothing of it stays behind.
func refuses(t *testing.T, what string, tmpl *Template, snap []byte, reason string) {
	t.Helper()
	vm, _, err := tmpl.Restore(context.Background(), snap, nil)
	var se *SnapshotError
	switch {
	case err == nil:
		vm.Close()
		t.Errorf("%s is accepted", what)
	case !errors.Is(err, ErrSnapshot) || !errors.As(err, &se) || !strings.Contains(se.Reason, reason):
		t.Errorf("%s: %v, want %v: …%s…", what, err, ErrSnapshot, reason)
	}
}

// sum gives a snapshot whose checksum is right again.
func sum(snap []byte) []byte {
	n := len(snap) - 4
	binary.LittleEndian.PutUint32(snap[n:], crc32.Checksum(snap[:n], castagnoli))
	return snap
}

// patched gives a copy of a snapshot with bytes put in at an offset, and a checksum
// that is right.
func patched(snap []byte, at int, b ...byte) []byte {
	out := bytes.Clone(snap)
	copy(out[at:], b)
	return sum(out)
}

func patched32(snap []byte, at int, v uint32) []byte {
	return patched(snap, at, binary.LittleEndian.AppendUint32(nil, v)...)
}

func TestRestoreRefusesOtherOrigins(t *testing.T) {
	e := testEngine(t, false)
	tmpl := testTemplate(t)
	snap := suspend(t, tmpl, "await ask(1)")
	refuses(t, "nothing", tmpl, nil, "not a snapshot")
	refuses(t, "text", tmpl, bytes.Repeat([]byte("text"), 100), "not a snapshot")
	refuses(t, "a snapshot of another prelude", newTemplate(t, e, TemplateOptions{Prelude: testPrelude + "\n", Entries: entryCount}), snap, "another template")
	refuses(t, "a snapshot of another setup", newTemplate(t, e, TemplateOptions{Prelude: testPrelude, Entries: entryCount, Setup: []byte("1")}), snap, "another template")
	refuses(t, "another magic", tmpl, patched(snap, 0, 'c'), "not a snapshot")
	refuses(t, "a newer format", tmpl, patched32(snap, 4, snapshotVersion+1), "format version 2")
	refuses(t, "format 0", tmpl, patched32(snap, 4, 0), "format version 0")
	refuses(t, "another ABI", tmpl, patched32(snap, 8, 9999), "guest ABI version 9999")
	refuses(t, "another engine", tmpl, patched(snap, 12, snap[12]^1), "another engine")
	refuses(t, "another engine at its end", tmpl, patched(snap, 43, snap[43]^1), "another engine")
	refuses(t, "another template", tmpl, patched(snap, 44, snap[44]^1), "another template")
	refuses(t, "another template at its end", tmpl, patched(snap, 75, snap[75]^1), "another template")
}

// Every prefix, every changed byte and every addition is noticed.
func TestRestoreRefusesDamage(t *testing.T) {
	tmpl := testTemplate(t)
	snap := suspend(t, tmpl, "const s = 'state'; await ask(s)")
	step := 1
	if testing.Short() {
		step = 7
	}
	for n := 0; n < len(snap); n += step {
		refuses(t, "a prefix", tmpl, snap[:n], "")
	}
	for i := 0; i < len(snap); i += step {
		for _, flip := range []byte{1, 0x80, 0xff} {
			bad := bytes.Clone(snap)
			bad[i] ^= flip
			refuses(t, "a changed byte", tmpl, bad, "")
		}
	}
	refuses(t, "a byte more", tmpl, append(bytes.Clone(snap), 0), "checksum")
	refuses(t, "twice", tmpl, append(bytes.Clone(snap), snap...), "checksum")
	if n := idle(tmpl); n > 1 {
		t.Errorf("%d VMs in the pool", n)
	}
	if got, err := resume(tmpl, snap, "x"); got != "undefined" || err != nil {
		t.Errorf("the snapshot itself: %q, %v", got, err)
	}
}

// craftEncoder compresses page data that the tests make.
var craftEncoder, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(snapshotWindow))

// craft makes a snapshot by hand. Zero fields are those of a template's own.
type craft struct {
	pages, stack, flags   uint32
	roots                 []uint64
	rejections            [][2]uint64 // promise, and reason with number in its upper half
	nRoots, nRej, rawSize int         // if not 0, what the header says instead
	raw                   []byte      // page data before compression
	data                  []byte      // page data as it is stored, instead of raw
}

func (c craft) bytes(tmpl *Template) []byte {
	le := binary.LittleEndian
	out := make([]byte, snapshotHeader)
	copy(out, snapshotMagic)
	le.PutUint32(out[4:], snapshotVersion)
	le.PutUint32(out[8:], guestVersion)
	copy(out[12:], tmpl.e.sum[:])
	copy(out[44:], tmpl.digest[:])
	pages, stack := uint32(tmpl.im.size/wasmPage), uint32(tmpl.stackTop)
	if c.pages != 0 {
		pages = c.pages
	}
	if c.stack != 0 {
		stack = c.stack
	}
	le.PutUint32(out[76:], pages)
	le.PutUint32(out[80:], stack)
	le.PutUint32(out[84:], c.flags)
	count := func(declared, real int) uint32 {
		if declared != 0 {
			return uint32(declared)
		}
		return uint32(real)
	}
	le.PutUint32(out[88:], count(c.nRoots, len(c.roots)))
	le.PutUint32(out[92:], count(c.nRej, len(c.rejections)))
	le.PutUint32(out[96:], count(c.rawSize, len(c.raw)))
	for _, r := range c.roots {
		out = le.AppendUint64(out, r)
	}
	for _, r := range c.rejections {
		out = le.AppendUint64(le.AppendUint64(out, r[0]), r[1])
	}
	if c.data != nil {
		out = append(out, c.data...)
	} else {
		out = craftEncoder.EncodeAll(c.raw, out)
	}
	return sum(append(out, 0, 0, 0, 0))
}

// page is page data: a number, a bitmap of lines, and the lines.
func page(number uint32, bitmap uint64, lines []byte) []byte {
	out := binary.LittleEndian.AppendUint32(nil, number)
	return append(binary.LittleEndian.AppendUint64(out, bitmap), lines...)
}

func TestRestoreRefusesCraftedSnapshots(t *testing.T) {
	tmpl := testTemplate(t)
	line := make([]byte, lineSize)
	last := uint32(tmpl.im.size/pageSize) - 1
	if vm, _, err := tmpl.Restore(context.Background(), craft{raw: page(3, 1, line)}.bytes(tmpl), nil); err != nil {
		t.Fatalf("a crafted snapshot without a fault: %v", err)
	} else {
		vm.Close()
	}
	for _, c := range []struct {
		name string
		c    craft
	}{
		{"a memory of no page", craft{pages: 1 << 31}},
		{"a memory smaller than the template's", craft{pages: uint32(tmpl.im.size/wasmPage) - 1}},
		{"a memory larger than the limit", craft{pages: uint32(tmpl.maxMem/wasmPage) + 1}},
		{"a memory of 4 GiB", craft{pages: 65536}},
		{"the most pages", craft{pages: math.MaxUint32}},
		{"a stack pointer outside of the memory", craft{stack: uint32(tmpl.im.size) + 1}},
		{"the highest stack pointer", craft{stack: math.MaxUint32}},
		{"17 roots", craft{roots: make([]uint64, 17)}},
		{"more roots than bytes", craft{nRoots: 16}},
		{"the most roots", craft{nRoots: math.MaxUint32}},
		{"more rejections than bytes", craft{nRej: 100}},
		{"the most rejections", craft{nRej: math.MaxUint32}},
		{"roots that overlap the rejections", craft{nRoots: 16, nRej: 8, roots: make([]uint64, 10)}},
		{"a length that is too small", craft{raw: page(3, 1, line), rawSize: 12}},
		{"a length that is too large", craft{raw: page(3, 1, line), rawSize: 77}},
		{"a length of 4 GiB", craft{raw: page(3, 1, line), rawSize: math.MaxUint32}},
		{"no data", craft{raw: page(3, 1, line), data: []byte{}}},
		{"data that is not compressed", craft{raw: page(3, 1, line), data: page(3, 1, line)}},
		{"data with something behind it", craft{raw: page(3, 1, line), data: append(craftEncoder.EncodeAll(page(3, 1, line), nil), 1)}},
		{"half a page's head", craft{raw: page(3, 0, nil)[:11]}},
		{"a page without its lines", craft{raw: page(3, 3, line)}},
		{"a page with every line and one of them", craft{raw: page(3, math.MaxUint64, line)}},
		{"a page behind the last", craft{raw: page(last+1, 1, line)}},
		{"the highest page", craft{raw: page(math.MaxUint32, 1, line)}},
		{"a page whose end wraps around", craft{raw: page(1<<20-1, 1, line)}},
		{"a page twice", craft{raw: append(page(3, 1, line), page(3, 1, line)...)}},
		{"pages out of order", craft{raw: append(page(4, 1, line), page(3, 1, line)...)}},
		{"a byte behind the last page", craft{raw: append(page(4, 1, line), 0)}},
	} {
		refuses(t, c.name, tmpl, c.c.bytes(tmpl), "damaged")
	}
	if got := mustRun(t, tmpl, "return 6 * 7"); got != "42" {
		t.Errorf("the next cell gives %q", got)
	}
}

// bomb is a zstd frame (RFC 8878) of n bytes of zeros in blocks of one byte each.
// The declared content size is put into the frame's head as it is.
func bomb(n int, declared uint64, window byte) []byte {
	out := []byte{0x28, 0xb5, 0x2f, 0xfd}
	if window != 0 {
		out = append(out, 0xc0, window) // content size of eight bytes, window byte
	} else {
		out = append(out, 0xe0) // content size of eight bytes, one segment
	}
	out = binary.LittleEndian.AppendUint64(out, declared)
	const most = 128 << 10
	for ; n > 0; n -= most {
		size := min(n, most)
		head := uint32(size)<<3 | 1<<1 // a run
		if n <= most {
			head |= 1
		}
		out = append(out, byte(head), byte(head>>8), byte(head>>16), 0)
	}
	return out
}

// A few kilobytes must not make the host allocate gigabytes, whatever they declare
// and whatever they decompress to.
func TestRestoreBoundsWhatItAllocates(t *testing.T) {
	tmpl := testTemplate(t)
	limit := tmpl.maxMem*2 + 64<<20
	for _, c := range []struct {
		name string
		c    craft
	}{
		{"1 GiB that says so", craft{data: bomb(1<<30, 1<<30, 0x38), rawSize: 100}},
		{"1 GiB that says so, in one segment", craft{data: bomb(1<<30, 1<<30, 0), rawSize: 100}},
		{"1 GiB that says 1 KiB", craft{data: bomb(1<<30, 1<<10, 0x38), rawSize: 1 << 10}},
		{"1 KiB that says 1 GiB", craft{data: bomb(1<<10, 1<<30, 0x38), rawSize: 1 << 10}},
		{"1 KiB that says 500 MiB, in one segment", craft{data: bomb(1<<10, 500<<20, 0), rawSize: 1 << 10}},
		{"1 KiB that says almost 2 GiB", craft{data: bomb(1<<10, 2<<30-1, 0x38), rawSize: 1 << 10}},
		{"1 KiB that says 16 EiB", craft{data: bomb(1<<10, math.MaxUint64, 0x38), rawSize: 1 << 10}},
		{"a window of 1 GiB", craft{data: bomb(1<<10, 1<<10, 0xa0), rawSize: 1 << 10}},
		{"the largest window", craft{data: bomb(1<<10, 1<<10, 0xff), rawSize: 1 << 10}},
		{"as much as fits, in a header of another size", craft{data: bomb(90<<20, 90<<20, 0x38), rawSize: 50}},
		{"frames behind one another", craft{data: bytes.Repeat(bomb(16<<20, 16<<20, 0x38), 30), rawSize: 100}},
		{"empty frames", craft{data: bytes.Repeat([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0}, 10_000), rawSize: 100}},
		{"skippable frames", craft{data: bytes.Repeat([]byte{0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0}, 10_000), rawSize: 100}},
	} {
		snap := c.c.bytes(tmpl)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		refuses(t, c.name, tmpl, snap, "damaged")
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > limit {
			t.Errorf("%s: %d bytes made the host allocate %d MiB, the bound is %d", c.name, len(snap), n>>20, limit>>20)
		}
	}
}

// What a crafted snapshot holds is guest memory, so it may make the guest do
// anything within itself: what the host does with it must be an error at worst.
func TestCraftedStateStaysInTheGuest(t *testing.T) {
	ctx := context.Background()
	tmpl := testTemplate(t)
	junk := bytes.Repeat([]byte{0xff, 0xfe, 0x7f, 0x80, 1, 0, 0, 0}, pageSize/8)
	var all []byte
	for p := range int(tmpl.im.size / pageSize) {
		all = append(all, page(uint32(p), math.MaxUint64, junk)...)
	}
	for _, c := range []struct {
		name string
		c    craft
	}{
		{"a stack pointer of 1", craft{stack: 1}},
		{"a stack pointer at the end", craft{stack: uint32(tmpl.im.size)}},
		{"roots that point nowhere", craft{roots: []uint64{0xfffffffffffffff0, 7<<32 | 4, 0xffffffff00000000, 1 << 63}}},
		{"rejections that point nowhere", craft{roots: []uint64{3 << 32}, rejections: [][2]uint64{{5, 0x1fffffffc}, {6, 0x2fffffff8}, {7, 0}}}},
		{"a memory of junk", craft{raw: all, roots: []uint64{3 << 32}}},
		{"a memory of zeros", craft{raw: zeroPages(tmpl), roots: []uint64{3 << 32}}},
	} {
		vm, roots, err := tmpl.Restore(ctx, c.c.bytes(tmpl), nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		exercise(vm, roots)
		vm.Close()
		if got := mustRun(t, tmpl, "return 6 * 7"); got != "42" {
			t.Errorf("%s: the next cell gives %q", c.name, got)
		}
		next, err := tmpl.blank(ctx)
		if err != nil {
			t.Fatal(err)
		}
		checkImage(t, next)
		next.Close()
	}
}

func zeroPages(tmpl *Template) []byte {
	var all []byte
	for p := range int(tmpl.im.size / pageSize) {
		all = append(all, page(uint32(p), math.MaxUint64, zeroPage[:])...)
	}
	return all
}

// exercise uses a VM of unknown state as the host would. Errors are expected,
// panics and endless work are not.
func exercise(vm *VM, roots []Value) {
	ctx := context.Background()
	t := vm.Template()
	vm.SetDeadline(time.Now().Add(50 * time.Millisecond))
	main := t.Undefined()
	if len(roots) > 0 {
		main = roots[0]
	}
	// None of these errors matters: the VM was made of junk.
	_, _, _ = vm.Turn(ctx, t.Entry(entrySettle), []Settlement{{Flag: 1, Value: codecString("x")}}, t.Entry(entryDrain), main, 1<<16)
	_, _ = vm.Result(ctx, main)
	_, _ = vm.ReadString(ctx, main, 1<<16)
	reason, _ := vm.Unhandled()
	_, _ = vm.Call(ctx, t.Entry(entryShow), t.Undefined(), reason)
	_, _ = vm.Compile(ctx, "1 + 1")
	_, _ = vm.Snapshot(ctx, nil, roots...)
	for _, r := range roots {
		_ = vm.Free(ctx, r)
	}
	_ = vm.OutOfMemory() && vm.ModuleDenied() && vm.Interrupted()
}
