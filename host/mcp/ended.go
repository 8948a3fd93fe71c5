package mcp

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/safefile"
	"github.com/cloister-wasm/cloister/internal/schema"
)

const (
	// endedLasts is how long it is told that a connection was ended.
	endedLasts = 24 * time.Hour
	// maxEndedBytes bounds the file that notes it, maxEndedReason the reason in it.
	maxEndedBytes, maxEndedReason = 2048, 300
)

// Ended tells of a connection that was ended for what the server did.
type Ended struct {
	At time.Time `json:"at"`
	// Reason is of this package, and has nothing in it that a server wrote.
	Reason string `json:"reason"`
}

// endedFile is Ended as a file of the cache.
type endedFile struct {
	Version int    `json:"version"`
	Key     string `json:"key"`
	// Ended is when, in seconds since 1970.
	Ended  int64  `json:"ended"`
	Reason string `json:"reason"`
}

func (c *cache) endedPath(cfg *Server) (path, key string) {
	key = cacheKey(cfg)
	return filepath.Join(c.dir, cfg.Name+"-"+key[:16]+".ended"), key
}

// noteEnded keeps for whoever asks later that a flood ended a connection.
func (c *cache) noteEnded(u *upstream, why error) {
	if c == nil || !errors.Is(why, ErrFlood) {
		return
	}
	path, key := c.endedPath(&u.cfg)
	c.write(u, path, func() ([]byte, error) {
		return marshal(endedFile{cacheVersion, key, time.Now().Unix(), plaintext.Short(why.Error(), maxEndedReason)})
	})
}

// LastEnded gives the last time within a day that a connection to a server of this very
// configuration was ended for what the server did (ErrFlood), by any process with the same
// Options.Cache; nil if there was none. It connects to nothing. An error says that the
// cache cannot be read, or is not to be.
func LastEnded(cacheDir string, s *Server) (*Ended, error) {
	if cacheDir == "" {
		return nil, nil
	}
	if _, err := os.Stat(cacheDir); errors.Is(err, os.ErrNotExist) {
		return nil, nil // nor is it made for a question
	}
	c := &cache{dir: cacheDir}
	if err := c.folder(); err != nil {
		return nil, fmt.Errorf("the cache of MCP servers: %w", err)
	}
	path, key := c.endedPath(s)
	data, err := safefile.ReadTrusted(path, maxEndedBytes)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var f endedFile
	if err == nil {
		err = schema.DecodeInto(data, &f, nil)
	}
	if err == nil && (f.Version != cacheVersion || f.Key != key) {
		err = fmt.Errorf("%s is of another configuration or version", filepath.Base(path))
	}
	if err != nil {
		return nil, fmt.Errorf("the cache of MCP servers: %w", err)
	}
	at := time.Unix(f.Ended, 0).UTC()
	if age := time.Since(at); age < -time.Second || age > endedLasts {
		return nil, nil
	}
	return &Ended{at, plaintext.Short(f.Reason, maxEndedReason)}, nil
}
