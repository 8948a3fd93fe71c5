package main

import (
	"context"
	"io"
	"strconv"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
)

// traceScope says for whom a run ran.
type traceScope struct {
	AgentID    string `json:"agentId,omitempty"`
	AgentRunID string `json:"agentRunId,omitempty"`
	SessionID  string `json:"sessionId,omitempty"`
	Sender     string `json:"sender,omitempty"`
	Channel    string `json:"channel,omitempty"`
}

// jsonRun is a run as --json gives it, without its spans.
type jsonRun struct {
	Run        string  `json:"run"` // "" for what belongs to no run
	Start      string  `json:"start"`
	DurationMs float64 `json:"durationMs"`
	Status     string  `json:"status,omitempty"`
	Reason     string  `json:"reason,omitempty"`
	Calls      int     `json:"calls"`
	Failed     int     `json:"failed"`
	Denied     int     `json:"denied"`
	Unsigned   int     `json:"unsigned"`
	traceScope         // of the run's first event
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
	Odd         []string        `json:"odd,omitempty"`
}

// writeTraceJSON writes one span a line, so that nothing large is held in memory.
func writeTraceJSON(ctx context.Context, w io.StringWriter, t *trace, denied bool) error {
	o := &lineWriter{w: w}
	o.put(`{"damagedLines": ` + strconv.Itoa(t.damaged) + `, "runs": [`)
	separator := "\n"
	for i, r := range t.runs {
		if interrupted(ctx, i) {
			return ctx.Err()
		}
		spans := r.shown(denied)
		if len(spans) == 0 {
			continue
		}
		head := escapeJSON(marshalPlain(r.json()))
		o.put(separator + string(head[:len(head)-1]) + `,"spans":[`)
		for j, s := range spans {
			if interrupted(ctx, j) {
				return ctx.Err()
			}
			if j > 0 {
				o.put(",")
			}
			o.put("\n  " + string(escapeJSON(marshalPlain(s.json(r)))))
		}
		o.put("]}")
		separator = ",\n"
	}
	o.put("]}\n")
	return o.err
}

func (r *traceRun) json() jsonRun {
	return jsonRun{
		Run: r.id, Start: timeText(r.first), DurationMs: float64(r.last-r.first) / 1000, Status: r.status, Reason: r.reason,
		Calls: r.counts.calls, Failed: r.counts.failed, Denied: r.counts.denied, Unsigned: r.counts.unsigned,
		traceScope: r.scope,
	}
}

func (s *traceSpan) json(r *traceRun) jsonSpan {
	j := jsonSpan{
		ID: s.number, Kind: s.kind, Name: s.name, CallID: s.callID, Tool: s.tool, Namespace: s.namespace, Caller: s.caller,
		StartMs: float64(s.start-r.first) / 1000, Open: s.open, Status: s.status, Reason: s.reason, Denied: s.denied, Rule: s.rule,
		Unsigned: s.unsigned, Untrusted: s.untrusted, By: s.by, Extent: s.extent, InputBytes: s.in, OutputBytes: s.out, Odd: s.odd.list(),
	}
	if s.parent != nil {
		j.Parent = s.parent.number
	}
	if ms, ok := s.duration(); ok {
		j.DurationMs = &ms
	}
	return j
}

// duration is what was told, else what the times say. What has none, or no end,
// has no duration.
func (s *traceSpan) duration() (ms float64, ok bool) {
	switch {
	case s.open, s.kind == spanEvent, s.denied:
		return 0, false
	case s.durationMs >= 0:
		return s.durationMs, true
	}
	return float64(s.end-s.start) / 1000, true
}

// timeText is a time in UTC, to the millisecond.
func timeText(micros int64) string {
	return time.UnixMicro(micros).UTC().Format("2006-01-02T15:04:05.000Z")
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
