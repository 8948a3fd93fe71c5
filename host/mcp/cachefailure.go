package mcp

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cloister-wasm/cloister/internal/safefile"
	"github.com/cloister-wasm/cloister/internal/schema"
)

const (
	// failureLasts is how long a server that was waited for in vain is not waited for again.
	failureLasts = 10 * time.Minute
	// briefWait is how long Load waits for such a server, and the wait that is worth a note.
	briefWait = time.Second
	// maxFailureBytes bounds the file that notes a failure.
	maxFailureBytes = 1024
)

// failureFile notes that Load waited for a server in vain. Why is not in it: that is what
// a server wrote, and another attempt says it anew.
type failureFile struct {
	Version int    `json:"version"`
	Key     string `json:"key"`
	// Failed is when, in seconds since 1970.
	Failed int64 `json:"failed"`
}

func (c *cache) failurePath(cfg *Server) (path, key string) {
	key = cacheKey(cfg)
	return filepath.Join(c.dir, cfg.Name+"-"+key[:16]+".failed"), key
}

// failedLately says whether a server of this very configuration was waited for in vain a
// short time ago.
func (c *cache) failedLately(u *upstream) bool {
	if c == nil || c.folder() != nil { // load has said so
		return false
	}
	path, key := c.failurePath(&u.cfg)
	data, err := safefile.ReadTrusted(path, maxFailureBytes)
	if os.IsNotExist(err) {
		return false
	}
	var f failureFile
	if err == nil {
		err = schema.DecodeInto(data, &f, nil)
	}
	if err == nil && (f.Version != cacheVersion || f.Key != key) {
		err = fmt.Errorf("it is of another configuration or version")
	}
	if err != nil {
		u.m.o.Logger.Warn("MCP cache entry is not used", "server", u.cfg.Name, "error", err)
		return false
	}
	age := time.Since(time.Unix(f.Failed, 0))
	return -time.Second < age && age < failureLasts // a time to come is no memory
}

// noteFailure keeps for the next start that a server was waited for in vain.
func (c *cache) noteFailure(u *upstream) {
	if c == nil {
		return
	}
	path, key := c.failurePath(&u.cfg)
	c.write(u, path, func() ([]byte, error) { return marshal(failureFile{cacheVersion, key, time.Now().Unix()}) })
}

// forgetFailure is for a server that works.
func (c *cache) forgetFailure(u *upstream) {
	if c == nil {
		return
	}
	path, _ := c.failurePath(&u.cfg)
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		u.m.o.Logger.Warn("MCP cache entry was not removed", "server", u.cfg.Name, "error", err)
	}
}
