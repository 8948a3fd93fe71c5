// Package datadir says where this user's data is: what must not be lost when caches
// are cleaned, such as installed plugins and the installed engine.
package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

var errNoLocalAppData = errors.New("LocalAppData is not set")

// Find gives the folder of Cloister's data, whether it is there or not: that of
// CLOISTER_DATA_DIR, else cloister in the system's folder for data, which is
// XDG_DATA_HOME (else ~/.local/share), on macOS ~/Library/Application Support, on
// Windows LocalAppData. It fails where the system names none.
func Find() (string, error) {
	if dir := os.Getenv("CLOISTER_DATA_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	switch runtime.GOOS {
	case "windows":
		if dir := os.Getenv("LocalAppData"); dir != "" {
			return filepath.Join(dir, "cloister"), nil
		}
		return "", errNoLocalAppData
	case "darwin", "ios":
	default:
		// The XDG specification: a path that is not absolute is to be ignored.
		if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
			return filepath.Join(dir, "cloister"), nil
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return filepath.Join(home, "Library", "Application Support", "cloister"), nil
	}
	return filepath.Join(home, ".local", "share", "cloister"), nil
}
