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
	// scan holds the kernel's answers. It is part of an object on the heap because
	// the kernel gets its address as a number, and stacks move.
	scan struct {
		arg     pmScanArg
		regions [64]pageRegion
	}
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

func pagesIn(spans []span) int {
	n := 0
	for _, s := range spans {
		n += s.to - s.from
	}
	return n
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

// written asks the kernel which pages below size are private to this mapping: a
// page that is there and neither of the file nor the shared page of zeros has been
// written. It says false where the kernel cannot tell.
func (m *cowMemory) written(size uint64) ([]span, bool) {
	f := pagemap()
	if f == nil {
		return nil, false
	}
	start := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(m.buf))))
	regions := m.scan.regions[:]
	arg := &m.scan.arg
	*arg = pmScanArg{
		start: start, end: start + size, vec: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(regions)))), vecLen: uint64(len(regions)),
		inverted: pageIsFile | pageIsZero, mask: pageIsFile | pageIsZero, anyOf: pageIsPresent | pageIsSwapped, returned: pageIsPresent,
	}
	arg.size = uint64(unsafe.Sizeof(*arg))
	var spans []span
	for arg.start < start+size {
		n, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), pagemapScan, uintptr(unsafe.Pointer(arg)))
		runtime.KeepAlive(m)
		if errno != 0 || arg.walkEnd <= arg.start || n > uintptr(len(regions)) {
			return nil, false
		}
		for _, r := range regions[:n] {
			if r.start < start || r.end > start+size || r.end <= r.start {
				return nil, false
			}
			spans = append(spans, span{int((r.start - start) / pageSize), int((r.end - start) / pageSize)})
		}
		arg.start = arg.walkEnd
	}
	return spans, true
}

// dirty implements linear. Where the kernel cannot tell what was written, all
// pages are compared.
func (m *cowMemory) dirty(size uint64) []int {
	spans, ok := m.written(size)
	if !ok {
		return m.im.differing(m.buf, allPages(size))
	}
	var out []int
	for _, s := range spans {
		for p := s.from; p < s.to; p++ {
			out = append(out, p)
		}
	}
	return m.im.differing(m.buf, out)
}
