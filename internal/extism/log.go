package extism

import (
	"bytes"
	"errors"
	"strings"
)

const (
	maxLogLine = 4 << 10
	maxKept    = 1 << 10 // bytes kept for a TrapError from either end of stderr
)

var errLogFull = errors.New("this call has logged all it may")

// logger takes one instance's output, within a budget for each call. Only the goroutine of the call uses it.
type logger struct {
	sink  func(LogRecord)
	limit int
	left  int
	full  bool
	out   lineWriter
	err   lineWriter
	head  []byte // beginning of stderr in this call: a Go plugin's panic
	tail  []byte // end of it: a Rust plugin's
}

func newLogger(sink func(LogRecord), limit int) *logger {
	l := &logger{sink: sink, limit: limit}
	l.out, l.err = lineWriter{l: l, level: "stdout"}, lineWriter{l: l, level: "stderr"}
	return l
}

// begin opens a call's budget.
func (l *logger) begin() {
	l.left, l.full, l.head, l.tail = l.limit, false, l.head[:0], l.tail[:0]
}

// end gives out unfinished lines.
func (l *logger) end() {
	l.out.flush()
	l.err.flush()
}

// spend takes n bytes from the budget. When it is empty, the reader is told once and the writer gets an error each time:
// swallowing would let one call of the plugin write a vector of gigabytes.
func (l *logger) spend(n int) error {
	if l.left >= n {
		l.left -= n
		return nil
	}
	if !l.full {
		l.full, l.left = true, 0
		l.end()
		if l.sink != nil {
			l.sink(LogRecord{Level: "warn", Text: "the plugin logged more than it may in one call; the rest is dropped", Truncated: true})
		}
	}
	return errLogFull
}

func (l *logger) record(level string, text []byte) {
	if l.sink != nil {
		l.sink(LogRecord{Level: level, Text: strings.ToValidUTF8(string(text), "\uFFFD")})
	}
}

// lineWriter cuts a stream into lines.
type lineWriter struct {
	l     *logger
	level string
	buf   []byte
}

// Write implements io.Writer for WASI's stdout and stderr.
func (w *lineWriter) Write(p []byte) (int, error) {
	if err := w.l.spend(len(p)); err != nil {
		return 0, err
	}
	if w == &w.l.err {
		w.l.keep(p)
	}
	if w.l.sink == nil {
		return len(p), nil
	}
	for rest := p; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if room := maxLogLine - len(w.buf); len(line) > room {
			line, after, whole = rest[:room], rest[room:], true
		}
		w.buf = append(w.buf, line...)
		if whole {
			w.flush()
		}
		rest = after
	}
	return len(p), nil
}

func (w *lineWriter) flush() {
	if len(w.buf) > 0 {
		w.l.record(w.level, bytes.TrimRight(w.buf, "\r"))
		w.buf = w.buf[:0]
	}
}

func (l *logger) keep(p []byte) {
	n := min(len(p), maxKept-len(l.head))
	l.head, p = append(l.head, p[:n]...), p[n:]
	l.tail = append(l.tail, p[max(0, len(p)-maxKept):]...)
	if over := len(l.tail) - maxKept; over > 0 {
		l.tail = append(l.tail[:0], l.tail[over:]...)
	}
}

// lastOutput is what stderr began and ended with in this call.
func (l *logger) lastOutput() string {
	text := string(l.head)
	if len(l.tail) == maxKept {
		text += "\n…\n"
	}
	return strings.ToValidUTF8(text+string(l.tail), "\uFFFD")
}
