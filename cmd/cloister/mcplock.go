package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/host/setup"
	"github.com/cloister-wasm/cloister/plugins/lock"
)

// dropServer forgets the tools of a server.
func dropServer(l *lock.File, server string) {
	maps.DeleteFunc(l.Tools, func(id string, _ lock.Tool) bool { return lock.ServerOf(id) == server })
}

// recordServer writes down in the lock file that applies what a server's tools are.
func recordServer(target settings.ServerFile, lockFlag string, s *host.MCPServer) (path string, err error) {
	return changeServerLock(target, lockFlag, true, func(l *lock.File) {
		dropServer(l, s.Name)
		maps.Copy(l.Tools, s.LockTools())
	})
}

// adopt writes a server and its tools down: the tools first, so that there is never a
// server of whose tools nothing is known. It gives the lock file.
func adopt(target settings.ServerFile, lockFlag string, s *mcp.Server, report *mcp.Report) (locked string, err error) {
	if report != nil {
		agreed := &host.MCPServer{Name: s.Name, Tools: report.List, Instructions: report.Instructions, Resources: report.HasResources, Prompts: report.HasPrompts}
		if locked, err = recordServer(target, lockFlag, agreed); err != nil {
			return "", err
		}
	}
	return locked, serverFileFault(target.Put(s))
}

// notAgreed says what becomes of a server of the user's own list that nobody has looked at.
func notAgreed(name string) string {
	return "nobody has agreed to its tools, which are left out until then: cloister lock accept " + mcpOwner(name) + " shows them and asks"
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
		cfg, err := loadSettings(&settings.Options{File: target.Path, Places: settings.Places{Lock: lockFlag}})
		if err != nil {
			return "", err
		}
		choice, err := cfg.Places.LockFile(cfg)
		if err != nil {
			return "", placeFault(err)
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
	l := &setup.Lock{File: s.file, Path: s.path, Own: s.path == own}
	for i := range servers {
		server := &servers[i]
		if server.Err != nil {
			s.failed = append(s.failed, failedServer{server.Name, whyUnavailable(server.Err)})
			continue
		}
		if c := cfg.Server(server.Name); c == nil || !l.Holds(c) && !namesServer(ids, server.Name) {
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
