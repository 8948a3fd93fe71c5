package host

import (
	"encoding/json"
	"io"
	"sync"

	"github.com/cloister-wasm/cloister/api"
)

// JSONLTrace writes events as JSON lines. It is safe for concurrent use.
type JSONLTrace struct {
	mu  sync.Mutex
	enc *json.Encoder
	err error
}

// NewJSONLTrace makes a sink that writes one JSON object a line to w.
func NewJSONLTrace(w io.Writer) *JSONLTrace { return &JSONLTrace{enc: json.NewEncoder(w)} }

// Emit implements TraceSink.
func (t *JSONLTrace) Emit(e api.TraceEvent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = t.enc.Encode(e)
	}
}

// Err gives the first error of the underlying writer.
func (t *JSONLTrace) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}
