package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// progressQueue is how many progress notifications wait for a slow reader; the rest are
// left out, since a later one says more.
const progressQueue = 16

// maxProgressText bounds the message of a progress notification, in bytes.
const maxProgressText = 1000

// call is one request of ours on its way through the SDK: the wire finds it by the
// context of the request.
type call struct {
	token    string // progress token, "" without
	progress chan host.MCPProgress

	mu     sync.Mutex
	sent   []int64 // ids under which it was sent
	result json.RawMessage
	status int // HTTP status that was not a success
	retry  string
	before bool // the connection was never made: surely not sent
	fault  error
	rpc    *jsonrpc.Error // what the server answered in place of a result
}

type callKey struct{}

func (c *call) context(ctx context.Context) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

func callFrom(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

func (c *call) send(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = append(c.sent, id)
	c.status, c.retry, c.before, c.fault, c.rpc = 0, "", false, nil, nil
}

// answered notes a JSON-RPC error.
func (c *call) answered(err *jsonrpc.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rpc = err
}

// refusal is the JSON-RPC error of the server, nil if there is none.
func (c *call) refusal() *jsonrpc.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rpc
}

func (c *call) sentIDs() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent
}

func (c *call) finish(result json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result = result
}

// refused notes an HTTP status that was no success.
func (c *call) refused(resp *http.Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status, c.retry = resp.StatusCode, plaintext.Short(resp.Header.Get("Retry-After"), 40)
}

// failed notes why the request did not get through. before says that it was surely not
// sent.
func (c *call) failed(err error, before bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault, c.before = err, before
}

// unsent says that the server has surely not seen the request.
func (c *call) unsent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.sent) == 0 || c.before
}

func (c *call) outcome() (result json.RawMessage, status int, retry string, fault error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.result, c.status, c.retry, c.fault
}

func (c *call) progressed(progress, total float64, message string) {
	select {
	case c.progress <- host.MCPProgress{Progress: progress, Total: total, Message: plaintext.Short(message, maxProgressText)}:
	default:
	}
}
