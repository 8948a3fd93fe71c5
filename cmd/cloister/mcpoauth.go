package main

import (
	"cmp"
	"context"
	"io"

	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/host/setup"
)

// authorizer asks the person at the terminal to open an address, and waits until the
// browser comes back. It is nil where nobody sees the address.
func (a *app) authorizer(servers []mcp.Server) func(context.Context, string, string) (*mcp.Authorization, error) {
	if !a.stderr.tty {
		return nil
	}
	redirects := map[string]string{}
	for _, s := range servers {
		if s.OAuth != nil {
			redirects[s.Name] = cmp.Or(s.OAuth.Redirect, setup.Redirect)
		}
	}
	return func(ctx context.Context, server, address string) (*mcp.Authorization, error) {
		return a.authorize(ctx, server, address, redirects[server])
	}
}

// authorize shows the address and waits for the browser to come back from it.
func (a *app) authorize(ctx context.Context, server, address, redirect string) (*mcp.Authorization, error) {
	back, err := mcp.ListenCallback(redirect, address)
	if err != nil {
		return nil, err
	}
	a.complain("the MCP server "+server+" wants your consent; open this address in a browser:", "")
	_, _ = io.WriteString(a.stderr, "  "+escapeLine(address)+"\n") // without standard error there is no authorizer
	return back.Wait(ctx)
}
