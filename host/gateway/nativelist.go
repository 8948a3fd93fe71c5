package gateway

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// Times of lists. They are asked for again when they are older, or when Gateway.Changed
// has made another run.
const (
	// listTime is how long one server may take to list, while nobody is asked.
	listTime = 20 * time.Second
	// listFresh is how long a list is good; listStable is the same for its next pages.
	listFresh, listStable = 30 * time.Second, 10 * time.Minute
	// listMissed is how old a list may be that does not have what a client names.
	listMissed = 2 * time.Second
	// maxListing bounds the servers that list at once for one request.
	maxListing = 16
)

// listings are the lists that a run has seen.
type listings struct {
	mu        sync.Mutex
	resources *resourceList
	prompts   *promptList
}

type resourceList struct {
	at        time.Time
	resources []*mcp.Resource
	templates []*mcp.ResourceTemplate
	owner     map[string]*nativeServer // by URI
	match     []*nativeServer          // of templates
}

type promptList struct {
	at      time.Time
	prompts []*mcp.Prompt
	by      map[string]promptSource // by the name that clients see
}

type promptSource struct {
	server *nativeServer
	name   string // the server's own
}

// resourcesFrom gives the resources of all servers, no older than age.
func (c *call) resourcesFrom(ctx context.Context, n *native, age time.Duration) (*resourceList, error) {
	l := &c.run.listed
	l.mu.Lock()
	list := l.resources
	l.mu.Unlock()
	now := c.s.g.now()
	if list != nil && now.Sub(list.at) <= age {
		return list, nil
	}
	raw, err := c.gather(ctx, n, func(s *nativeServer) string { return s.listResources })
	if err != nil {
		return nil, err
	}
	list = mergeResources(n, raw)
	list.at = now
	l.mu.Lock()
	l.resources = list
	l.mu.Unlock()
	return list, nil
}

// promptsFrom gives the prompts of all servers, no older than age.
func (c *call) promptsFrom(ctx context.Context, n *native, age time.Duration) (*promptList, error) {
	l := &c.run.listed
	l.mu.Lock()
	list := l.prompts
	l.mu.Unlock()
	now := c.s.g.now()
	if list != nil && now.Sub(list.at) <= age {
		return list, nil
	}
	raw, err := c.gather(ctx, n, func(s *nativeServer) string { return s.listPrompts })
	if err != nil {
		return nil, err
	}
	list = mergePrompts(n, raw)
	list.at = now
	l.mu.Lock()
	l.prompts = list
	l.mu.Unlock()
	return list, nil
}

// gather lists all servers side by side. A server that fails, is refused or takes too
// long has no items; only the end of ctx is an error.
func (c *call) gather(ctx context.Context, n *native, id func(*nativeServer) string) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, len(n.servers))
	places := make(chan struct{}, maxListing)
	var all sync.WaitGroup
	for i := range n.servers {
		tool := id(&n.servers[i])
		if tool == "" {
			continue
		}
		all.Go(func() {
			select {
			case places <- struct{}{}:
			case <-ctx.Done():
				return
			}
			defer func() { <-places }()
			res, err := c.listOne(ctx, tool)
			if err != nil {
				if ctx.Err() == nil {
					c.s.g.log.Warn("a server's list is left out", "tool", tool, "error", err, "session", c.s.client.SessionID)
				}
				return
			}
			out[i] = res.Value
		})
	}
	all.Wait()
	return out, ctx.Err()
}

// listOne calls the list of one server. A server that does not heed the end of its
// time is left to itself.
func (c *call) listOne(ctx context.Context, tool string) (*host.CallResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The id begins with the request's, so that the request asks what is to be asked.
	callID := c.id + "." + strings.ReplaceAll(tool, ".", "_")
	type outcome struct {
		res *host.CallResult
		err error
	}
	done := make(chan outcome, 1)
	run := c.run
	c.s.keep(run)
	go func() {
		defer c.s.release(run)
		res, err := run.CallTool(ctx, host.CallInput{ID: tool, CallID: callID, Input: json.RawMessage("{}")})
		done <- outcome{res, err}
	}()
	timer := time.NewTimer(listTime)
	defer timer.Stop()
	for {
		select {
		case o := <-done:
			return o.res, o.err
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.C:
			if !c.patient || len(c.questions(callID)) == 0 {
				return nil, context.DeadlineExceeded
			}
			timer.Reset(listTime) // a person takes the time
		}
	}
}

// share bounds the items of one server: many of one leave room for those of others.
func share(most, servers int) int { return max(most/max(servers, 1), 1) }

// some cuts a server's list to its share of items and of bytes.
func some(list []json.RawMessage, most, servers int) []json.RawMessage {
	list = list[:min(len(list), share(most, servers))]
	size := 0
	for i := range list {
		if size += len(list[i]); size > share(maxListedBytes, servers) {
			return list[:i]
		}
	}
	return list
}

func mergeResources(n *native, raw []json.RawMessage) *resourceList {
	l := &resourceList{resources: []*mcp.Resource{}, templates: []*mcp.ResourceTemplate{}, owner: map[string]*nativeServer{}}
	known := map[string]bool{}
	for i := range n.servers {
		var got struct {
			Resources []json.RawMessage `json:"resources"`
			Templates []json.RawMessage `json:"resourceTemplates"`
		}
		if !decodeList(raw[i], &got) {
			continue
		}
		s := &n.servers[i]
		for _, item := range some(got.Resources, maxListed, len(n.servers)) {
			if r, ok := resourceOf(item); ok && l.owner[r.URI] == nil {
				l.owner[r.URI] = s
				l.resources = append(l.resources, r)
			}
		}
		for _, item := range some(got.Templates, maxTemplates, len(n.servers)) {
			if t, ok := templateOf(item); ok && !known[t.URITemplate] {
				known[t.URITemplate] = true
				l.templates, l.match = append(l.templates, t), append(l.match, s)
			}
		}
	}
	return l
}

// promptName is the name under which clients see a prompt: its server's in front, whatever other servers there are, so
// that a name which a client remembers is that of the same prompt tomorrow. No flat part of an id holds "__", so that
// two prompts never have one name.
func promptName(server, prompt string) string { return catalog.FlatPart(server) + "__" + prompt }

// mergePrompts puts the prompts of all servers together.
func mergePrompts(n *native, raw []json.RawMessage) *promptList {
	l := &promptList{prompts: []*mcp.Prompt{}, by: map[string]promptSource{}}
	for i := range n.servers {
		var got struct {
			Prompts []json.RawMessage `json:"prompts"`
		}
		if !decodeList(raw[i], &got) {
			continue
		}
		s := &n.servers[i]
		for _, item := range some(got.Prompts, maxListed, len(n.servers)) {
			p, ok := promptOf(item)
			if !ok {
				continue
			}
			from := promptSource{s, p.Name}
			p.Name = promptName(s.name, p.Name)
			if _, again := l.by[p.Name]; !again {
				l.by[p.Name] = from
				l.prompts = append(l.prompts, p)
			}
		}
	}
	return l
}

// decodeList reads a server's list, which the host has checked to be strict JSON.
func decodeList[T any](raw json.RawMessage, dst *T) bool {
	return raw != nil && schema.DecodeInto(raw, dst, &schema.DecodeOptions{Checked: true, AllowUnknown: true}) == nil
}

// ownerOf gives the server that a URI is read from: the one that lists it, else the
// first with a template for it; nil if there is none.
func (l *resourceList) ownerOf(ctx context.Context, uri string) *nativeServer {
	if s := l.owner[uri]; s != nil {
		return s
	}
	tried := 0
	for i, t := range l.templates {
		if !strings.HasPrefix(uri, literal(t.URITemplate)) {
			continue
		}
		if tried++; tried > maxMatched || ctx.Err() != nil {
			return nil
		}
		if matchesTemplate(t.URITemplate, uri) {
			return l.match[i]
		}
	}
	return nil
}
