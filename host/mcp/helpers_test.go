package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/cloister-wasm/cloister/host"
)

type hostProgress = host.MCPProgress

// fakeHTTP shakes hands in JSON, and hands calls to call.
type fakeHTTP struct {
	call  func(w http.ResponseWriter, r *http.Request, m raw)
	other map[string]func(w http.ResponseWriter, r *http.Request, m raw)
	calls atomic.Int32
}

func (f *fakeHTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var m raw
	if err := json.Unmarshal(body, &m); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if h := f.other[m.Method]; h != nil {
		h(w, r, m)
		return
	}
	switch {
	case m.Method == "initialize":
		reply(w, m, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"0"}}`)
	case m.Method == "tools/list":
		reply(w, m, `{"tools":[`+oneTool+`]}`)
	case m.Method == "tools/call":
		f.calls.Add(1)
		f.call(w, r, m)
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"not found"}}`, m.ID)
	}
}

func reply(w http.ResponseWriter, m raw, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func stream(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, text) // a client that left is the test's business
	w.(http.Flusher).Flush()
}
