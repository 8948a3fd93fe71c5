//go:build !linux

package mcp

import "os"

// awaitExit cannot be had here: what a server leaves behind when it ends by itself is its
// own affair. Close still ends the group of a server that runs.
func awaitExit(*os.Process) bool { return false }
