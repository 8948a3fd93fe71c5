package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/host"
)

// pageSize is how many items one page of a list has.
const pageSize = 1000

// surface is what a run shows to a client.
type surface struct {
	tools  []*mcp.Tool
	byName map[string]*host.ToolDefinition
	native *native // nil with code mode, and where no server has resources or prompts
}

// newSurface turns the run's surface into MCP tools. Where code mode is active it
// fails unless that is exactly exec and wait.
func newSurface(run *host.Run) (*surface, error) {
	defs := run.Surface()
	s := &surface{tools: []*mcp.Tool{}, byName: make(map[string]*host.ToolDefinition, len(defs))}
	if !run.Active() {
		s.native = newNative(run)
	}
	for i := range defs {
		d := &defs[i]
		t, ok := toolOf(d)
		if !ok || s.native.has(d.ID) {
			continue
		}
		s.tools = append(s.tools, t)
		s.byName[d.Name] = d
	}
	if run.Active() {
		payload, err := json.Marshal(&mcp.ListToolsResult{Tools: s.tools})
		if err != nil {
			return nil, fmt.Errorf("writing the list of tools: %w", err)
		}
		if err := run.EnforceSurface(payload); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// toolOf gives a definition as an MCP tool. A tool that does not take an object has
// no form in MCP.
func toolOf(d *host.ToolDefinition) (*mcp.Tool, bool) {
	in, ok := objectSchema(d.Parameters, true)
	if !ok {
		return nil, false
	}
	t := &mcp.Tool{Name: d.Name, Title: d.Label, Description: d.Description, InputSchema: in, Annotations: annotations(d.Annotations)}
	if out, ok := objectSchema(d.Returns, false); ok {
		t.OutputSchema = out
	}
	return t, true
}

// objectSchema gives a schema whose root says that it is one of objects, as MCP wants
// it. With fill a root that says nothing is taken for one.
func objectSchema(raw json.RawMessage, fill bool) (json.RawMessage, bool) {
	if len(raw) == 0 && fill {
		return json.RawMessage(`{"type":"object"}`), true
	}
	var root map[string]json.RawMessage
	if json.Unmarshal(raw, &root) != nil || root == nil {
		return nil, false
	}
	if typ, has := root["type"]; has {
		return raw, string(typ) == `"object"`
	}
	if !fill {
		return nil, false
	}
	root["type"] = json.RawMessage(`"object"`)
	raw, err := json.Marshal(root)
	return raw, err == nil
}

func annotations(a host.ToolAnnotations) *mcp.ToolAnnotations {
	if a == (host.ToolAnnotations{}) {
		return nil
	}
	out := &mcp.ToolAnnotations{DestructiveHint: a.Destructive, OpenWorldHint: a.OpenWorld}
	out.ReadOnlyHint = a.ReadOnly != nil && *a.ReadOnly
	out.IdempotentHint = a.Idempotent != nil && *a.Idempotent
	return out
}

// listTools answers tools/list.
func (s *session) listTools(req *mcp.ListToolsRequest) (mcp.Result, error) {
	run, err := s.acquire()
	if err != nil {
		return nil, s.broken("listing tools", err)
	}
	defer s.release(run)
	surface, err := run.surface()
	if err != nil {
		return nil, s.broken("listing tools", err)
	}
	cursor := ""
	if req.Params != nil {
		cursor = req.Params.Cursor
	}
	tools, next, err := page(surface.tools, cursor)
	if err != nil {
		return nil, err
	}
	return &mcp.ListToolsResult{Tools: tools, NextCursor: next, Cacheable: private}, nil
}

// private keeps what one client sees from others, and from being kept.
var private = mcp.Cacheable{CacheScope: "private"}

// page gives the part of a list that a cursor names, and the cursor of the next.
func page[T any](list []T, cursor string) (part []T, next string, err error) {
	from := 0
	if cursor != "" {
		if from, err = cutCursor(cursor); err != nil || from > len(list) {
			return nil, "", invalidParams("cursor is not one that this server gave")
		}
	}
	to := min(from+pageSize, len(list))
	if to < len(list) {
		next = base64.RawURLEncoding.EncodeToString([]byte("from " + strconv.Itoa(to)))
	}
	return list[from:to], next, nil
}

// cutCursor reads a cursor of page.
func cutCursor(cursor string) (int, error) {
	if len(cursor) > 64 {
		return 0, fmt.Errorf("a cursor of %d characters", len(cursor))
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil {
		return 0, fmt.Errorf("reading a cursor: %w", err)
	}
	var from uint32
	if n, err := fmt.Sscanf(string(text), "from %d", &from); n != 1 || err != nil {
		return 0, fmt.Errorf("reading a cursor: %q", text)
	}
	return int(from), nil
}

// isObject says whether a JSON text that is known to be valid is an object.
func isObject(raw json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte{'{'})
}
