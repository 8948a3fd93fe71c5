package quickjs

import "golang.org/x/sys/unix"

// newScratch reserves n bytes of memory that is the system's until it is written. It
// gives nil if there is none.
func newScratch(n int) []byte {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil
	}
	return b
}

// dropScratch gives a part, which starts at a page, back to the system.
func dropScratch(b []byte) {
	// A part that stays only costs memory until freeScratch.
	_ = unix.Madvise(b, unix.MADV_DONTNEED)
}

func freeScratch(b []byte) {
	// The mapping is ours and whole: munmap of it cannot fail.
	_ = unix.Munmap(b)
}
