package gateway

import (
	"context"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/host"
)

// Names of the catalog's entries for resources and prompts of a server, which are the
// methods of the protocol too.
const (
	listResources = "resources/list"
	readResource  = "resources/read"
	listPrompts   = "prompts/list"
	getPrompt     = "prompts/get"
)

// offers says what a client is shown beside tools.
type offers struct{ resources, prompts bool }

// native are the resources and prompts of the servers in a run's catalog. What a
// policy denies is not in the catalog, and so not here.
type native struct {
	servers []nativeServer // as the catalog has them
	ids     map[string]bool
}

// nativeServer holds the catalog ids of one server's entries; empty for what it does
// not have.
type nativeServer struct {
	name, listResources, readResource, listPrompts, getPrompt string
}

// newNative gives the resources and prompts of a run; nil if it has none.
func newNative(run *host.Run) *native {
	n := &native{ids: map[string]bool{}}
	index := map[string]int{}
	for _, e := range run.Catalog() {
		var set func(*nativeServer)
		if e.Source != "mcp" {
			continue
		}
		switch e.Name {
		case listResources:
			set = func(s *nativeServer) { s.listResources = e.ID }
		case readResource:
			set = func(s *nativeServer) { s.readResource = e.ID }
		case listPrompts:
			set = func(s *nativeServer) { s.listPrompts = e.ID }
		case getPrompt:
			set = func(s *nativeServer) { s.getPrompt = e.ID }
		default:
			continue
		}
		// The id says which server it is: "mcp:<server>:<name>".
		name := strings.TrimSuffix(strings.TrimPrefix(e.ID, "mcp:"), ":"+e.Name)
		i, has := index[name]
		if !has {
			i = len(n.servers)
			index[name] = i
			n.servers = append(n.servers, nativeServer{name: name})
		}
		set(&n.servers[i])
		n.ids[e.ID] = true
	}
	if len(n.servers) == 0 {
		return nil
	}
	return n
}

// has says whether an entry of the catalog is served by the protocol's own methods.
func (n *native) has(id string) bool { return n != nil && n.ids[id] }

func (n *native) offers() offers {
	var o offers
	if n == nil {
		return o
	}
	for i := range n.servers {
		s := &n.servers[i]
		o.resources = o.resources || s.listResources != "" || s.readResource != ""
		o.prompts = o.prompts || s.listPrompts != "" || s.getPrompt != ""
	}
	return o
}

// offers says what the session's run has. Where that cannot be said it has nothing.
func (s *session) offers() offers {
	if len(s.g.o.Host.MCPStatus()) == 0 {
		return offers{} // no run has to be made to know it
	}
	run, err := s.acquire()
	if err != nil {
		return offers{}
	}
	defer s.release(run)
	surface, err := run.surface()
	if err != nil {
		return offers{}
	}
	o := surface.native.offers()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown.resources = s.shown.resources || o.resources
	s.shown.prompts = s.shown.prompts || o.prompts
	return o
}

// trim leaves out of a server's capabilities what the session does not have.
func (s *session) trim(caps *mcp.ServerCapabilities) {
	if caps == nil {
		return
	}
	o := s.offers()
	if !o.resources {
		caps.Resources = nil
	}
	if !o.prompts {
		caps.Prompts = nil
	}
}

// initialized answers initialize.
func (s *session) initialized(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) (mcp.Result, error) {
	out, err := next(ctx, method, req)
	if res, ok := out.(*mcp.InitializeResult); ok && res != nil && err == nil {
		s.trim(res.Capabilities)
	}
	return out, err
}

// discovered answers server/discover.
func (s *session) discovered(ctx context.Context, next mcp.MethodHandler, method string, req *mcp.ServerRequest[*mcp.DiscoverParams]) (mcp.Result, error) {
	out, err := next(ctx, method, req)
	if res, ok := out.(*mcp.DiscoverResult); ok && res != nil && err == nil {
		if err := s.meet(req); err != nil {
			return nil, err
		}
		s.trim(res.Capabilities)
	}
	return out, err
}

// narrow leaves out of subscriptions/listen what the session does not have.
func (s *session) narrow(req *mcp.SubscriptionsListenRequest) *mcp.SubscriptionsListenRequest {
	if req.Params == nil || req.Params.Notifications == nil {
		return req
	}
	want := *req.Params.Notifications
	if !want.ResourcesListChanged && !want.PromptsListChanged {
		return req
	}
	o := s.offers()
	want.ResourcesListChanged = want.ResourcesListChanged && o.resources
	want.PromptsListChanged = want.PromptsListChanged && o.prompts
	params := *req.Params
	params.Notifications = &want
	return &mcp.SubscriptionsListenRequest{Session: req.Session, Params: &params, Extra: req.Extra}
}

// changeMark is registered and removed again, which makes the SDK notify clients, once
// for all changes within some milliseconds.
const changeMark = "io.cloister:changed"

// tellListsChanged notifies the client of lists that it was told of.
func (s *session) tellListsChanged(srv *mcp.Server) {
	s.mu.Lock()
	shown := s.shown
	s.mu.Unlock()
	if shown.resources {
		srv.AddResource(&mcp.Resource{URI: changeMark, Name: changeMark}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return nil, mcp.ResourceNotFoundError(req.Params.URI)
		})
		srv.RemoveResources(changeMark)
	}
	if shown.prompts {
		srv.AddPrompt(&mcp.Prompt{Name: changeMark}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return nil, errors.New("no such prompt")
		})
		srv.RemovePrompts(changeMark)
	}
}

// native answers the methods for resources and prompts where the session's run has
// such. All other requests, and these where it has not, are the SDK's.
func (s *session) native(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) (mcp.Result, error) {
	var answer func(context.Context, *call, *native) (mcp.Result, error)
	var who introduced
	switch r := req.(type) {
	case *mcp.ListResourcesRequest:
		who, answer = r, func(ctx context.Context, c *call, n *native) (mcp.Result, error) {
			return c.listResources(ctx, n, cursorOf(r.Params))
		}
	case *mcp.ListResourceTemplatesRequest:
		who, answer = r, func(ctx context.Context, c *call, n *native) (mcp.Result, error) {
			return c.listTemplates(ctx, n, cursorOf(r.Params))
		}
	case *mcp.ListPromptsRequest:
		who, answer = r, func(ctx context.Context, c *call, n *native) (mcp.Result, error) {
			return c.listPrompts(ctx, n, cursorOf(r.Params))
		}
	case *mcp.ReadResourceRequest:
		who, answer = r, func(ctx context.Context, c *call, n *native) (mcp.Result, error) {
			c.state, c.responses, c.progress = r.Params.RequestState, r.Params.InputResponses, r.Params.GetProgressToken()
			return c.readResource(ctx, n, r.Params.URI)
		}
	case *mcp.GetPromptRequest:
		who, answer = r, func(ctx context.Context, c *call, n *native) (mcp.Result, error) {
			c.state, c.responses, c.progress = r.Params.RequestState, r.Params.InputResponses, r.Params.GetProgressToken()
			return c.getPrompt(ctx, n, r.Params)
		}
	default:
		return next(ctx, method, req)
	}
	if err := s.meet(who); err != nil {
		return nil, err
	}
	if len(s.g.o.Host.MCPStatus()) == 0 {
		return next(ctx, method, req)
	}
	ctx, end, err := s.bind(ctx, req.GetExtra())
	if err != nil {
		return nil, s.broken("answering "+method, err)
	}
	defer end()
	run, err := s.acquire()
	if err != nil {
		return nil, s.broken("answering "+method, err)
	}
	defer s.release(run)
	surface, err := run.surface()
	if err != nil {
		return nil, s.broken("answering "+method, err)
	}
	if surface.native == nil {
		return next(ctx, method, req)
	}
	ss, _ := req.GetSession().(*mcp.ServerSession)
	c := s.newCall(who, ss, run, method)
	if err := c.takeSlot(); err != nil {
		return nil, failed(err)
	}
	defer c.freeSlot()
	return answer(ctx, c, surface.native)
}

// cursorOf gives the cursor of a list's parameters, which may be missing.
func cursorOf(p mcp.Params) string {
	switch p := p.(type) {
	case *mcp.ListResourcesParams:
		if p != nil {
			return p.Cursor
		}
	case *mcp.ListResourceTemplatesParams:
		if p != nil {
			return p.Cursor
		}
	case *mcp.ListPromptsParams:
		if p != nil {
			return p.Cursor
		}
	}
	return ""
}
