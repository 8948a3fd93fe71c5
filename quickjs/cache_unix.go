//go:build unix

package quickjs

import (
	"fmt"
	"os"
	"syscall"
)

// checkPrivate refuses a folder that others own or may enter.
func checkPrivate(path string) error {
	fi, err := os.Lstat(path)
	if err != nil {
		return err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !fi.IsDir() || !ok || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("compilation cache %s: not a folder of this user; remove it or name another", path)
	}
	if fi.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("compilation cache %s: open to other users (mode %04o); run: chmod 700 %s", path, fi.Mode().Perm(), path)
	}
	return nil
}
