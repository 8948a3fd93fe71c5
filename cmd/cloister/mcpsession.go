package main

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/host/settings"
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

// findServer finds a server by its name, or says which was meant.
func findServer(cfg *settings.Settings, name string) (*settings.Server, error) {
	s, err := cfg.FindServer(name)
	return s, serverFault(err)
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

// startTime is how long "lock" waits for MCP servers that it does not name.
const startTime = 10 * time.Second

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
				out = append(out, cobra.CompletionWithDesc(s.Name, clip(escapeLine(serverTarget(&s.Server)), 60)))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}
