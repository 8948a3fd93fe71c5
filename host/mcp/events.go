package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

const (
	maxEventField = 64 << 10 // bytes of a line that is no data
	maxEventID    = 1024
	maxRetryMs    = 30_000
)

// event is one server-sent event.
type event struct {
	name, id, retry string
	data            []byte
	hasData         bool
}

// events reads a stream of server-sent events, checks the message in each, and is itself
// such a stream with what is left for the SDK. With once it ends after the answer to the
// request id.
type events struct {
	w    *web
	body io.ReadCloser
	r    *bufio.Reader
	id   int64
	once bool

	// answered, if set, is told of the answer to id, which the SDK does not get.
	answered func(*jsonrpc.Response)
	lastID   string
	retry    string

	out  bytes.Buffer
	line []byte
	over error
}

func newEvents(w *web, body io.ReadCloser, id int64, once bool) *events {
	return &events{w: w, body: body, r: bufio.NewReaderSize(body, 16<<10), id: id, once: once}
}

// Close implements io.Closer.
func (e *events) Close() error { return e.body.Close() }

// Read implements io.Reader.
func (e *events) Read(p []byte) (int, error) {
	for e.out.Len() == 0 {
		if e.over != nil {
			return 0, e.over
		}
		e.out.Reset()
		ev, err := e.next()
		if err == nil {
			err = e.check(ev)
		}
		if err != nil {
			e.over = err
			if errors.Is(err, ErrProtocol) || errors.Is(err, ErrFlood) {
				e.over = e.w.fail(err)
			}
		}
	}
	return e.out.Read(p)
}

// check puts an event into out as the SDK gets it.
func (e *events) check(ev *event) error {
	if ev.id != "" {
		e.lastID = ev.id
	}
	if ev.retry != "" {
		e.retry = ev.retry
	}
	var data []byte
	if len(ev.data) > 0 && (ev.name == "" || ev.name == "message") {
		msg, err := e.w.s.wire.incoming(ev.data)
		if err != nil {
			return err
		}
		if r, ok := msg.(*jsonrpc.Response); ok && e.id != 0 && r.ID.Raw() == any(e.id) {
			if e.answered != nil {
				e.answered(r)
				return io.EOF
			}
			if e.once {
				e.over = io.EOF // what else it has to say is not for us
			}
		}
		if msg != nil {
			if data, err = jsonrpc.EncodeMessage(msg); err != nil {
				return err
			}
		}
	} else if err := e.w.s.wire.unasked.message(len(ev.data)); err != nil {
		return err
	}
	if ev.id != "" {
		e.out.WriteString("id: " + ev.id + "\n")
	}
	if ev.retry != "" {
		e.out.WriteString("retry: " + ev.retry + "\n")
	}
	if data != nil {
		e.out.WriteString("data: ")
		e.out.Write(data)
		e.out.WriteByte('\n')
	}
	if e.out.Len() > 0 {
		e.out.WriteByte('\n')
	}
	return nil
}

// next reads one event. A stream that ends within one has not sent it, unless the end is
// that of the body.
func (e *events) next() (*event, error) {
	ev := &event{}
	most := e.w.s.u.limits.MaxMessageBytes
	for {
		line, err := e.readLine(most)
		if err != nil {
			if errors.Is(err, io.EOF) && ev.hasData {
				return ev, nil
			}
			return nil, err
		}
		if len(line) == 0 && (ev.hasData || ev.id != "" || ev.retry != "") {
			return ev, nil
		}
		if name, _, _ := bytes.Cut(line, []byte(":")); string(name) != "data" { // what carries no message
			if err := e.w.s.wire.unasked.message(len(line)); err != nil {
				return nil, err
			}
		}
		if len(line) == 0 {
			continue
		}
		if err := ev.field(line, most); err != nil {
			return nil, err
		}
	}
}

func (e *events) readLine(most int) ([]byte, error) {
	e.line = e.line[:0]
	for {
		part, err := e.r.ReadSlice('\n')
		if len(e.line)+len(part) > most+maxEventField {
			return nil, protocolError("an event has more than %d bytes (limits.maxMessageBytes)", most)
		}
		e.line = append(e.line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && (len(e.line) == 0 || !errors.Is(err, io.EOF)) {
			return nil, err
		}
		line := bytes.TrimSuffix(e.line, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		// A lone CR ends a line for some readers and not for others.
		if bytes.ContainsAny(line, "\r\x00") || !utf8.Valid(line) {
			return nil, protocolError("a line of an event stream holds a CR, a NUL or invalid UTF-8")
		}
		return line, nil
	}
}

// field takes over one line of an event.
func (ev *event) field(line []byte, most int) error {
	name, value, _ := bytes.Cut(bytes.TrimPrefix(line, []byte("\uFEFF")), []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	if string(name) != "data" && len(line) > maxEventField {
		return protocolError("a line of an event stream that is no data has more than %d bytes", maxEventField)
	}
	switch string(name) {
	case "data":
		if len(ev.data)+len(value)+1 > most+1 {
			return protocolError("an event has more than %d bytes (limits.maxMessageBytes)", most)
		}
		if ev.hasData {
			ev.data = append(ev.data, '\n')
		}
		ev.data, ev.hasData = append(ev.data, value...), true
	case "event":
		ev.name = string(value)
	case "id":
		if len(value) > maxEventID || !plaintext.Plain(string(value)) {
			return protocolError("the id of an event has more than %d bytes or is not printable", maxEventID)
		}
		ev.id = string(value)
	case "retry":
		if n, err := strconv.Atoi(string(value)); err == nil && n > 0 {
			ev.retry = strconv.Itoa(min(n, maxRetryMs))
		}
	}
	return nil
}
