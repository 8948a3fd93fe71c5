package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/quickjs"
)

// turn runs the guest's jobs and acts on what it put into the outbox.
func (c *cell) turn(ctx context.Context) (quickjs.State, error) {
	state, outbox, err := c.g.turn(ctx, maxOutbox)
	if errors.Is(err, quickjs.ErrTooLarge) {
		return 0, fail(guestabi.ReasonOutputLimitExceeded, "the program put out more than %d bytes at once", maxOutbox)
	}
	if err != nil || len(outbox) == 0 {
		return state, err
	}
	return state, c.receive(outbox)
}

// receive acts on each item of the outbox. The outbox is what the guest says:
// a form that the prelude would not write ends the run.
func (c *cell) receive(outbox []byte) error {
	items, err := splitOutbox(outbox)
	if err != nil {
		return fail(guestabi.ReasonInternalError, "the guest's messages cannot be read: %v", err)
	}
	for _, item := range items {
		if err := c.item(item); err != nil {
			return err
		}
	}
	return nil
}

func (c *cell) item(item []json.RawMessage) error {
	bad := func() error { return fail(guestabi.ReasonInternalError, "the guest sent a message of an unknown form") }
	if len(item) == 0 {
		return bad()
	}
	kind, err := strconv.Atoi(string(item[0]))
	if err != nil {
		return bad()
	}
	switch {
	case kind == guestabi.KindText && len(item) == 2:
		return c.putText(item[1], "")
	case kind == guestabi.KindConsole && len(item) == 3:
		var level string
		if json.Unmarshal(item[1], &level) != nil {
			return bad()
		}
		return c.putText(item[2], level)
	case kind == guestabi.KindJSON && len(item) == 2:
		return c.put(OutputItem{Type: "json", Value: item[1]}, len(item[1]))
	case kind == guestabi.KindOverflow:
		return c.overflow()
	case len(item) < 3:
		return bad()
	}
	request, err := strconv.Atoi(string(item[1]))
	if err != nil || request < 0 {
		return bad()
	}
	switch {
	case kind == guestabi.KindCall && len(item) == 4:
		return c.requestCall(request, item[2], item[3])
	case kind == guestabi.KindSearch && len(item) == 4:
		return c.requestSearch(request, item[2], item[3])
	case kind == guestabi.KindDescribe && len(item) == 3:
		return c.requestDescribe(request, item[2])
	case kind == guestabi.KindYield && len(item) == 3:
		c.yields = append(c.yields, request)
		return c.openCheck(request)
	}
	return bad()
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

func (c *cell) requestCall(request int, rawID, input json.RawMessage) error {
	if err := c.openCheck(request); err != nil {
		return err
	}
	var id string
	if json.Unmarshal(rawID, &id) != nil {
		return c.answer(request, nil, &ToolError{Name: "TypeError", Message: "tools.call(id, input): id must be a string", Code: "invalid_input"})
	}
	c.telemetry.CallCount++
	if t := &c.telemetry; len(t.CalledTools) < maxCalledTools && !contains(t.CalledTools, id) {
		if _, ok := c.run.cat.Lookup(id); ok {
			t.CalledTools = append(t.CalledTools, id)
		}
	}
	now := c.h.o.Now()
	callID := c.id + "." + strconv.Itoa(request)
	oc := &openCall{request: request, since: now, tc: &ToolCall{
		ID: callID, ParentID: c.parentID, RunID: c.id, Tool: id, Input: bytes.Clone(input), Scope: c.run.scope,
	}}
	if e, ok := c.run.cat.Lookup(id); ok && e.Ref.(*toolRef).client {
		return c.requestClient(oc, e)
	}
	c.begin(oc)
	return nil
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// requestClient opens a call that the caller of Exec executes. It passes the same
// checks as any other before the caller sees it.
func (c *cell) requestClient(oc *openCall, e *catalog.Entry) error {
	tc, ref := oc.tc, e.Ref.(*toolRef)
	tc.Name, tc.Owner = e.Name, e.Owner
	c.run.emit(tc, TraceEvent{Event: "call.start", InputBytes: len(tc.Input)})
	var err error
	if hook := c.h.o.Hooks.BeforeToolCall; hook != nil {
		if herr := hook(c.ctx, tc); herr != nil {
			err = refusal("refused by a hook: "+herr.Error(), "call_refused")
		}
	}
	if err == nil {
		err = checkJSON(ref.params, tc.Input, "input of "+e.ID)
	}
	if err != nil {
		return c.answer(oc.request, nil, c.run.plainError(c.ctx, e, err))
	}
	oc.client = true
	c.begin(oc)
	if f := c.run.o.OnClientCall; f != nil {
		f(c.pendingOf(oc))
	}
	return nil
}

// answer settles a request that the host answers itself.
func (c *cell) answer(request int, value json.RawMessage, err *ToolError) error {
	if e := c.openCheck(request); e != nil {
		return e
	}
	if err != nil && err.Name == "" {
		err.Name = "Error"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[request] = &openCall{request: request, done: true, tc: &ToolCall{}}
	c.settled = append(c.settled, settlement{request: request, value: value, err: err})
	return nil
}

func (c *cell) requestSearch(request int, rawQuery, rawLimit json.RawMessage) error {
	c.telemetry.SearchCount++
	var query string
	if json.Unmarshal(rawQuery, &query) != nil || string(rawQuery) == "null" {
		return c.answer(request, nil, &ToolError{Name: "TypeError", Message: "tools.search(query, { limit }): query must be a string", Code: "invalid_input"})
	}
	limit, err := 0, error(nil)
	unset := string(rawLimit) == "null"
	if !unset {
		if limit, err = strconv.Atoi(string(rawLimit)); err != nil {
			limit = 0
		}
	}
	if limit, err = c.h.searchLimit(limit, unset); err != nil {
		var te *ToolError
		errors.As(err, &te)
		return c.answer(request, nil, te)
	}
	found := c.run.cat.Search(query, limit)
	c.run.stamp(&TraceEvent{Event: "search", RunID: c.id, ParentID: c.parentID})
	return c.answer(request, catalog.MarshalCompact(found), nil)
}

func (c *cell) requestDescribe(request int, rawID json.RawMessage) error {
	c.telemetry.DescribeCount++
	var id string
	if json.Unmarshal(rawID, &id) != nil || string(rawID) == "null" {
		return c.answer(request, nil, &ToolError{Name: "TypeError", Message: "tools.describe(id): id must be a string", Code: "invalid_input"})
	}
	c.run.stamp(&TraceEvent{Event: "describe", RunID: c.id, ParentID: c.parentID, Tool: clip(id, 200)})
	d, err := c.run.cat.Describe(id)
	if err != nil {
		return c.answer(request, nil, c.run.unknownTool(id))
	}
	return c.answer(request, d, nil)
}

// splitOutbox decodes the outbox: arrays whose elements stay raw.
func splitOutbox(outbox []byte) ([][]json.RawMessage, error) {
	text := make([]byte, 0, len(outbox)+2)
	text = append(append(append(text, '['), outbox...), ']')
	var items [][]json.RawMessage
	if err := json.Unmarshal(text, &items); err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	return items, nil
}

// appendSettlement writes [request, 1, value] or [request, 0, name, message, code].
func appendSettlement(b []byte, s settlement) []byte {
	b = strconv.AppendInt(append(b, '['), int64(s.request), 10)
	if s.err == nil {
		b = append(append(b, ",1,"...), s.value...)
		return append(b, ']')
	}
	// Marshalling three strings cannot fail.
	text, _ := json.Marshal([]string{s.err.Name, s.err.Message, s.err.Code})
	b = append(b, ",0,"...)
	return append(b, text[1:]...)
}
