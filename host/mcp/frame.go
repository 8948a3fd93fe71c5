package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/cloister-wasm/cloister/internal/schema"
)

// Bounds on what a server may write to standard output beside messages.
const (
	maxNoiseLines = 1000
	maxNoiseBytes = 1 << 20
)

// frames reads the messages of a stdio server: one per line, of at most max bytes.
//
// Many servers write a banner, a warning or their log to standard output by mistake. A
// line that no reader could take for a message is handed to noise and skipped, up to 1000
// lines and 1 MiB between two messages; then it is an error. All others have to be correct
// messages: who skips those can be led past a message that another reader would see. A
// batch, which no version of the protocol that is spoken here has, is an error.
type frames struct {
	r     *bufio.Reader
	max   int
	noise func(line string)

	lines, bytes int
	line         []byte
}

func newFrames(r io.Reader, max int, noise func(line string)) *frames {
	return &frames{r: bufio.NewReaderSize(r, 32<<10), max: max, noise: noise}
}

// next gives a message. It is the caller's until next is called again. The error is
// io.EOF at the end of the stream, also within a line: half a message is none.
func (f *frames) next() ([]byte, error) {
	for {
		line, err := f.read()
		if err != nil {
			return nil, err
		}
		line = bytes.TrimRight(line, "\r")
		trimmed := bytes.TrimLeft(line, " \t")
		switch {
		case len(trimmed) > 0 && trimmed[0] == '{' && maybeMessage(trimmed):
			f.lines, f.bytes = 0, 0
			return trimmed, nil
		case len(trimmed) > 0 && trimmed[0] == '[' && mentionsVersion(trimmed):
			return nil, protocolError("a batch of messages on standard output")
		}
		f.lines++
		f.bytes += len(line) + 1
		if f.lines > maxNoiseLines || f.bytes > maxNoiseBytes {
			return nil, protocolError("more than %d lines or %d bytes on standard output that are no messages", maxNoiseLines, maxNoiseBytes)
		}
		if len(trimmed) > 0 {
			f.noise(string(line))
		}
	}
}

// maybeMessage says whether some reader could take a line for a message: {"level":30,"msg":"started"} of a logger and
// {port: 3000} of a debugger are none.
func maybeMessage(line []byte) bool {
	if bytes.Contains(line, []byte(`"jsonrpc"`)) { // nearly always
		return true
	}
	members := map[string]json.RawMessage{}
	if schema.Check(line) != nil || into(line, &members) != nil {
		return mentionsVersion(line)
	}
	has := map[string]bool{}
	for _, name := range []string{"jsonrpc", "id", "method", "result", "error"} {
		has[name] = members[name] != nil || folded(members, name) != ""
	}
	return has["jsonrpc"] || has["id"] && (has["method"] || has["result"] || has["error"])
}

// mentionsVersion says whether a text that may be no JSON holds the member that each message has, in any writing.
func mentionsVersion(line []byte) bool {
	return bytes.Contains(bytes.ToUpper(line), []byte("JSONRPC")) || bytes.Contains(line, []byte(`\u`))
}

// read gives one line without its end.
func (f *frames) read() ([]byte, error) {
	part, err := f.r.ReadSlice('\n')
	if err == nil && len(part)-1 <= f.max {
		return part[:len(part)-1], nil // the common case, without a copy
	}
	if cap(f.line) > 1<<20 {
		f.line = nil // one large message does not keep its memory
	}
	f.line = append(f.line[:0], part...)
	for errors.Is(err, bufio.ErrBufferFull) && len(f.line) <= f.max {
		part, err = f.r.ReadSlice('\n')
		f.line = append(f.line, part...)
	}
	switch {
	case len(bytes.TrimSuffix(f.line, []byte("\n"))) > f.max:
		return nil, protocolError("a line on standard output has more than %d bytes (limits.maxMessageBytes)", f.max)
	case err != nil:
		return nil, err
	}
	return f.line[:len(f.line)-1], nil
}
