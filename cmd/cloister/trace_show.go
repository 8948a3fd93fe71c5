package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/cloister-wasm/cloister/host"
)

// writeTraceText draws the runs of a trace.
func writeTraceText(ctx context.Context, w io.StringWriter, s *stream, t *trace, denied bool) error {
	o := &lineWriter{w: w}
	drawn := 0
	for i, r := range t.runs {
		if interrupted(ctx, i) {
			return ctx.Err()
		}
		spans := r.shown(denied)
		if len(spans) == 0 {
			continue
		}
		if drawn++; drawn > 1 {
			o.put("\n")
		}
		o.put(runHeading(s, r))
		l := newTraceLayout(s, r, spans)
		o.put(l.axis(r))
		for j, span := range spans {
			if interrupted(ctx, j) {
				return ctx.Err()
			}
			o.put(l.line(span))
		}
	}
	if drawn == 0 {
		o.put(nothingDenied)
	}
	return o.err
}

const nothingDenied = "Nothing was denied and nothing failed.\n"

// runHeading says what became of a run.
func runHeading(s *stream, r *traceRun) string {
	name := "outside of a run"
	if r.id != "" {
		name = cutText(r.id)
	}
	row := newTraceRow(s)
	row.add(styleBold, escapeLine(name))
	status, style := r.status, ""
	switch {
	case status == "" && r.id != "":
		status, style = "not ended", styleYellow
	case status == "failed", status == "expired", status == "aborted":
		style = styleRed
	}
	row.add(style, joinFilled(": ", escapeLine(status), escapeLine(r.reason)))
	c := &r.counts
	if r.last > r.first {
		row.add("", msText(float64(r.last-r.first)/1000))
	}
	if c.calls == 1 {
		row.add("", "1 call")
	} else {
		row.add("", numbered(c.calls, "calls"))
	}
	row.add(styleRed, numbered(c.failed, "failed"))
	row.add(styleRed, numbered(c.denied, "denied"))
	row.add(styleYellow, numbered(c.unsigned, "unsigned"))
	row.add(styleDim, timeText(r.first))
	return row.end()
}

// joinFilled leaves out what is empty.
func joinFilled(separator string, parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, separator)
}

// numbered is empty for none.
func numbered(n int, what string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d %s", n, what)
}

// msText is a duration of milliseconds, in about three digits.
func msText(ms float64) string {
	switch {
	case ms < 9.995:
		return fmt.Sprintf("%.2f ms", ms)
	case ms < 99.95:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 999.5:
		return fmt.Sprintf("%.0f ms", ms)
	case ms < 59_995:
		return fmt.Sprintf("%.2f s", ms/1000)
	}
	// The times of a trace span ten thousand years, more than a time.Duration holds.
	seconds := int64(math.Round(ms / 1000))
	switch {
	case seconds < 3600:
		return fmt.Sprintf("%dm%02ds", seconds/60, seconds%60)
	case seconds < 48*3600:
		return fmt.Sprintf("%dh%02dm", seconds/3600, seconds%3600/60)
	}
	return fmt.Sprintf("%d days", seconds/(24*3600))
}

// style is the colour of a span.
func (s *traceSpan) style() string {
	switch {
	case s.bad:
		return styleRed
	case s.unsigned, s.open:
		return styleYellow
	case s.kind == spanSuspended, s.kind == spanApproval, s.kind == spanEvent:
		return styleDim
	}
	return styleCyan
}

// durationText is a column of its own, empty where there is no duration.
func (s *traceSpan) durationText() string {
	text := ""
	if ms, ok := s.duration(); ok {
		text = msText(ms)
	}
	return strings.Repeat(" ", max(0, durationWidth-len(text))) + text
}

// details adds what stands beside the bar, the most important first: a terminal
// may have no room for the rest.
func (s *traceSpan) details(row *traceRow) {
	row.add(s.statusStyle(), s.statusText())
	if s.unsigned {
		row.add(styleYellow, "unsigned")
	}
	if s.by != "" {
		row.add(styleDim, "by "+escapeLine(s.by))
	}
	if s.extent != "" && s.extent != string(host.ApproveOnce) {
		row.add(styleDim, "for the "+escapeLine(s.extent))
	}
	row.add(styleYellow, strings.Join(s.odd.list(), ", "))
	row.add("", s.sizes())
	if s.tool != "" && s.tool != s.name {
		row.add(styleDim, escapeLine(s.tool))
	}
	if s.caller != "" {
		row.add(styleDim, "by "+escapeLine(s.caller))
	}
}

// statusText says how a span ended, or that it did not.
func (s *traceSpan) statusText() string {
	switch {
	case s.denied && s.kind == spanEvent:
		return joinFilled(": ", "refused", escapeLine(s.status))
	case strings.HasPrefix(s.rule, "denied "): // by a rule that says so itself
		return escapeLine(s.rule)
	case s.denied:
		return joinFilled(": ", "denied", escapeLine(s.rule))
	case s.open:
		return "not ended"
	case s.status == "" && s.bad:
		return "no status"
	}
	return joinFilled(": ", escapeLine(s.status), escapeLine(string(s.reason)))
}

func (s *traceSpan) statusStyle() string {
	switch {
	case s.bad:
		return styleRed
	case s.open:
		return styleYellow
	}
	return ""
}

// sizes are the bytes that went in and came out.
func (s *traceSpan) sizes() string {
	in, out := "", ""
	if s.in > 0 {
		in = shortSize(s.in) + " in"
	}
	switch {
	case s.out <= 0:
	case s.kind == spanSuspended:
		out = shortSize(s.out) + " kept"
	default:
		out = shortSize(s.out) + " out"
	}
	return joinFilled(", ", in, out)
}

func shortSize(n int) string { return strings.Replace(fileSize(n), "bytes", "B", 1) }
