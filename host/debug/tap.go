package debug

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"sync"
)

// Reader wraps the side of a stream from which messages of MCP come, one a line,
// and logs them as they are read. name says whose they are.
func (d *Debug) Reader(name string, r io.ReadCloser) io.ReadCloser {
	if d == nil || !d.on.Transport && d.on.Payload == "" {
		return r
	}
	return &readTap{ReadCloser: r, lines: lineLog{d: d, name: name, direction: "received"}}
}

// Writer wraps the side of a stream to which messages of MCP go, one a line, and
// logs them as they are written.
func (d *Debug) Writer(name string, w io.WriteCloser) io.WriteCloser {
	if d == nil || !d.on.Transport && d.on.Payload == "" {
		return w
	}
	return &writeTap{WriteCloser: w, lines: lineLog{d: d, name: name, direction: "sent"}}
}

type readTap struct {
	io.ReadCloser
	lines lineLog
}

// Read implements io.Reader.
func (t *readTap) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.lines.write(p[:n])
	if err != nil {
		t.lines.end(err)
	}
	return n, err
}

type writeTap struct {
	io.WriteCloser
	lines lineLog
}

// Write implements io.Writer.
func (t *writeTap) Write(p []byte) (int, error) {
	n, err := t.WriteCloser.Write(p)
	t.lines.write(p[:n])
	if err != nil {
		t.lines.end(err)
	}
	return n, err
}

// lineLog logs the lines of a stream as messages of JSON-RPC.
type lineLog struct {
	d               *Debug
	name, direction string

	mu    sync.Mutex
	line  capture
	ended bool
}

func (l *lineLog) write(p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(p) > 0 {
		line, rest, found := bytes.Cut(p, []byte("\n"))
		l.line.write(line)
		if !found {
			return
		}
		if l.line.total > 0 {
			l.d.message(l.name, l.direction, &l.line)
		}
		l.line = capture{}
		p = rest
	}
}

// end logs that the stream is over.
func (l *lineLog) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended || !l.d.on.Transport {
		return
	}
	l.ended = true
	l.d.log.Debug("mcp stream ended", "peer", l.name, "direction", l.direction, "end", l.d.text(err.Error()), "unfinishedBytes", l.line.total)
}

// message logs one message.
func (d *Debug) message(name, direction string, c *capture) {
	attrs := []any{"peer", name, "direction", direction, "bytes", c.total}
	attrs = append(attrs, d.envelope(c)...)
	d.log.Debug("mcp message", append(attrs, d.payload(c)...)...)
}

// envelope says what a message of JSON-RPC is: its method and id, never more.
func (d *Debug) envelope(c *capture) []any {
	var m struct {
		Method string          `json:"method"`
		ID     json.RawMessage `json:"id"`
		Error  *struct {
			Code json.Number `json:"code"`
		} `json:"error"`
		Result json.RawMessage `json:"result"`
	}
	if !c.whole() {
		return []any{"kind", "larger than what is looked at"}
	}
	if err := json.Unmarshal(c.data, &m); err != nil {
		return []any{"kind", "no JSON-RPC"}
	}
	kind := "notification"
	switch {
	case m.Error != nil:
		kind = "error"
	case m.Result != nil:
		kind = "result"
	case m.ID != nil:
		kind = "request"
	}
	attrs := []any{"kind", kind}
	if m.Method != "" {
		attrs = append(attrs, "rpc", d.text(m.Method))
	}
	if id := strings.Trim(string(m.ID), `"`); id != "" {
		attrs = append(attrs, "id", d.text(id))
	}
	if m.Error != nil {
		attrs = append(attrs, "code", d.text(m.Error.Code.String()))
	}
	return attrs
}
