package codemode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/dispatch"
	"github.com/cloister-wasm/cloister/internal/guestloop"
	"github.com/cloister-wasm/cloister/internal/view"
)

func badMessage() error {
	return fail(guestabi.ReasonInternalError, "the guest sent a message of an unknown form")
}

var consoleLevels = []string{"log", "info", "warn", "error", "debug"}

// Message implements guestloop.Program. A message is what the guest says: a form that the prelude
// would not write ends the run.
func (c *cell) Message(line []byte) error {
	if len(line) == 0 {
		return badMessage()
	}
	letter, rest := line[0], line[1:]
	switch letter {
	case guestabi.MsgText:
		return c.report.text(rest, "")
	case guestabi.MsgConsole:
		level, text, ok := bytes.Cut(rest, []byte{','})
		if !ok || !slices.Contains(consoleLevels, string(level)) {
			return badMessage()
		}
		return c.report.text(text, string(level))
	case guestabi.MsgJSON:
		return c.report.json(rest)
	case guestabi.MsgOverflow:
		return c.report.overflow()
	}
	request, rest, ok := cutNumber(rest, c.h.cfg.MaxPendingToolCalls*api.QueuedPerPending)
	if !ok {
		return badMessage()
	}
	if letter == guestabi.MsgYield {
		return c.loop.Yield(request)
	}
	if err, over := c.overCalls(request); over {
		return err
	}
	switch letter {
	case guestabi.MsgCall:
		n, input, ok := cutNumber(rest, len(c.run.view.GuestTools))
		if !ok {
			return badMessage()
		}
		return c.requestCall(request, c.run.view.GuestTools[n].ID, c.run.view.GuestTools[n], input, nil)
	case guestabi.MsgMember:
		return c.requestMember(request, rest)
	case guestabi.MsgUnknown:
		return c.requestUnknown(request, rest)
	case guestabi.MsgSearch:
		return c.requestSearch(request, rest)
	case guestabi.MsgDescribe:
		return c.requestDescribe(request, rest)
	}
	return badMessage()
}

// cutNumber reads a decimal number below bound and the comma behind it.
func cutNumber(b []byte, bound int) (n int, rest []byte, ok bool) {
	for i, c := range b {
		if c == ',' && i > 0 {
			return n, b[i+1:], true
		}
		if c < '0' || c > '9' || i > 0 && n == 0 {
			return 0, nil, false
		}
		if n = n*10 + int(c-'0'); n >= bound {
			return 0, nil, false
		}
	}
	return 0, nil, false
}

// overCalls refuses what goes over Options.MaxCalls: as a failure that the program may catch, and, when it does
// not heed that, by ending it. The trace counts these instead of listing them.
func (c *cell) overCalls(request int) (err error, over bool) {
	max := c.h.o.MaxCalls
	n := c.report.request()
	if n <= max {
		return nil, false
	}
	c.refused++
	message := fmt.Sprintf("too many tool calls: one program may make %d calls, searches and descriptions", max)
	if n > 2*max {
		return fail(guestabi.ReasonTooManyPendingToolCalls, "%s", message), true
	}
	return c.fail(request, &api.ToolError{Message: message, Code: api.CodeTooManyPending}), true
}

func (c *cell) traceRefused() {
	if c.refused > 0 {
		c.run.calls.Stamp(&api.TraceEvent{Event: api.EventCallsMore, CellID: c.id, ParentID: c.parentID, Count: c.refused, Status: string(api.CodeTooManyPending)})
	}
}

// answer settles a request with a value of the host's own.
func (c *cell) answer(request int, value json.RawMessage) error {
	err := c.loop.Answer(request, guestloop.Outcome{Value: value})
	if errors.Is(err, guestloop.ErrNoRoom) {
		return c.fail(request, c.noRoom())
	}
	return err
}

// answerJSON is answer for a value that has a JSON form.
func (c *cell) answerJSON(request int, value any) error {
	text, err := json.Marshal(value)
	if err != nil { // a schema that was checked when it was registered
		return c.fail(request, &api.ToolError{Message: "the answer has no JSON form", Code: api.CodeInternalError})
	}
	return c.answer(request, text)
}

// fail settles a request with a failure.
func (c *cell) fail(request int, te *api.ToolError) error {
	name := te.Name
	if name == "" {
		name = "Error"
	}
	return c.loop.Answer(request, guestloop.Outcome{Failure: &guestabi.Thrown{Name: name, Message: te.Message, Code: string(te.Code)}})
}

func (c *cell) noRoom() *api.ToolError {
	return &api.ToolError{Message: fmt.Sprintf("too many pending tool calls: open calls hold %d bytes; await some before starting more", c.loop.Held()), Code: api.CodeTooManyPending}
}

// requestUnknown answers a call by an id that the guest does not know. It goes
// through the dispatcher all the same, which says no and writes the trace.
func (c *cell) requestUnknown(request int, rest []byte) error {
	var pair []json.RawMessage
	if json.Unmarshal(rest, &pair) != nil || len(pair) != 2 {
		return badMessage()
	}
	var id string
	bad := json.Unmarshal(pair[0], &id) != nil || string(pair[0]) == "null"
	if e, ok := c.run.view.Catalog.Lookup(id); ok {
		// The guest knows this one by its number: it was no string there. Tools of
		// MCP servers have no number: they are reached through MCP alone.
		bad = bad || e.Source != catalog.SourceMCP
		if !bad {
			c.report.count(func(t *api.Telemetry) { t.CallCount++ })
			c.run.calls.TraceDenied(&api.ToolCall{ParentID: c.parentID, CellID: c.id, Tool: id})
			return c.fail(request, c.run.view.UnknownTool(id))
		}
	}
	if bad {
		return c.fail(request, &api.ToolError{Name: "TypeError", Message: "tools.call(id, input): id must be a string", Code: api.CodeInvalidInput})
	}
	return c.requestCall(request, id, nil, pair[1], nil)
}

// requestCall opens a tool call, that of a namespace's function if m is not nil. Entry is nil for an
// id that is not in the guest's view of the catalog.
func (c *cell) requestCall(request int, id string, e *catalog.Entry, input []byte, m *view.Member) error {
	c.report.count(func(t *api.Telemetry) { t.CallCount++ })
	if e != nil {
		c.report.called(id)
	}
	if len(input) > maxToolInput {
		return c.fail(request, &api.ToolError{Name: "RangeError", Message: fmt.Sprintf("the input has %d bytes, more than the %d that are allowed; pass less, or in parts", len(input), maxToolInput), Code: api.CodeToolInputTooLarge})
	}
	c.calls++
	cl := c.run.calls.NewCall(&dispatch.CallOptions{
		Call: &api.ToolCall{
			ID: c.id + "." + strconv.Itoa(c.calls), ParentID: c.parentID, CellID: c.id, Tool: id, Input: bytes.Clone(input), Scope: c.run.calls.Scope(),
		},
		Grants: &c.grants, Settled: c.answered, Files: c.files, Member: m,
	})
	client := e != nil && e.Source == catalog.SourceClient
	err := c.loop.Open(request, guestloop.Opening{Work: cl.Work, Data: cl, Size: len(input), Early: client})
	if errors.Is(err, guestloop.ErrNoRoom) {
		return c.fail(request, c.noRoom())
	}
	return err
}

func (c *cell) requestSearch(request int, rest []byte) error {
	c.report.count(func(t *api.Telemetry) { t.SearchCount++ })
	var pair []json.RawMessage
	if json.Unmarshal(rest, &pair) != nil || len(pair) != 2 {
		return badMessage()
	}
	var query string
	if json.Unmarshal(pair[0], &query) != nil || string(pair[0]) == "null" {
		return c.fail(request, &api.ToolError{Name: "TypeError", Message: "tools.search(query, { limit }): query must be a string", Code: api.CodeInvalidInput})
	}
	unset := string(pair[1]) == "null"
	limit, err := strconv.Atoi(string(pair[1]))
	if err != nil {
		limit = 0
	}
	if limit, err = c.h.SearchLimit(limit, unset); err != nil {
		var te *api.ToolError
		errors.As(err, &te)
		return c.fail(request, te)
	}
	found := c.run.view.Catalog.Search(query, limit)
	c.run.calls.Stamp(&api.TraceEvent{Event: api.EventSearch, CellID: c.id, ParentID: c.parentID})
	return c.answer(request, catalog.MarshalCompact(found))
}

func (c *cell) requestDescribe(request int, rest []byte) error {
	c.report.count(func(t *api.Telemetry) { t.DescribeCount++ })
	var id string
	if json.Unmarshal(rest, &id) != nil || string(rest) == "null" {
		return c.fail(request, &api.ToolError{Name: "TypeError", Message: "tools.describe(id): id must be a string", Code: api.CodeInvalidInput})
	}
	c.run.calls.Stamp(&api.TraceEvent{Event: api.EventDescribe, CellID: c.id, ParentID: c.parentID, Tool: c.run.view.KnownID(id)})
	d, err := c.run.view.Catalog.Describe(id)
	if err != nil {
		return c.fail(request, c.run.view.UnknownTool(id))
	}
	return c.answer(request, d)
}
