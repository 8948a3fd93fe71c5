//go:build !unix

package store

import "io/fs"

// foreign cannot tell owners here: a user's profile directories are private by default.
func foreign(fs.FileInfo) string { return "" }
