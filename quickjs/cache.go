package quickjs

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"

	"github.com/cloister-wasm/cloister/internal/wazeroinit"
)

// openCache opens the compilation cache. What lies there is machine code that
// will run, so the folder must belong to this user and be closed to others;
// anything else is refused rather than used. Where no user cache folder exists
// (no HOME), code is compiled in memory.
func openCache(dir string) (wazero.CompilationCache, error) {
	path, err := cachePath(dir)
	if err != nil || path == "" {
		return nil, err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("creating the compilation cache: %w", err)
	}
	if err := checkPrivate(path); err != nil {
		return nil, err
	}
	wazeroinit.Once()
	c, err := wazero.NewCompilationCacheWithDir(path)
	if err != nil {
		return nil, fmt.Errorf("opening the compilation cache: %w", err)
	}
	return c, nil
}

// resetCache empties a cache whose entries turned out to be damaged.
func resetCache(dir string) (wazero.CompilationCache, error) {
	path, err := cachePath(dir)
	if err != nil || path == "" {
		return nil, err
	}
	if err := checkPrivate(path); err != nil {
		return nil, err
	}
	entries, err := filepath.Glob(filepath.Join(path, "wazero-*"))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if err := os.RemoveAll(e); err != nil {
			return nil, fmt.Errorf("dropping a damaged compilation cache: %w", err)
		}
	}
	return openCache(dir)
}

func cachePath(dir string) (string, error) {
	switch dir {
	case "off":
		return "", nil
	case "":
		base, err := os.UserCacheDir()
		if err != nil {
			return "", nil
		}
		return filepath.Join(base, "cloister", "compiled"), nil
	}
	return filepath.Abs(dir)
}
