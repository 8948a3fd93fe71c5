package mcp

import (
	"encoding/json"

	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// notification never reaches the SDK, which would queue without a bound.
func (w *wire) notification(e *envelope) (jsonrpc.Message, error) {
	switch e.method {
	case noteToolsChanged, notePromptsChanged, noteResChanged:
		w.changed()
	case noteProgress:
		return nil, w.progressed(e.Params)
	case noteMessage:
		w.logged(e.Params)
	}
	return nil, nil
}

func (w *wire) progressed(params json.RawMessage) error {
	var p struct {
		Token    json.RawMessage `json:"progressToken"`
		Progress float64         `json:"progress"`
		Total    float64         `json:"total"`
		Message  string          `json:"message"`
	}
	if err := schema.DecodeInto(params, &p, &schema.DecodeOptions{AllowUnknown: true, Checked: true}); err != nil {
		return protocolError("%s: %v", noteProgress, err)
	}
	w.mu.Lock()
	c := w.progress[string(p.Token)]
	w.mu.Unlock()
	if c != nil {
		c.progressed(p.Progress, p.Total, p.Message)
	}
	return nil
}

func (w *wire) logged(params json.RawMessage) {
	var p struct {
		Level  string          `json:"level"`
		Logger string          `json:"logger"`
		Data   json.RawMessage `json:"data"`
	}
	// A log entry that cannot be read is not worth a connection.
	if schema.DecodeInto(params, &p, &schema.DecodeOptions{AllowUnknown: true, Checked: true}) == nil {
		w.log(plaintext.Short(p.Level, 20), plaintext.Short(p.Logger, 80)+": "+plaintext.Short(string(p.Data), maxLine))
	}
}
