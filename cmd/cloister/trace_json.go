package main

import (
	"context"
	"io"
	"strconv"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/spans"
)

// jsonRun is a run as --json gives it, without its spans.
type jsonRun struct {
	Run         string  `json:"run"` // "" for what belongs to no run
	Start       string  `json:"start"`
	DurationMs  float64 `json:"durationMs"`
	Status      string  `json:"status,omitempty"`
	Reason      string  `json:"reason,omitempty"`
	Calls       int     `json:"calls"`
	Failed      int     `json:"failed"`
	Denied      int     `json:"denied"`
	Unsigned    int     `json:"unsigned"`
	spans.Scope         // of the run's first event
}

// jsonSpan is a span as --json gives it.
type jsonSpan struct {
	ID          int             `json:"id"`
	Parent      int             `json:"parent,omitempty"`
	Kind        string          `json:"kind"`
	Name        string          `json:"name"`
	CallID      string          `json:"callId,omitempty"`
	Tool        string          `json:"tool,omitempty"`
	Namespace   string          `json:"namespace,omitempty"`
	Caller      string          `json:"caller,omitempty"`
	StartMs     float64         `json:"startMs"`
	DurationMs  *float64        `json:"durationMs,omitempty"`
	Open        bool            `json:"open,omitempty"`
	Status      string          `json:"status,omitempty"`
	Reason      guestabi.Reason `json:"reason,omitempty"`
	Denied      bool            `json:"denied,omitempty"`
	Rule        string          `json:"rule,omitempty"`
	Unsigned    bool            `json:"unsigned,omitempty"`
	Untrusted   bool            `json:"untrusted,omitempty"`
	By          string          `json:"by,omitempty"`
	Extent      string          `json:"extent,omitempty"`
	InputBytes  int             `json:"inputBytes,omitempty"`
	OutputBytes int             `json:"outputBytes,omitempty"`
	Count       int             `json:"count,omitempty"`
	Odd         []string        `json:"odd,omitempty"`
}

// shownSpans gives the spans of a run to show.
func shownSpans(r *spans.Run, denied bool) []*spans.Span {
	if denied {
		return r.Troubled()
	}
	return r.Spans
}

// writeTraceJSON writes one span a line, so that nothing large is held in memory.
func writeTraceJSON(ctx context.Context, w io.StringWriter, t *spans.File, denied bool) error {
	o := &lineWriter{w: w}
	o.put(`{"damagedLines": ` + strconv.Itoa(t.Damaged) + `, "runs": [`)
	separator := "\n"
	for i, r := range t.Runs {
		if interrupted(ctx, i) {
			return ctx.Err()
		}
		list := shownSpans(r, denied)
		if len(list) == 0 {
			continue
		}
		head := escapeJSON(marshalPlain(runJSON(r)))
		o.put(separator + string(head[:len(head)-1]) + `,"spans":[`)
		for j, s := range list {
			if interrupted(ctx, j) {
				return ctx.Err()
			}
			if j > 0 {
				o.put(",")
			}
			o.put("\n  " + string(escapeJSON(marshalPlain(spanJSON(s)))))
		}
		o.put("]}")
		separator = ",\n"
	}
	o.put("]}\n")
	return o.err
}

func runJSON(r *spans.Run) jsonRun {
	return jsonRun{
		Run: r.ID, Start: timeText(r.First), DurationMs: msBetween(r.First, r.Last), Status: r.Status, Reason: string(r.Reason),
		Calls: r.Counts.Calls, Failed: r.Counts.Failed, Denied: r.Counts.Denied, Unsigned: r.Counts.Unsigned,
		Scope: *r.Scope,
	}
}

func spanJSON(s *spans.Span) jsonSpan {
	j := jsonSpan{
		ID: s.Number, Kind: s.Kind.String(), Name: s.Name, CallID: s.CallID, Tool: s.Tool, Namespace: s.Namespace, Caller: s.Caller,
		StartMs: msBetween(s.Run.First, s.Start), Open: s.Open, Status: s.Status, Reason: s.Reason, Denied: s.Denied, Rule: s.Rule,
		Unsigned: s.Unsigned, Untrusted: s.Untrusted, By: s.By, Extent: s.Extent, InputBytes: s.InputBytes, OutputBytes: s.OutputBytes,
		Count: s.Count, Odd: s.Odd.Texts(),
	}
	if s.Kind == spans.KindApproval { // its parent is the call
		j.CallID = ""
	}
	if s.Parent != nil {
		j.Parent = s.Parent.Number
	}
	if ms, ok := s.Duration(); ok {
		j.DurationMs = &ms
	}
	return j
}

// msBetween is the time from a to b. The times of a trace span ten thousand years, more
// than a time.Duration holds.
func msBetween(a, b time.Time) float64 { return float64(b.UnixMicro()-a.UnixMicro()) / 1000 }

// timeText is a time in UTC, to the millisecond.
func timeText(t time.Time) string {
	return t.Format("2006-01-02T15:04:05.000Z")
}

// lineWriter remembers the first error.
type lineWriter struct {
	w   io.StringWriter
	err error
}

func (o *lineWriter) put(text string) {
	if o.err == nil {
		_, o.err = o.w.WriteString(text)
	}
}
