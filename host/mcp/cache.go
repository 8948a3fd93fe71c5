package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/cloister-wasm/cloister/internal/mcpapi"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/safefile"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// cacheVersion is of the file format; another one is not read.
const cacheVersion = 1

// maxCacheBytes bounds a file of the cache.
const maxCacheBytes = 2 * maxListBytes

// cache keeps the lists of servers, one file for each configuration, so that a server
// need not run to be known. What is in it is checked as if a server had sent it. It is
// an aid: what goes wrong with it is logged, and the server is started instead.
type cache struct{ dir string }

// cacheFile is what a file holds. Tools are as in tools/list.
type cacheFile struct {
	Version       int               `json:"version"`
	Key           string            `json:"key"`
	Tools         []json.RawMessage `json:"tools"`
	Skipped       []Skipped         `json:"skipped,omitempty"`
	Resources     bool              `json:"resources,omitempty"`
	Prompts       bool              `json:"prompts,omitempty"`
	Instructions  string            `json:"instructions,omitempty"`
	Protocol      string            `json:"protocol,omitempty"`
	ServerName    string            `json:"serverName,omitempty"`
	ServerVersion string            `json:"serverVersion,omitempty"`
}

// cacheKey is a hash of what decides which server is reached and what it may list: no
// secret is in it, but where it comes from. Allow, Deny and Approval are applied later.
func cacheKey(cfg *Server) string {
	origin := func(values map[string]Value) map[string]string {
		out := map[string]string{}
		for name, v := range values {
			out[name] = fmt.Sprintf("%q %q %q %q %q", v.Text, v.Env, v.File, v.Command, v.Prefix)
		}
		return out
	}
	oauth := ""
	if o := cfg.OAuth; o != nil {
		oauth = fmt.Sprintf("%q %q %q %q", o.Grant, o.ClientID, o.ClientMetadataURL, o.Scopes)
	}
	data, err := json.Marshal(map[string]any{
		"version": cacheVersion, "name": cfg.Name,
		"command": cfg.Command, "args": cfg.Args, "dir": cfg.Dir, "env": origin(cfg.Env), "inherit": cfg.InheritEnv,
		"url": cfg.URL, "headers": origin(cfg.Headers), "oauth": oauth,
	})
	if err != nil {
		panic("host/mcp: " + err.Error()) // strings and maps of strings
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (c *cache) path(cfg *Server) (path, key string) {
	key = cacheKey(cfg)
	return filepath.Join(c.dir, cfg.Name+"-"+key[:16]+".json"), key
}

// folder makes the folder, or says why it is not to be used: whoever can write in it
// decides what tools look like.
func (c *cache) folder() error {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(c.dir)
	if err != nil {
		return err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s can be written by others (mode %04o); chmod it to 0700", c.dir, info.Mode().Perm())
	}
	return nil
}

// load gives what is known of a server, nil if nothing is.
func (c *cache) load(u *upstream) *toolList {
	if c == nil {
		return nil
	}
	path, key := c.path(&u.cfg)
	if err := c.folder(); err != nil {
		u.m.o.Logger.Warn("MCP cache is not used", "error", err)
		return nil
	}
	data, err := safefile.ReadTrusted(path, maxCacheBytes)
	if os.IsNotExist(err) {
		return nil
	}
	var list *toolList
	if err == nil {
		list, err = decodeCache(data, key, u.limits.MaxTools)
	}
	if err != nil {
		u.m.o.Logger.Warn("MCP cache entry is not used", "server", u.cfg.Name, "error", err)
		return nil
	}
	return list
}

// decodeCache reads a file strictly. It fails on what a server could not have sent.
func decodeCache(data []byte, key string, maxTools int) (*toolList, error) {
	var f cacheFile
	if err := schema.DecodeInto(data, &f, nil); err != nil {
		return nil, err
	}
	switch {
	case f.Version != cacheVersion:
		return nil, fmt.Errorf("version %d is not %d", f.Version, cacheVersion)
	case f.Key != key:
		return nil, fmt.Errorf("it is of another configuration")
	case len(f.Tools) > maxTools:
		return nil, fmt.Errorf("it has more than %d tools", maxTools)
	case len(f.Skipped) > maxSkipped:
		return nil, fmt.Errorf("it has more than %d tools that were left out", maxSkipped)
	}
	l := &toolList{
		Resources: f.Resources, Prompts: f.Prompts, Instructions: mcpapi.Instructions(f.Instructions),
		Protocol: plaintext.Short(f.Protocol, 40), ServerName: plaintext.Short(f.ServerName, 200), ServerVersion: plaintext.Short(f.ServerVersion, 100),
	}
	l.add(f.Tools, nil)
	if len(l.Skipped) > 0 {
		return nil, fmt.Errorf("its tool %q cannot be used: %s", l.Skipped[0].Tool, l.Skipped[0].Reason)
	}
	for _, s := range f.Skipped {
		l.skip(s.Tool, s.Reason)
	}
	return l, nil
}

// encodeCache is the inverse of decodeCache.
func encodeCache(l *toolList, key string) ([]byte, error) {
	f := cacheFile{
		Version: cacheVersion, Key: key, Tools: make([]json.RawMessage, len(l.Tools)), Skipped: l.Skipped,
		Resources: l.Resources, Prompts: l.Prompts, Instructions: l.Instructions, Protocol: l.Protocol, ServerName: l.ServerName, ServerVersion: l.ServerVersion,
	}
	for i := range l.Tools {
		t := &l.Tools[i]
		m := map[string]any{"name": t.Name, "inputSchema": t.Parameters, "annotations": t.Annotations}
		if t.Title != "" {
			m["title"] = t.Title
		}
		if t.Description != "" {
			m["description"] = t.Description
		}
		if t.Returns != nil {
			m["outputSchema"] = t.Returns
		}
		raw, err := marshal(m)
		if err != nil {
			return nil, err
		}
		f.Tools[i] = raw
	}
	return marshal(f)
}

// save keeps a list for the next start.
func (c *cache) save(u *upstream, l *toolList) {
	if c == nil {
		return
	}
	path, key := c.path(&u.cfg)
	c.write(u, path, func() ([]byte, error) { return encodeCache(l, key) })
}

// write replaces a file of the cache. A failure costs no more than the memory.
func (c *cache) write(u *upstream, path string, encode func() ([]byte, error)) {
	err := c.folder()
	if err == nil {
		var data []byte
		if data, err = encode(); err == nil {
			err = safefile.ReplaceBytes(path, 0o600, data)
		}
	}
	if err != nil {
		u.m.o.Logger.Warn("MCP cache entry was not written", "server", u.cfg.Name, "error", err)
	}
}
