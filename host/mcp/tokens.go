package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/cloister-wasm/cloister/internal/safefile"
)

const maxTokenBytes = 256 << 10

// FileTokens is a TokenStore of files, mode 0600, in a folder that is made with mode
// 0700 and refused if others can read or write in it.
type FileTokens struct{ Dir string }

var _ TokenStore = FileTokens{}

func (f FileTokens) path(key string) (string, error) {
	if err := os.MkdirAll(f.Dir, 0o700); err != nil {
		return "", err
	}
	info, err := os.Stat(f.Dir)
	if err != nil {
		return "", err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s can be used by others (mode %04o); chmod it to 0700", f.Dir, info.Mode().Perm())
	}
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(f.Dir, hex.EncodeToString(sum[:16])+".json"), nil
}

// Load implements TokenStore.
func (f FileTokens) Load(key string) ([]byte, error) {
	path, err := f.path(key)
	if err != nil {
		return nil, err
	}
	data, err := safefile.ReadSecret(path, maxTokenBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// Save implements TokenStore.
func (f FileTokens) Save(key string, data []byte) error {
	path, err := f.path(key)
	if err != nil {
		return err
	}
	if data == nil {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return safefile.ReplaceBytes(path, 0o600, data)
}

// memoryTokens keeps tokens until the program ends.
type memoryTokens struct{ m sync.Map }

func (t *memoryTokens) Load(key string) ([]byte, error) {
	v, _ := t.m.Load(key)
	data, _ := v.([]byte)
	return data, nil
}

func (t *memoryTokens) Save(key string, data []byte) error {
	t.m.Store(key, data)
	return nil
}
