package safefile

import "golang.org/x/sys/unix"

// lookOnly opens a folder that may be searched and not listed as well.
const lookOnly = unix.O_PATH
