package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/spans"
)

// writeTraceText draws the runs of a trace.
func writeTraceText(ctx context.Context, w io.StringWriter, s *stream, t *spans.File, denied bool) error {
	o := &lineWriter{w: w}
	drawn := 0
	for i, r := range t.Runs {
		if interrupted(ctx, i) {
			return ctx.Err()
		}
		list := shownSpans(r, denied)
		if len(list) == 0 {
			continue
		}
		if drawn++; drawn > 1 {
			o.put("\n")
		}
		o.put(runHeading(s, r))
		l := newTraceLayout(s, r, list)
		o.put(l.axis())
		for j, span := range list {
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
func runHeading(s *stream, r *spans.Run) string {
	name := "outside of a run"
	if r.ID != "" {
		name = cutText(r.ID)
	}
	row := newTraceRow(s)
	row.add(styleBold, escapeLine(name))
	status, style := r.Status, ""
	switch {
	case status == "" && r.ID != "":
		status, style = "not ended", styleYellow
	case status == "failed", status == "expired", status == "aborted":
		style = styleRed
	}
	row.add(style, joinFilled(": ", escapeLine(status), escapeLine(string(r.Reason))))
	c := &r.Counts
	if ms := msBetween(r.First, r.Last); ms > 0 {
		row.add("", msText(ms))
	}
	if c.Calls == 1 {
		row.add("", "1 call")
	} else {
		row.add("", numbered(c.Calls, "calls"))
	}
	row.add(styleRed, numbered(c.Failed, "failed"))
	row.add(styleRed, numbered(c.Denied, "denied"))
	row.add(styleYellow, numbered(c.Unsigned, "unsigned"))
	row.add(styleDim, timeText(r.First))
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

// spanStyle is the colour of a span.
func spanStyle(s *spans.Span) string {
	switch {
	case s.Bad:
		return styleRed
	case s.Unsigned, s.Open:
		return styleYellow
	case s.Kind == spans.KindSuspended, s.Kind == spans.KindApproval, s.Kind == spans.KindEvent:
		return styleDim
	}
	return styleCyan
}

// durationText is a column of its own, empty where there is no duration.
func durationText(s *spans.Span) string {
	text := ""
	if ms, ok := s.Duration(); ok {
		text = msText(ms)
	}
	return strings.Repeat(" ", max(0, durationWidth-len(text))) + text
}

// spanDetails adds what stands beside the bar, the most important first: a terminal
// may have no room for the rest.
func spanDetails(row *traceRow, s *spans.Span) {
	row.add(statusStyle(s), statusText(s))
	if s.Unsigned {
		row.add(styleYellow, "unsigned")
	}
	if s.By != "" {
		row.add(styleDim, "by "+escapeLine(s.By))
	}
	if s.Extent != "" && s.Extent != string(host.ApproveOnce) {
		row.add(styleDim, "for the "+escapeLine(s.Extent))
	}
	row.add(styleYellow, strings.Join(s.Odd.Texts(), ", "))
	row.add("", spanSizes(s))
	if s.Count > 0 {
		row.add("", fmt.Sprintf("stands for %d", s.Count))
	}
	if s.Tool != "" && s.Tool != s.Name {
		row.add(styleDim, escapeLine(s.Tool))
	}
	if s.Caller != "" {
		row.add(styleDim, "by "+escapeLine(s.Caller))
	}
}

// statusText says how a span ended, or that it did not.
func statusText(s *spans.Span) string {
	switch {
	case s.Denied && s.Kind == spans.KindEvent:
		return joinFilled(": ", "refused", escapeLine(s.Status))
	case strings.HasPrefix(s.Rule, "denied "): // by a rule that says so itself
		return escapeLine(s.Rule)
	case s.Denied:
		return joinFilled(": ", "denied", escapeLine(s.Rule))
	case s.Open:
		return "not ended"
	case s.Status == "" && s.Bad:
		return "no status"
	}
	return joinFilled(": ", escapeLine(s.Status), escapeLine(string(s.Reason)))
}

func statusStyle(s *spans.Span) string {
	switch {
	case s.Bad:
		return styleRed
	case s.Open:
		return styleYellow
	}
	return ""
}

// sizes are the bytes that went in and came out.
func spanSizes(s *spans.Span) string {
	in, out := "", ""
	if s.InputBytes > 0 {
		in = shortSize(s.InputBytes) + " in"
	}
	switch {
	case s.OutputBytes <= 0:
	case s.Kind == spans.KindSuspended:
		out = shortSize(s.OutputBytes) + " kept"
	default:
		out = shortSize(s.OutputBytes) + " out"
	}
	return joinFilled(", ", in, out)
}

func shortSize(n int) string { return strings.Replace(fileSize(n), "bytes", "B", 1) }
