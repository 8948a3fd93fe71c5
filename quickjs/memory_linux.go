package quickjs

import (
	"encoding/binary"
	"fmt"
	"os"
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

// reset copies the hot pages back and drops the private copies of the others.
func (m *cowMemory) reset() {
	for _, s := range m.im.cold {
		if err := unix.Madvise(m.buf[s.from*pageSize:s.to*pageSize], unix.MADV_DONTNEED); err != nil {
			for p := s.from; p < s.to; p++ {
				copy(m.buf[p*pageSize:(p+1)*pageSize], m.im.page(p))
			}
		}
	}
	for _, s := range m.im.hot {
		for p := s.from; p < s.to; p++ {
			copy(m.buf[p*pageSize:(p+1)*pageSize], m.im.page(p))
		}
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

// dirty asks the kernel which pages are private to this mapping: a page that is
// present or swapped and no file page (bit 61 of its entry) was written. See
// Documentation/admin-guide/mm/pagemap.rst. Without it, all pages are compared.
func (m *cowMemory) dirty(size uint64) []int {
	n := int(size / pageSize)
	f := pagemap()
	if f == nil {
		return m.im.differing(m.buf, allPages(size))
	}
	entries := make([]byte, n*8)
	first := uintptr(unsafe.Pointer(unsafe.SliceData(m.buf))) / pageSize
	if got, err := f.ReadAt(entries, int64(first)*8); err != nil || got != len(entries) {
		return m.im.differing(m.buf, allPages(size))
	}
	const present, swapped, file = 1 << 63, 1 << 62, 1 << 61
	var out []int
	for p := range n {
		e := binary.LittleEndian.Uint64(entries[p*8:])
		if e&(present|swapped) != 0 && e&file == 0 {
			out = append(out, p)
		}
	}
	return m.im.differing(m.buf, out)
}
