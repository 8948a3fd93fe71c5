package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/suggest"
	"github.com/cloister-wasm/cloister/plugins/lock"
)

// mcpFlags say which MCP servers a command uses.
type mcpFlags struct {
	none bool
	only []string
}

func (f *mcpFlags) register(cmd *cobra.Command, config *string) {
	fs := cmd.Flags()
	fs.BoolVar(&f.none, "no-mcp", false, "leave MCP servers out")
	fs.StringArrayVar(&f.only, "mcp", nil, "of the MCP servers only the one called `NAME`; repeatable")
	mustComplete(cmd.RegisterFlagCompletionFunc("mcp", completeServers(config)))
}

// choose gives the servers that the flags leave, as the library takes them.
func (f *mcpFlags) choose(cfg *settings.Settings) ([]mcp.Server, error) {
	if f.none && len(f.only) > 0 {
		return nil, usageError(errors.New("--no-mcp and --mcp are given both"), "")
	}
	for _, name := range f.only {
		s, err := findServer(cfg, name)
		if err != nil {
			return nil, err
		}
		if s.Disabled {
			return nil, usageError(fmt.Errorf("the MCP server %s is disabled", name), "cloister mcp enable "+name)
		}
	}
	var out []mcp.Server
	for _, s := range cfg.Servers {
		if !f.none && (len(f.only) == 0 || slices.Contains(f.only, s.Name)) {
			out = append(out, s.Server)
		}
	}
	return out, nil
}

// findServer finds a server by its name, or says which was meant.
func findServer(cfg *settings.Settings, name string) (*settings.Server, error) {
	if s := cfg.Server(name); s != nil {
		return s, nil
	}
	text := fmt.Sprintf("there is no MCP server %q", name)
	if near := suggest.Closest(name, cfg.ServerNames()); near != "" {
		text += "; did you mean " + near + "?"
	}
	return nil, usageError(errors.New(text), "cloister mcp list shows them, cloister mcp add adds one")
}

// loadServer finds a server by its name in what the configuration and the user's own
// list say.
func loadServer(file, name string) (*settings.Settings, *settings.Server, error) {
	cfg, err := loadConfig(file)
	if err != nil {
		return nil, nil, err
	}
	s, err := findServer(cfg, name)
	return cfg, s, err
}

// mcpSet is the MCP servers of a command, connected or ready to be. The zero value
// has none.
type mcpSet struct {
	manager *mcp.Manager
	servers []host.MCPServer
}

// startTime is how long a command waits for MCP servers whose tools are not in the cache.
// It goes on without slower ones; to serve they come later.
const startTime = 10 * time.Second

// openMCP makes the tool lists of the servers known: from the cache, or by starting
// them, as far as that goes quickly. One that fails takes nothing else down.
func (f *toolFlags) openMCP(ctx context.Context, cfg *settings.Settings, o *mcp.Options) (*mcpSet, error) {
	manager, err := f.newManager(cfg, o)
	if manager == nil || err != nil {
		return &mcpSet{}, err
	}
	return &mcpSet{manager, loadServers(ctx, manager)}, nil
}

// loadServers waits for servers no longer than startTime.
func loadServers(ctx context.Context, manager *mcp.Manager) []host.MCPServer {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	return manager.Load(ctx)
}

// newManager makes a manager of the servers that the flags leave; nil if none is
// left.
func (f *toolFlags) newManager(cfg *settings.Settings, o *mcp.Options) (*mcp.Manager, error) {
	servers, err := f.mcp.choose(cfg)
	if err != nil || len(servers) == 0 {
		return nil, err
	}
	return newManager(servers, o)
}

func newManager(servers []mcp.Server, o *mcp.Options) (*mcp.Manager, error) {
	all := mcp.Options{}
	if o != nil {
		all = *o
	}
	if all.Cache == "" {
		all.Cache = settings.Places{}.ServerCache()
	}
	var err error
	if all.Tokens, err = tokenStore(); err != nil {
		return nil, err
	}
	all.Name, all.Version = "cloister", readVersion().Version
	for i := range servers {
		servers[i] = withRedirect(servers[i])
	}
	manager, err := mcp.New(servers, &all)
	if err != nil {
		return nil, usageError(err, "")
	}
	return manager, nil
}

// close ends the connections.
func (s *mcpSet) close() {
	if s != nil && s.manager != nil {
		_ = s.manager.Close() // what fails to close has done its work
	}
}

// maxFresh bounds servers that are asked at the same time.
const maxFresh = 16

// freshServers connects to all servers, whatever the cache says, and gives what they
// list now. Those that are disabled are left out. Those that ids name are waited for as
// long as their own limit says, others no longer than startTime.
func freshServers(ctx context.Context, manager *mcp.Manager, ids []string) []host.MCPServer {
	var wg sync.WaitGroup
	turns := make(chan struct{}, maxFresh)
	for _, s := range manager.Status() {
		if s.State == mcp.StateDisabled {
			continue
		}
		ctx := ctx
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			if !namesServer(ids, s.Name) {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, startTime)
				defer cancel()
			}
			_, _ = manager.Test(ctx, s.Name) // an error is in the server's own state as well
		})
	}
	wg.Wait()
	return manager.Servers()
}

// mcpNotes says which servers and tools are not there, and why.
func mcpNotes(status []host.MCPStatus, manager *mcp.Manager, cfg *settings.Settings) []string {
	var notes []string
	for _, s := range cfg.Shadowed {
		notes = append(notes, fmt.Sprintf("the MCP server %s of %s is not used: %s has another of that name", s.Name, s.File, cfg.File))
	}
	for _, s := range status {
		if s.Err != nil {
			notes = append(notes, fmt.Sprintf("the MCP server %s is not available: %s; cloister mcp test %s waits for it and says more, cloister mcp disable %s leaves it out",
				s.Name, whyUnavailable(s.Err), s.Name, s.Name))
		}
		for _, err := range s.Faults {
			notes = append(notes, "tool not in the catalog: "+err.Error())
		}
	}
	if manager == nil {
		return notes
	}
	for _, s := range manager.Status() {
		for _, t := range s.Skipped {
			notes = append(notes, fmt.Sprintf("tool not in the catalog: mcp:%s: %s: %s", s.Name, t.Tool, t.Reason))
		}
	}
	return notes
}

// whyUnavailable is the error of a server, without the words that it begins with where
// they were said already.
func whyUnavailable(err error) string {
	return strings.TrimPrefix(err.Error(), mcp.ErrUnavailable.Error()+": ")
}

// driftNotes says which tools are not as they were agreed to. The tools of a server
// are one note: there may be hundreds.
func driftNotes(drift []error) []string {
	var notes, order []string
	tools := map[string][]string{}
	for _, err := range drift {
		var de *lock.DriftError
		if !errors.As(err, &de) || lock.ServerOf(de.ID) == "" {
			notes = append(notes, "tool not in the catalog: "+err.Error())
			continue
		}
		server := lock.ServerOf(de.ID)
		if tools[server] == nil {
			order = append(order, server)
		}
		tools[server] = append(tools[server], strings.TrimPrefix(de.ID, mcpOwner(server)+":"))
	}
	for _, server := range order {
		list := tools[server]
		names := strings.Join(list[:min(len(list), 5)], ", ")
		if n := len(list) - 5; n > 0 {
			names += fmt.Sprintf(" and %d more", n)
		}
		notes = append(notes, fmt.Sprintf("the MCP server %s has %s that differ from the lock file or are not in it, and are left out: %s; cloister lock accept %s shows and takes them",
			server, count(len(list), "tool"), names, mcpOwner(server)))
	}
	return notes
}

// mcpOwner is a server's name as lock files and the catalog have it.
func mcpOwner(server string) string { return catalog.SourceMCP + ":" + server }

// completeServers offers the names of MCP servers.
func completeServers(config *string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		cfg, err := loadConfig(*config)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []cobra.Completion
		for i := range cfg.Servers {
			s := &cfg.Servers[i]
			if !slices.Contains(args, s.Name) {
				out = append(out, cobra.CompletionWithDesc(s.Name, escapeLine(clip(serverTarget(&s.Server), 60))))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}
