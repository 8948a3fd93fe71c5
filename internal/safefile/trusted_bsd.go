//go:build darwin || freebsd || netbsd || openbsd

package safefile

import "golang.org/x/sys/unix"

// lookOnly opens a folder, which has to be readable here.
const lookOnly = unix.O_RDONLY
