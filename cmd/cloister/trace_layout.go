package main

import (
	"strings"
	"time"

	"github.com/cloister-wasm/cloister/internal/spans"
)

const (
	durationWidth  = 8  // columns of a duration
	detailsWidth   = 38 // columns to leave for what stands beside the bars, if there are as many
	minBar, maxBar = 8, 60
	narrowWidth    = 60
	indentWidth    = 2
)

// traceLayout says in which columns the parts of a run's lines stand.
type traceLayout struct {
	s           *stream
	names, bars int
	narrow      bool // without durations, so that there is room for what happened
	first       time.Time
	ms          float64 // from the first moment to the last
}

func newTraceLayout(out *stream, r *spans.Run, list []*spans.Span) *traceLayout {
	l := &traceLayout{s: out, first: r.First, ms: msBetween(r.First, r.Last)}
	width := out.width()
	l.narrow = width < narrowWidth
	l.names = min(maxNameWidth, width*2/5)
	longest := len(axisLabel)
	for _, s := range list {
		longest = max(longest, l.indent(s)+textWidth(escapeLine(s.Name)))
	}
	l.names = min(l.names, longest)
	l.bars = min(max(width-1-l.names-2-detailsWidth, minBar), maxBar)
	return l
}

// indent shows the depth, as far as there is room: it takes at most half of the
// column of names.
func (l *traceLayout) indent(s *spans.Span) int { return min(s.Depth*indentWidth, l.names/2) }

const axisLabel = "since start"

// axis says what the ends of the bars stand for.
func (l *traceLayout) axis() string {
	row := l.row()
	from, to := "0", msText(l.ms)
	scale := from + strings.Repeat(" ", max(1, l.bars-len(from)-textWidth(to))) + to
	row.put(styleDim, pad(clip(axisLabel, l.names), l.names)+"  "+scale)
	return row.end()
}

// line is one span.
func (l *traceLayout) line(s *spans.Span) string {
	row := l.row()
	name := escapeLine(s.Name)
	if name == "" {
		name = "(no name)"
	}
	indent := l.indent(s)
	if l.s.tty {
		name = clip(name, max(l.names-indent, 1))
	}
	row.put("", strings.Repeat(" ", indent)+pad(name, l.names-indent)+"  ")
	before, bar, after := l.bar(s)
	row.put("", strings.Repeat(" ", before))
	row.put(spanStyle(s), bar)
	row.put("", strings.Repeat(" ", after+2))
	if !l.narrow {
		row.add("", durationText(s))
	}
	spanDetails(row, s)
	return row.end()
}

// bar draws a span on the scale: at least one column, inside it.
func (l *traceLayout) bar(s *spans.Span) (before int, bar string, after int) {
	from, to := l.column(s.Start), l.column(s.End)
	from = min(from, l.bars-1)
	n := max(to-from, 1)
	switch {
	case s.Denied:
		n, bar = 1, "×"
	case s.Kind == spans.KindEvent:
		n, bar = 1, "◆"
	case s.Kind == spans.KindSuspended:
		bar = strings.Repeat("░", n)
	default:
		bar = strings.Repeat("█", n)
	}
	if s.Open && !s.Denied {
		bar = strings.TrimSuffix(strings.TrimSuffix(bar, "█"), "░") + "▶"
	}
	return from, bar, l.bars - from - n
}

// column is where a moment lies on the scale.
func (l *traceLayout) column(at time.Time) int {
	if l.ms <= 0 {
		return 0
	}
	c := int(msBetween(l.first, at)/l.ms*float64(l.bars) + 0.5)
	return min(max(c, 0), l.bars)
}

func (l *traceLayout) row() *traceRow { return newTraceRow(l.s) }

// traceRow is a line that is cut at the edge of a terminal; elsewhere it is as long
// as it is.
type traceRow struct {
	s    *stream
	b    strings.Builder
	left int // columns; without meaning if unbounded
	some bool
}

func newTraceRow(s *stream) *traceRow { return &traceRow{s: s, left: s.tableWidth() - 1} }

// add puts a part, apart from the one before it by two spaces.
func (r *traceRow) add(style, text string) {
	if text == "" {
		return
	}
	if r.some {
		r.put("", "  ")
	}
	r.put(style, text)
	r.some = true
}

// put puts text. It is cut before it is coloured.
func (r *traceRow) put(style, text string) {
	if r.s.tty {
		if r.left <= 0 || r.left <= len(text) && strings.Trim(text, " ") == "" {
			r.left = 0 // a mark for spaces that were cut would mean nothing
			return
		}
		text = clip(text, r.left)
		r.left -= textWidth(text)
	}
	if style != "" {
		text = r.s.paint(style, text)
	}
	r.b.WriteString(text)
}

// end gives the line.
func (r *traceRow) end() string { return strings.TrimRight(r.b.String(), " ") + "\n" }
