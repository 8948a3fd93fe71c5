package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/quickjs"
)

// turn delivers what has settled, runs the guest's jobs and acts on the messages
// in its outbox.
func (c *cell) turn(ctx context.Context) (quickjs.State, error) {
	batch, err := c.take()
	if err != nil {
		return 0, err
	}
	state, outbox, err := c.g.turn(ctx, batch)
	if errors.Is(err, quickjs.ErrTooLarge) {
		return 0, fail(guestabi.ReasonOutputLimitExceeded, "the program put out more than %d bytes at once", maxOutbox)
	}
	if err != nil {
		return state, err
	}
	if err := c.receive(outbox); err != nil {
		return 0, err
	}
	c.launch()
	return state, nil
}

// receive acts on each message of the outbox. The outbox is what the guest says:
// a form that the prelude would not write ends the run.
func (c *cell) receive(outbox []byte) error {
	for len(outbox) > 0 {
		line, rest, found := bytes.Cut(outbox, []byte{'\n'})
		if !found {
			return badMessage()
		}
		if err := c.message(line); err != nil {
			return err
		}
		outbox = rest
	}
	return nil
}

func badMessage() error {
	return fail(guestabi.ReasonInternalError, "the guest sent a message of an unknown form")
}

func (c *cell) message(line []byte) error {
	if len(line) == 0 {
		return badMessage()
	}
	letter, rest := line[0], line[1:]
	switch letter {
	case guestabi.MsgText:
		return c.putText(rest, "")
	case guestabi.MsgConsole:
		level, text, ok := bytes.Cut(rest, []byte{','})
		if !ok || !slices.Contains(consoleLevels, string(level)) {
			return badMessage()
		}
		return c.putText(text, string(level))
	case guestabi.MsgJSON:
		value, err := guestJSON(bytes.Clone(rest))
		if err != nil {
			return err
		}
		return c.put(OutputItem{Type: "json", Value: value}, len(value))
	case guestabi.MsgOverflow:
		return c.overflow()
	}
	request, rest, ok := cutNumber(rest, c.h.cfg.MaxPendingToolCalls*QueuedPerPending)
	if !ok {
		return badMessage()
	}
	if err := c.openCheck(request); err != nil {
		return err
	}
	switch letter {
	case guestabi.MsgCall:
		n, input, ok := cutNumber(rest, len(c.run.tools))
		if !ok {
			return badMessage()
		}
		return c.requestCall(request, c.run.tools[n].ID, c.run.tools[n], input)
	case guestabi.MsgMember:
		return c.requestMember(request, rest)
	case guestabi.MsgUnknown:
		return c.requestUnknown(request, rest)
	case guestabi.MsgSearch:
		return c.requestSearch(request, rest)
	case guestabi.MsgDescribe:
		return c.requestDescribe(request, rest)
	case guestabi.MsgYield:
		c.yields = append(c.yields, request)
		return nil
	}
	return badMessage()
}

var consoleLevels = []string{"log", "info", "warn", "error", "debug"}

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

// openCheck bounds what one cell may have open, whatever its prelude says.
func (c *cell) openCheck(request int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if max := c.h.cfg.MaxPendingToolCalls * QueuedPerPending; len(c.open)+len(c.yields) > max {
		return fail(guestabi.ReasonTooManyPendingToolCalls, "more than %d tool calls are open at once", max)
	}
	if c.open[request] != nil {
		return fail(guestabi.ReasonInternalError, "the guest used a request number twice")
	}
	return nil
}

func (c *cell) putText(raw json.RawMessage, level string) error {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return fail(guestabi.ReasonInternalError, "the guest sent text that is no string")
	}
	return c.put(OutputItem{Type: "text", Text: s, Level: level}, len(s))
}

func (c *cell) put(item OutputItem, size int) error {
	const overhead = 16 // of an item's JSON, so that empty items count
	if c.outBytes+size+overhead > c.h.cfg.MaxOutputBytes {
		return c.overflow()
	}
	c.outBytes += size + overhead
	c.output = append(c.output, item)
	return nil
}

func (c *cell) overflow() error {
	return fail(guestabi.ReasonOutputLimitExceeded, "output is larger than %d bytes; return or print less, for instance counts instead of lists", c.h.cfg.MaxOutputBytes)
}

// maxCalledTools bounds the ids in the telemetry.
const maxCalledTools = 256

// requestUnknown answers a call by an id that the guest does not know. It goes
// through the dispatcher all the same, which says no and writes the trace.
func (c *cell) requestUnknown(request int, rest []byte) error {
	var pair []json.RawMessage
	if json.Unmarshal(rest, &pair) != nil || len(pair) != 2 {
		return badMessage()
	}
	var id string
	bad := json.Unmarshal(pair[0], &id) != nil || string(pair[0]) == "null"
	if e, ok := c.run.cat.Lookup(id); ok {
		// The guest knows this one by its number: it was no string there. Tools of
		// MCP servers have no number: they are reached through MCP alone.
		bad = bad || e.Source != catalog.SourceMCP
		if !bad {
			c.telemetry.CallCount++
			c.run.traceDenied(&ToolCall{ParentID: c.parentID, RunID: c.id, Tool: id})
			c.answer(request, nil, c.run.unknownTool(id))
			return nil
		}
	}
	if bad {
		c.answer(request, nil, &ToolError{Name: "TypeError", Message: "tools.call(id, input): id must be a string", Code: "invalid_input"})
		return nil
	}
	return c.requestCall(request, id, nil, pair[1])
}

// requestCall opens a tool call. Entry is nil for an id that is not in the
// guest's view of the catalog.
func (c *cell) requestCall(request int, id string, e *catalog.Entry, input []byte) error {
	return c.requestCallOf(request, id, e, input, nil)
}

// requestCallOf opens a tool call, that of a namespace's function if m is not nil.
func (c *cell) requestCallOf(request int, id string, e *catalog.Entry, input []byte, m *member) error {
	c.telemetry.CallCount++
	if t := &c.telemetry; e != nil && len(t.CalledTools) < maxCalledTools && !slices.Contains(t.CalledTools, id) {
		t.CalledTools = append(t.CalledTools, id)
	}
	c.mu.Lock()
	held := c.held
	c.mu.Unlock()
	switch {
	case len(input) > maxToolInput:
		c.answer(request, nil, &ToolError{Name: "RangeError", Message: fmt.Sprintf("the input has %d bytes, more than the %d that are allowed; pass less, or in parts", len(input), maxToolInput), Code: "tool_input_too_large"})
		return nil
	case held+len(input) > maxHeld:
		c.answer(request, nil, &ToolError{Message: fmt.Sprintf("too many pending tool calls: open calls hold %d bytes; await some before starting more", held), Code: string(guestabi.ReasonTooManyPendingToolCalls)})
		return nil
	}
	c.calls++
	oc := &openCall{request: request, since: c.h.o.Now(), tc: &ToolCall{
		ID: c.id + "." + strconv.Itoa(c.calls), ParentID: c.parentID, RunID: c.id, Tool: id, Input: bytes.Clone(input), Scope: c.run.scope,
	}}
	if m != nil {
		oc.tc.Namespace = m.path
		if m.call.MapInput {
			oc.member = m
		}
	}
	if e != nil && e.Ref.(*toolRef).client {
		c.requestClient(oc, e)
		return nil
	}
	c.begin(oc)
	return nil
}

// answer settles a request that the host answers itself.
func (c *cell) answer(request int, value json.RawMessage, err *ToolError) {
	if err != nil && err.Name == "" {
		err.Name = "Error"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[request] = &openCall{request: request, done: true, tc: &ToolCall{}}
	c.settled = append(c.settled, settlement{request: request, value: value, err: err})
}

func (c *cell) requestSearch(request int, rest []byte) error {
	c.telemetry.SearchCount++
	var pair []json.RawMessage
	if json.Unmarshal(rest, &pair) != nil || len(pair) != 2 {
		return badMessage()
	}
	var query string
	if json.Unmarshal(pair[0], &query) != nil || string(pair[0]) == "null" {
		c.answer(request, nil, &ToolError{Name: "TypeError", Message: "tools.search(query, { limit }): query must be a string", Code: "invalid_input"})
		return nil
	}
	unset := string(pair[1]) == "null"
	limit, err := strconv.Atoi(string(pair[1]))
	if err != nil {
		limit = 0
	}
	if limit, err = c.h.searchLimit(limit, unset); err != nil {
		var te *ToolError
		errors.As(err, &te)
		c.answer(request, nil, te)
		return nil
	}
	found := c.run.cat.Search(query, limit)
	c.run.stamp(&TraceEvent{Event: "search", RunID: c.id, ParentID: c.parentID})
	c.answer(request, catalog.MarshalCompact(found), nil)
	return nil
}

func (c *cell) requestDescribe(request int, rest []byte) error {
	c.telemetry.DescribeCount++
	var id string
	if json.Unmarshal(rest, &id) != nil || string(rest) == "null" {
		c.answer(request, nil, &ToolError{Name: "TypeError", Message: "tools.describe(id): id must be a string", Code: "invalid_input"})
		return nil
	}
	c.run.stamp(&TraceEvent{Event: "describe", RunID: c.id, ParentID: c.parentID, Tool: plaintext.Clip(id, 200)})
	d, err := c.run.cat.Describe(id)
	if err != nil {
		c.answer(request, nil, c.run.unknownTool(id))
		return nil
	}
	c.answer(request, d, nil)
	return nil
}

// appendFailure encodes [name, message, code].
func appendFailure(b []byte, e *ToolError) []byte {
	b = append(b, guestabi.TagArray, 3, 0, 0, 0)
	for _, s := range []string{e.Name, e.Message, e.Code} {
		b = guestabi.AppendString(b, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return b
}
