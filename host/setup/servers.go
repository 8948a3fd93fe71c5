package setup

import (
	"context"
	"slices"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/mcp"
)

// Redirect is where a browser comes back to after somebody agreed, for servers whose
// configuration does not say (OAuth.Redirect). It is fixed, since an authorization server
// may remember it.
const Redirect = "http://127.0.0.1:38917/callback"

// NewManager makes the connections to the MCP servers that the options leave, as New
// does, for who wants them without a host. Nothing is started. Tool lists are kept in
// the cache of the settings' places, and tokens in their data folder.
func NewManager(o *Options) (*mcp.Manager, error) {
	c, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return c.newManager(nil)
}

func (o *Options) newManager(onChange func(*mcp.Manager)) (*mcp.Manager, error) {
	servers, err := o.servers()
	if err != nil {
		return nil, at(StepServers, err)
	}
	all := o.MCP
	all.OnChange = onChange
	if all.Cache == "" {
		all.Cache = o.Settings.Places.ServerCache()
	}
	if all.Tokens == nil {
		if all.Tokens, err = o.tokens(); err != nil {
			return nil, at(StepServers, err)
		}
	}
	if all.Logger == nil {
		all.Logger = o.Logger
	}
	manager, err := mcp.New(servers, &all)
	return manager, at(StepServers, err)
}

// tokens keeps OAuth tokens in the data folder, for this user alone.
func (o *Options) tokens() (mcp.TokenStore, error) {
	dir, err := o.Settings.Places.TokenDir()
	if err != nil {
		return nil, err
	}
	return mcp.FileTokens{Dir: dir}, nil
}

// servers are those that the options leave, ready to be connected to.
func (o *Options) servers() ([]mcp.Server, error) {
	if o.NoServers || o.Settings == nil {
		return nil, nil
	}
	for _, name := range o.OnlyServers {
		if _, err := o.Settings.UseServer(name); err != nil {
			return nil, err
		}
	}
	var out []mcp.Server
	for _, s := range o.Settings.Servers {
		if len(o.OnlyServers) == 0 || slices.Contains(o.OnlyServers, s.Name) {
			out = append(out, withRedirect(s.Server))
		}
	}
	return out, nil
}

// withRedirect gives a server whose OAuth needs a browser a place to come back to.
func withRedirect(s mcp.Server) mcp.Server {
	if s.OAuth != nil && s.OAuth.Redirect == "" {
		o := *s.OAuth
		o.Redirect = Redirect
		s.OAuth = &o
	}
	return s
}

// loadServers waits for servers no longer than StartTimeout.
func (o *Options) loadServers(ctx context.Context, manager *mcp.Manager) []host.MCPServer {
	ctx, cancel := context.WithTimeout(ctx, o.StartTimeout)
	defer cancel()
	return manager.Load(ctx)
}
