//go:build unix

package store

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// foreign says why a directory is not ours alone, or "".
func foreign(info fs.FileInfo) string {
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		return fmt.Sprintf("is open to others (mode %04o)", perm)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return "belongs to another user"
	}
	return ""
}
