package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cloister-wasm/cloister/internal/datadir"
	"github.com/cloister-wasm/cloister/plugins/lock"
)

// Places says where this user's files are that are no part of a configuration. The zero
// value asks the environment, each time anew.
type Places struct {
	// Data is the folder of what must not be lost: installed plugins, the user's own list
	// of MCP servers, tokens, the lock file of what is installed. Empty: CLOISTER_DATA_DIR,
	// else the system's folder for data.
	Data string
	// Cache is the folder of what can be made again: machine code and tool lists; "off"
	// for none. Empty: CLOISTER_CACHE_DIR, else the system's folder for caches.
	Cache string
	// Trust is the trust policy. Empty: CLOISTER_TRUST, else that of the configuration,
	// else trust.json in the system's folder for configurations.
	Trust string
	// Lock is the lock file, which must be there. Empty: CLOISTER_LOCK, which must be
	// there, else that of the configuration, else one beside the configuration, else that
	// of what is installed, which agrees to nothing where it is not there.
	Lock string
}

// DataDir is the folder of data, whether it is there or not. The error is ErrNoDataFolder.
func (p Places) DataDir() (string, error) {
	if p.Data != "" {
		return filepath.Abs(p.Data)
	}
	dir, err := datadir.Find()
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoDataFolder, err)
	}
	return dir, nil
}

func (p Places) inData(name string) (string, error) {
	dir, err := p.DataDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, name), nil
}

// StoreDir is the folder of installed plugins; see plugins/store.
func (p Places) StoreDir() (string, error) { return p.inData("plugins") }

// ServerList is the user's own list of MCP servers.
func (p Places) ServerList() (string, error) { return p.inData("mcp.json") }

// TokenDir is the folder of OAuth tokens of MCP servers; see mcp.FileTokens.
func (p Places) TokenDir() (string, error) { return p.inData("mcp-tokens") }

// InstalledLock is the lock file of what is installed.
func (p Places) InstalledLock() (string, error) { return p.inData(lock.FileName) }

// PluginCache is the folder of plugins' machine code; empty for none.
func (p Places) PluginCache() string { return p.inCache("plugins") }

// ServerCache is the folder of the tool lists of MCP servers; empty for none.
func (p Places) ServerCache() string { return p.inCache("mcp") }

// EngineCache is the folder as host.Options.CacheDir takes it.
func (p Places) EngineCache() string {
	if p.Cache != "" {
		return p.Cache
	}
	return os.Getenv("CLOISTER_CACHE_DIR")
}

func (p Places) inCache(name string) string {
	dir := p.EngineCache()
	switch dir {
	case "off":
		return ""
	case "":
		base, err := os.UserCacheDir()
		if err != nil {
			return "" // no home, no cache
		}
		dir = filepath.Join(base, "cloister")
	}
	return filepath.Join(dir, name)
}

// TrustFile is the trust policy that applies; s may be nil for no configuration. named
// says that somebody asked for this very file. The error is ErrNoConfigFolder.
func (p Places) TrustFile(s *Settings) (path string, named bool, err error) {
	if p.Trust != "" {
		return p.Trust, true, nil
	}
	if path := os.Getenv("CLOISTER_TRUST"); path != "" {
		return path, true, nil
	}
	if s != nil && s.Plugins.Trust != "" {
		return s.Plugins.Trust, true, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", false, fmt.Errorf("%w: %w", ErrNoConfigFolder, err)
	}
	return filepath.Join(dir, "cloister", "trust.json"), false, nil
}

// LockFile is a lock file, and who chose it.
type LockFile struct {
	Path string
	// Named says that somebody asked for this very file, so that it has to be there.
	Named bool
	// Found says that the choice is that of a configuration that nobody named: of such a
	// file only that counts to which the user's own agrees.
	Found bool
}

// LockFile finds the lock file that applies; s may be nil for no configuration.
func (p Places) LockFile(s *Settings) (LockFile, error) {
	if p.Lock != "" {
		return LockFile{Path: p.Lock, Named: true}, nil
	}
	if env := os.Getenv("CLOISTER_LOCK"); env != "" {
		return LockFile{Path: env, Named: true}, nil
	}
	if s != nil && s.Plugins.Lock != "" {
		return LockFile{s.Plugins.Lock, true, s.Found}, nil
	}
	if s != nil && s.File != "" {
		beside := besideFile(s.File, lock.FileName)
		if _, err := os.Lstat(beside); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return LockFile{beside, true, s.Found}, nil
		}
	}
	path, err := p.InstalledLock()
	return LockFile{Path: path}, err
}
