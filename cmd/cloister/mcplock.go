package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/plugins/lock"
)

// dropServer forgets the tools of a server.
func dropServer(l *lock.File, server string) {
	maps.DeleteFunc(l.Tools, func(id string, _ lock.Tool) bool { return lock.ServerOf(id) == server })
}

// heldTo says whether a server's tools have to be in a lock file. One that knows a
// tool of the server always counts. Otherwise servers of the user's own list are held
// to the lock file of the data folder, where "mcp add" writes their tools, and servers
// of a configuration to every lock file but that one, which is not about them.
func heldTo(l *lock.File, own bool, s *settings.Server) bool {
	return len(l.ServerTools(s.Name)) > 0 || s.User == own
}

// agreeMCP completes the lock that tools are compared with by what it says nothing
// about.
func (s *pluginSet) agreeMCP(servers []host.MCPServer, cfg *settings.Settings) error {
	if s.lock == nil || len(servers) == 0 {
		return nil
	}
	own, err := dataLockPath()
	if err != nil {
		return err
	}
	s.lock = s.lock.Clone()
	for i := range servers {
		c := cfg.Server(servers[i].Name)
		if c == nil || servers[i].Err != nil || heldTo(s.lock, s.lockPath == own, c) {
			continue
		}
		if !c.User {
			maps.Copy(s.lock.Tools, servers[i].LockTools())
			continue
		}
		// A lock file of a project says nothing about the server: what the user agreed to counts.
		mine, err := lock.Load(own)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return usageError(err, "")
		}
		for id, t := range mine.Tools {
			if lock.ServerOf(id) == c.Name {
				s.lock.Tools[id] = t
			}
		}
	}
	return nil
}

// recordServer writes down in the lock file that applies what a server's tools are.
func recordServer(target settings.ServerFile, lockFlag string, s *host.MCPServer) (path string, err error) {
	return changeServerLock(target, lockFlag, true, func(l *lock.File) {
		dropServer(l, s.Name)
		maps.Copy(l.Tools, s.LockTools())
	})
}

// changeServerLock changes the lock file that holds the tools of the servers of a
// file, and gives its name; empty if there is none and none is to be made.
func changeServerLock(target settings.ServerFile, lockFlag string, make bool, change func(*lock.File)) (path string, err error) {
	own, err := dataLockPath()
	if err != nil {
		return "", err
	}
	path = own
	if !target.User {
		cfg, err := loadConfig(target.Path)
		if err != nil {
			return "", err
		}
		choice, err := lockFileOf(lockFlag, cfg)
		if err != nil {
			return "", err
		}
		path = choice.Path
	}
	l, err := lock.Load(path)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case missing && !make:
		return "", nil
	case path == own:
		return path, changeDataLock(change)
	case missing:
		l = lock.New()
	case err != nil:
		return "", usageError(err, "")
	}
	change(l)
	return path, l.Save(path)
}

// lockOwner is whose a thing in a lock file is: a plugin, or mcp: and a server.
func lockOwner(id string) string {
	if server := lock.ServerOf(id); server != "" {
		return mcpOwner(server)
	}
	return lock.PluginOf(id)
}

// failedServer is a server that could not be asked.
type failedServer struct {
	Server string `json:"server"`
	Error  string `json:"error"`
}

// addServers puts the tools that servers have now beside what was agreed to. ids may
// name servers that the lock file is not about, to be locked too.
func (s *lockState) addServers(servers []host.MCPServer, cfg *settings.Settings, ids []string) error {
	own, err := dataLockPath()
	if err != nil {
		return err
	}
	for i := range servers {
		server := &servers[i]
		if server.Err != nil {
			s.failed = append(s.failed, failedServer{server.Name, whyUnavailable(server.Err)})
			continue
		}
		if c := cfg.Server(server.Name); c == nil || !heldTo(s.file, s.path == own, c) && !namesServer(ids, server.Name) {
			continue
		}
		dropServer(s.now, server.Name)
		maps.Copy(s.now.Tools, server.LockTools())
	}
	return nil
}

// namesServer says whether one of the ids is a server's, or of one of its tools.
func namesServer(ids []string, server string) bool {
	for _, id := range ids {
		if id == mcpOwner(server) || strings.HasPrefix(id, mcpOwner(server)+":") {
			return true
		}
	}
	return false
}

// note says what a server that cannot be asked means for the lock file.
func (f failedServer) note() string {
	return fmt.Sprintf("the MCP server %s is not available, and what is locked of it stays: %s; cloister mcp test %s waits for it and says more", f.Server, f.Error, f.Server)
}

// completeLocked offers installed plugins and MCP servers.
func completeLocked(file *string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		out, directive := completeInstalled(cmd, args, typed)
		cfg, err := loadConfig(*file)
		if err != nil {
			return out, directive
		}
		for _, name := range cfg.ServerNames() {
			out = append(out, cobra.CompletionWithDesc(mcpOwner(name), "the tools of this MCP server"))
		}
		return out, directive
	}
}
