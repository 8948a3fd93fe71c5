package hosttest

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/cloister-wasm/cloister/host"
)

// Echo is a tool that gives its input back.
func Echo(name string) host.RawTool {
	return host.RawTool{
		Name: name, Description: "Give the input back unchanged.",
		Call: func(_ context.Context, input json.RawMessage) (json.RawMessage, error) { return input, nil },
	}
}

// Static is a tool that always gives the same bytes, which need not be JSON: to
// see what the host makes of a tool that misbehaves.
func Static(name, result string) host.RawTool {
	return host.RawTool{
		Name: name, Description: "Give a fixed result.",
		Call: func(context.Context, json.RawMessage) (json.RawMessage, error) { return json.RawMessage(result), nil },
	}
}

// Failing is a tool that always fails with err.
func Failing(name string, err error) host.RawTool {
	return host.RawTool{
		Name: name, Description: "Fail.",
		Call: func(context.Context, json.RawMessage) (json.RawMessage, error) { return nil, err },
	}
}

// Panicking is a tool that panics with v.
func Panicking(name string, v any) host.RawTool {
	return host.RawTool{
		Name: name, Description: "Panic.",
		Call: func(context.Context, json.RawMessage) (json.RawMessage, error) { panic(v) },
	}
}

// Stuck is a tool that answers only when its context ends, with the context's
// error: what a tool with a timeout, or of an aborted run, looks like.
func Stuck(name string) host.RawTool {
	return host.RawTool{
		Name: name, Description: "Wait for the end of the context.",
		Call: func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}
}

// Log records the calls that tools really got. A call that the host refused is
// not in it. The zero value is ready to use.
type Log struct {
	mu    sync.Mutex
	calls []Call
}

// Call is a call that a tool got.
type Call struct {
	// ToolCall is a copy of what the host knew about the call.
	host.ToolCall
	// Input is what the tool got.
	Input json.RawMessage
}

// Tool gives t with its calls recorded in l.
func (l *Log) Tool(t host.RawTool) host.RawTool {
	inner := t.Call
	t.Call = func(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
		c := Call{Input: slices.Clone(input)}
		if tc, ok := host.CallFrom(ctx); ok {
			c.ToolCall = *tc
		}
		l.mu.Lock()
		l.calls = append(l.calls, c)
		l.mu.Unlock()
		return inner(ctx, input)
	}
	return t
}

// Calls gives the calls so far, in the order in which they began.
func (l *Log) Calls() []Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.calls)
}

// Tools gives the catalog ids of the calls so far.
func (l *Log) Tools() []string {
	ids := []string{}
	for _, c := range l.Calls() {
		ids = append(ids, c.Tool)
	}
	return ids
}

// Reset forgets the calls so far.
func (l *Log) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = nil
}
