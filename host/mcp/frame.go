package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Bounds on what a server may write to standard output beside messages.
const (
	maxNoiseLines = 1000
	maxNoiseBytes = 1 << 20
)

// frames reads the messages of a stdio server: one per line, of at most max bytes.
//
// Many servers write a banner or a warning to standard output by mistake. A line that
// does not begin with "{" cannot be taken for a message: it is handed to noise and
// skipped, up to 1000 lines and 1 MiB in one connection; then it is an error. A line that
// begins with "{" is a message, and so has to be a correct one: who skips those can be
// led past a message that another reader would see. A line that begins with "[" is a
// batch, which no version of the protocol that is spoken here has, and an error.
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
		case len(trimmed) > 0 && trimmed[0] == '{':
			return trimmed, nil
		case len(trimmed) > 0 && trimmed[0] == '[':
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
