package codemode

import (
	"encoding/json"
	"errors"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/schema"
	"github.com/cloister-wasm/cloister/internal/view"
)

// answerAPI answers MCP.<server>.$api(tool, { schema }): the declaration of a server
// or of one of its tools, and the schemas if they are wanted.
func (c *cell) answerAPI(request int, m *view.Member, args []json.RawMessage) error {
	c.report.count(func(t *api.Telemetry) { t.DescribeCount++ })
	tool, withSchema, err := view.APIArgs(args)
	if err != nil {
		return c.fail(request, &api.ToolError{Name: "TypeError", Message: m.Path + "(tool?, { schema? }): " + err.Error(), Code: api.CodeInvalidInput})
	}
	c.run.calls.Stamp(&api.TraceEvent{Event: api.EventDescribe, CellID: c.id, ParentID: c.parentID, Tool: m.Server.ToolID(tool), Namespace: m.Path, Untrusted: true})
	out, te := m.Server.DescribeTool(tool, withSchema)
	if te != nil {
		return c.fail(request, te)
	}
	return c.answer(request, out)
}

// answerMCPSearch answers MCP.$search(query, { limit }).
func (c *cell) answerMCPSearch(request int, args []json.RawMessage) error {
	c.report.count(func(t *api.Telemetry) { t.SearchCount++ })
	query, limit, err := c.searchArgs(args)
	if err != nil {
		var te *api.ToolError
		if !errors.As(err, &te) {
			te = &api.ToolError{Name: "TypeError", Message: "MCP.$search(query, { limit }): " + err.Error(), Code: api.CodeInvalidInput}
		}
		return c.fail(request, te)
	}
	c.run.calls.Stamp(&api.TraceEvent{Event: api.EventSearch, CellID: c.id, ParentID: c.parentID, Namespace: "MCP.$search"})
	return c.answerJSON(request, c.run.view.SearchMCP(query, limit))
}

// searchArgs reads a query and its options.
func (c *cell) searchArgs(args []json.RawMessage) (query string, limit int, err error) {
	if len(args) == 0 || len(args) > 2 || string(args[0]) == "null" || json.Unmarshal(args[0], &query) != nil {
		return "", 0, errors.New("query must be a string")
	}
	var o struct {
		Limit *int `json:"limit"`
	}
	if len(args) == 2 && string(args[1]) != "null" {
		if schema.DecodeInto(args[1], &o, nil) != nil {
			return "", 0, errors.New("options are { limit: number }")
		}
	}
	if o.Limit == nil {
		limit, err = c.h.SearchLimit(0, true)
	} else {
		limit, err = c.h.SearchLimit(*o.Limit, false)
	}
	return query, limit, err
}
