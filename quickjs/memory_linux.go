package quickjs

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// memfd holds a template's image as an anonymous file, from which instances map
// their memory privately: the kernel copies a page when it is first written.
type memfd struct{ fd int }

// sealImage makes im ready to be shared by instances. Where the kernel offers
// no memfd, instances fall back to plain copies.
func sealImage(im *image) {
	if os.Getpagesize() != pageSize {
		return
	}
	fd, err := unix.MemfdCreate("cloister-template", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return
	}
	if err := writeSparse(fd, im); err != nil {
		unix.Close(fd)
		return
	}
	seals := unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		unix.Close(fd)
		return
	}
	im.back = &memfd{fd: fd}
}

// writeSparse writes the pages that are not zero; the rest are holes.
func writeSparse(fd int, im *image) error {
	if err := unix.Ftruncate(fd, int64(im.used)*pageSize); err != nil {
		return err
	}
	for p, page := range im.pages[:im.used] {
		if page == nil {
			continue
		}
		if n, err := unix.Pwrite(fd, page, int64(p)*pageSize); err != nil || n != pageSize {
			return fmt.Errorf("writing the template image: %d bytes: %w", n, err)
		}
	}
	return nil
}

func closeImage(im *image) {
	if m, ok := im.back.(*memfd); ok {
		unix.Close(m.fd)
		im.back = nil
	}
}

// newMemory maps an instance's memory. An image without any contents, from which
// templates are built, needs no file. The address space for max bytes is
// reserved once, so that memory never moves when it grows.
func newMemory(im *image, max uint64, plain bool) (linear, error) {
	back, ok := im.back.(*memfd)
	if plain || !ok && im.used > 0 {
		return newCopyMemory(im, max), nil
	}
	buf, err := unix.Mmap(-1, 0, int(max), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("reserving %d bytes of guest memory: %w", max, err)
	}
	// A huge page would cost the zeroing and the residence of 2 MiB at the first
	// write; where the kernel has none, the advice fails and nothing is lost.
	_ = unix.Madvise(buf, unix.MADV_NOHUGEPAGE)
	m := &cowMemory{im: im, buf: buf}
	if n := im.used * pageSize; n > 0 {
		at := unsafe.Pointer(unsafe.SliceData(buf))
		if _, err := unix.MmapPtr(back.fd, 0, at, uintptr(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED); err != nil {
			m.Free()
			return nil, fmt.Errorf("mapping the template image: %w", err)
		}
	}
	return m, nil
}

type cowMemory struct {
	im  *image
	buf []byte // the whole reservation
	// kernel holds the kernel's answers. It is part of an object on the heap because
	// the kernel gets its address as a number, and stacks move.
	kernel struct {
		arg     pmScanArg
		regions [64]pageRegion
	}
	spans [64]span // what scan gives
}

// Reallocate implements experimental.LinearMemory. The memory never moves.
func (m *cowMemory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.buf)) {
		return nil
	}
	return m.buf[:size:size]
}

func (m *cowMemory) Free() {
	if m.buf != nil {
		// The mapping is ours and whole: munmap of it cannot fail.
		_ = unix.Munmap(m.buf)
		m.buf = nil
	}
}

// maxRestored bounds the pages outside of the hot ones that reset copies back.
// With more than that, dropping them costs less.
const maxRestored = 256

// reset copies back every page that was written, as far as the kernel tells
// which; else it copies the hot pages and drops all others. To drop pages means
// to interrupt every core that runs this process, so it is worth avoiding.
func (m *cowMemory) reset() {
	spans, ok := m.written(m.im.size)
	if !ok || pagesIn(spans)-pagesIn(m.im.hot) > maxRestored {
		for _, s := range m.im.cold {
			if err := unix.Madvise(m.buf[s.from*pageSize:s.to*pageSize], unix.MADV_DONTNEED); err != nil {
				m.restore(s)
			}
		}
		spans = m.im.hot
	}
	for _, s := range spans {
		m.restore(s)
	}
}

func (m *cowMemory) restore(s span) {
	for p := s.from; p < s.to; p++ {
		copy(m.buf[p*pageSize:(p+1)*pageSize], m.im.page(p))
	}
}

func (m *cowMemory) base() []byte { return m.buf }

// pagemap is /proc/self/pagemap, opened once; nil where it cannot be read.
var pagemap = sync.OnceValue(func() *os.File {
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return nil
	}
	return f
})

// The PAGEMAP_SCAN request, since Linux 6.7: Documentation/admin-guide/mm/pagemap.rst.
type (
	pmScanArg struct {
		size, flags, start, end, walkEnd, vec, vecLen, maxPages uint64
		inverted, mask, anyOf, returned                         uint64
	}
	pageRegion struct{ start, end, _ uint64 } // the last are its categories
)

const (
	pagemapScan   = 0xc0606610 // _IOWR('f', 16, struct pm_scan_arg)
	pageIsFile    = 1 << 2
	pageIsPresent = 1 << 3
	pageIsSwapped = 1 << 4
	pageIsZero    = 1 << 5
)

// scan implements linear. It asks the kernel which pages are private to this
// mapping: a page that is there and neither of the file nor the shared page of zeros
// has been written. Where the kernel cannot tell, it lists all.
func (m *cowMemory) scan(from, to int) (spans []span, next int, told bool) {
	n, next, ok := m.ask(from, to)
	if !ok {
		m.spans[0] = span{from, to}
		return m.spans[:1], to, false
	}
	start := m.address()
	for i, r := range m.kernel.regions[:n] {
		m.spans[i] = span{int((r.start - start) / pageSize), int((r.end - start) / pageSize)}
	}
	return m.spans[:n], next, true
}

// address is where the memory begins. A mapping does not move.
func (m *cowMemory) address() uint64 {
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(m.buf))))
}

// ask makes one request for the pages [from, to). It gives the number of regions
// that the kernel filled in and the page from which to ask on.
func (m *cowMemory) ask(from, to int) (regions, next int, ok bool) {
	f := pagemap()
	if f == nil {
		return 0, 0, false
	}
	start := m.address() + uint64(from)*pageSize
	end := m.address() + uint64(to)*pageSize
	into := m.kernel.regions[:]
	arg := &m.kernel.arg
	*arg = pmScanArg{
		start: start, end: end, vec: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(into)))), vecLen: uint64(len(into)),
		inverted: pageIsFile | pageIsZero, mask: pageIsFile | pageIsZero, anyOf: pageIsPresent | pageIsSwapped, returned: pageIsPresent,
	}
	arg.size = uint64(unsafe.Sizeof(*arg))
	n, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), pagemapScan, uintptr(unsafe.Pointer(arg)))
	runtime.KeepAlive(m)
	if errno != 0 || arg.walkEnd <= start || arg.walkEnd > end || n > uintptr(len(into)) {
		return 0, 0, false
	}
	for _, r := range into[:n] {
		if r.start < start || r.end > end || r.end <= r.start {
			return 0, 0, false
		}
	}
	return int(n), int((arg.walkEnd - m.address()) / pageSize), true
}

// written lists the pages below size that were written. It says false where the
// kernel cannot tell.
func (m *cowMemory) written(size uint64) ([]span, bool) {
	var out []span
	for at, end := 0, int(size/pageSize); at < end; {
		spans, next, told := m.scan(at, end)
		if !told {
			return nil, false
		}
		out, at = append(out, spans...), next
	}
	return out, true
}
