package extism

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	ext "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"

	"github.com/cloister-wasm/cloister/internal/wazeroinit"
)

// The cache directory holds one directory per module, named by the hash of its rewritten bytes, and in it what wazero
// writes and a list of checksums. An entry is made elsewhere and renamed into place, so that processes that share the
// directory see whole entries or none.
const (
	entryPrefix = "extism-"
	sumsName    = "SUMS"
	maxSums     = 64 << 10
	maxEntry    = 64 // files
)

// compileCached fills m from the cache directory, or compiles and fills the directory. A directory that cannot be
// trusted is an error; one that cannot be written costs time only.
func (m *Module) compileCached(ctx context.Context, wasm []byte) error {
	dir, err := openCacheDir(m.config.CacheDir)
	if err != nil {
		return err
	}
	hash := sha256.Sum256(wasm)
	entry := filepath.Join(dir, entryPrefix+hex.EncodeToString(hash[:]))
	if sums, err := readSums(entry); err == nil && sumsMatch(entry, sums) {
		if m.compiled, m.cache, err = m.compileIn(ctx, wasm, entry); err == nil {
			m.fromCache = true
			return refreshSums(entry, sums)
		}
	}
	dropEntry(dir, entry)
	fresh, err := os.MkdirTemp(dir, "new-*")
	if err == nil {
		if m.compiled, m.cache, err = m.compileIn(ctx, wasm, fresh); err == nil {
			publish(fresh, entry)
			return nil
		}
		removeAll(fresh)
	}
	m.compiled, err = m.compileSDK(ctx, wasm, nil)
	return err
}

func (m *Module) compileIn(ctx context.Context, wasm []byte, dir string) (*ext.CompiledPlugin, wazero.CompilationCache, error) {
	wazeroinit.Once()
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, nil, err
	}
	c, err := m.compileSDK(ctx, wasm, cache)
	if err != nil {
		_ = cache.Close(ctx) // the compile error is the one to report
		return nil, nil, err
	}
	return c, cache, nil
}

// openCacheDir makes the directory if need be and makes sure that only we can write to it: what lies in it will run.
func openCacheDir(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrCacheDir, err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", fmt.Errorf("%w: %w", ErrCacheDir, err)
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: %w", ErrCacheDir, err)
	case !info.IsDir():
		return "", fmt.Errorf("%w: %s is not a directory, or a symbolic link to one", ErrCacheDir, path)
	}
	if why := foreign(info); why != "" {
		return "", fmt.Errorf("%w: %s %s; make it yours alone (chmod 700), or name another", ErrCacheDir, path, why)
	}
	return path, nil
}

// sums maps the files of an entry to size and checksum.
type sums map[string]string

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// measure computes the sums of an entry as it is.
func measure(entry string) (sums, error) {
	got := sums{}
	err := filepath.WalkDir(entry, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == filepath.Join(entry, sumsName) {
			return err
		}
		if !d.Type().IsRegular() || len(got) >= maxEntry {
			return errors.New("not an entry of ours")
		}
		rel, err := filepath.Rel(entry, path)
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		h := crc32.New(castagnoli)
		n, err := io.Copy(h, bufio.NewReaderSize(f, 256<<10))
		got[filepath.ToSlash(rel)] = fmt.Sprintf("%08x %d", h.Sum32(), n)
		return err
	})
	return got, err
}

func sumsMatch(entry string, want sums) bool {
	got, err := measure(entry)
	return err == nil && len(got) > 0 && maps.Equal(got, want)
}

func readSums(entry string) (sums, error) {
	f, err := os.Open(filepath.Join(entry, sumsName))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	want := sums{}
	for s := bufio.NewScanner(io.LimitReader(f, maxSums)); s.Scan(); {
		var sum, size, name string
		if _, err := fmt.Sscanf(s.Text(), "%s %s %q", &sum, &size, &name); err != nil {
			return nil, err
		}
		want[name] = sum + " " + size
	}
	return want, nil
}

func writeSums(entry string, s sums) error {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&b, "%s %q\n", s[name], name)
	}
	tmp, err := os.CreateTemp(entry, sumsName+"*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(b.Bytes())
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), filepath.Join(entry, sumsName))
	}
	if err != nil {
		_ = os.Remove(tmp.Name()) // the first error is the one to report
	}
	return err
}

// refreshSums takes in what a processor with other features, or another version of wazero, has added to a good entry.
func refreshSums(entry string, old sums) error {
	if sameFiles(entry, old) {
		return nil
	}
	now, err := measure(entry)
	if err == nil && !maps.Equal(now, old) {
		err = writeSums(entry, now)
	}
	if err != nil {
		dropEntry(filepath.Dir(entry), entry) // the code is loaded; only the next process has to compile again
	}
	return nil
}

// sameFiles compares names and sizes: what was read a moment ago need not be read again.
func sameFiles(entry string, old sums) bool {
	n := 0
	err := filepath.WalkDir(entry, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == filepath.Join(entry, sumsName) {
			return err
		}
		rel, err := filepath.Rel(entry, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if _, size, _ := strings.Cut(old[filepath.ToSlash(rel)], " "); size != strconv.FormatInt(info.Size(), 10) {
			n = -1
			return fs.SkipAll
		}
		n++
		return nil
	})
	return err == nil && n == len(old)
}

// publish makes a freshly filled directory an entry. If another process was faster, or anything fails, ours goes.
func publish(fresh, entry string) {
	s, err := measure(fresh)
	if err == nil {
		err = writeSums(fresh, s)
	}
	if err == nil {
		err = os.Rename(fresh, entry)
	}
	if err != nil {
		removeAll(fresh)
	}
}

// dropEntry takes an entry away in one step and then removes it.
func dropEntry(dir, entry string) {
	gone, err := os.MkdirTemp(dir, "old-*")
	if err != nil {
		return // the directory is full or read-only: the entry stays, and is refused again
	}
	if err := os.Rename(entry, filepath.Join(gone, "entry")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		removeAll(entry)
	}
	removeAll(gone)
}

// removeAll is for directories of ours that no longer matter; one that stays is only litter.
func removeAll(path string) {
	_ = os.RemoveAll(path) // see above
}
