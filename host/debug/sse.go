package debug

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// maxLine bounds what is kept of an event or a line.
	maxLine = 64 << 10
	// maxEvents bounds the events of one stream that are logged, peeked those that are
	// shown by peek.
	maxEvents = 1000
	peeked    = 5
	// maxPeek bounds what is shown of one event.
	maxPeek = 2048
	// maxKinds bounds the kinds that are counted.
	maxKinds = 100
)

// eventLog reads a stream of server-sent events as it passes. It keeps one event.
type eventLog struct {
	d     *Debug
	start time.Time

	line  []byte // the line at hand, as far as it is kept
	long  bool   // it is longer
	cr    bool   // the byte before was a carriage return
	name  string
	data  []byte
	bytes int // of the event
	any   bool

	count int
	kinds map[string]int

	// each, if set, is given the data of each event, of which limit bytes are kept.
	each  func(data []byte, whole bool)
	limit int
	cut   bool
}

func (l *eventLog) write(p []byte) {
	for len(p) > 0 {
		i := bytes.IndexAny(p, "\r\n")
		if i < 0 {
			l.keep(p)
			return
		}
		l.keep(p[:i])
		if p[i] != '\n' || !l.cr || i > 0 { // \r\n is one end of a line
			l.endLine()
		}
		l.cr = p[i] == '\r'
		p = p[i+1:]
	}
}

func (l *eventLog) keep(p []byte) {
	if len(p) == 0 {
		return
	}
	l.bytes += len(p)
	l.cr = false
	if room := max(maxLine, l.limit) - len(l.line); len(p) > room {
		p, l.long = p[:room], true
	}
	l.line = append(l.line, p...)
}

// endLine takes a line: a field, or the end of an event.
func (l *eventLog) endLine() {
	line, long := l.line, l.long
	l.line, l.long = l.line[:0], false
	if len(line) == 0 {
		if l.any {
			l.event()
		}
		l.name, l.data, l.bytes, l.any, l.cut = "", l.data[:0], 0, false, false
		return
	}
	field, value, _ := strings.Cut(string(line), ":")
	value = strings.TrimPrefix(value, " ")
	switch field {
	case "event":
		l.name, l.any = value, true
	case "data":
		l.any = true
		room := max(maxLine, l.limit) - len(l.data)
		l.cut = l.cut || long || len(value) > room
		if room > 0 {
			l.data = append(append(l.data, value[:min(room, len(value))]...), '\n')
		}
	}
	l.any = l.any || long
}

// event logs an event.
func (l *eventLog) event() {
	data := bytes.TrimSuffix(l.data, []byte("\n"))
	if l.each != nil && len(data) > 0 { // one without data only says that the stream is there
		l.each(data, !l.cut)
	}
	if l.d.on.SSE == "" {
		return
	}
	kind := l.kind()
	l.count++
	if l.kinds == nil {
		l.kinds = map[string]int{}
	}
	if _, known := l.kinds[kind]; !known && len(l.kinds) >= maxKinds {
		kind = "(others)"
	}
	l.kinds[kind]++
	attrs := []any{"n", l.count, "event", kind, "bytes", l.bytes, "sinceMs", since(l.start)}
	switch {
	case l.d.on.SSE == SSEPeek && l.count <= peeked:
		attrs = append(attrs, "data", l.d.redactor.Pieces().JSON(data, maxPeek))
	case l.d.on.SSE == SSEPeek || l.count > maxEvents:
		return
	}
	l.d.log.Debug("model event", attrs...)
}

// kind gives the event's name, or the type in its data.
func (l *eventLog) kind() string {
	if l.name != "" {
		return l.d.redactor.Looking(256).Text(l.name, 64)
	}
	data := bytes.TrimSpace(l.data)
	var head struct {
		Type   string `json:"type"`
		Object string `json:"object"`
	}
	switch {
	case string(data) == "[DONE]":
		return "[DONE]"
	case json.Unmarshal(data, &head) != nil || head.Type+head.Object == "":
		return "message" // what an event without a name is
	case head.Type != "":
		return l.d.redactor.Looking(256).Text(head.Type, 64)
	}
	return l.d.redactor.Looking(256).Text(head.Object, 64)
}

// end logs a summary.
func (l *eventLog) end() {
	if l.d.on.SSE == "" {
		return
	}
	kinds := make([]string, 0, len(l.kinds))
	for k, n := range l.kinds {
		kinds = append(kinds, fmt.Sprintf("%s×%d", k, n))
	}
	slices.Sort(kinds)
	l.d.log.Debug("model stream ended", "events", l.count, "kinds", kinds, "unfinished", l.any || len(l.line) > 0, "durationMs", since(l.start))
}
