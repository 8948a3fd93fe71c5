package debug

import "github.com/cloister-wasm/cloister/host"

// Trace wraps the trace of a host, which may be nil, and logs its events if the
// settings say CodeMode. All events reach next.
func (d *Debug) Trace(next host.TraceSink) host.TraceSink {
	if d == nil || !d.on.CodeMode {
		return next
	}
	return &traceLog{d, next}
}

type traceLog struct {
	d    *Debug
	next host.TraceSink
}

// Emit implements host.TraceSink.
func (t *traceLog) Emit(e host.TraceEvent) {
	d := t.d
	attrs := []any{"event", string(e.Event)}
	for _, a := range []struct{ key, text string }{
		{"run", e.CellID}, {"call", e.CallID}, {"parent", e.ParentID}, {"tool", e.Tool}, {"namespace", e.Namespace}, {"caller", e.Caller},
		{"session", e.SessionID}, {"status", e.Status}, {"reason", string(e.Reason)}, {"rule", e.Rule}, {"by", e.By}, {"extent", string(e.Extent)},
	} {
		if a.text != "" {
			attrs = append(attrs, a.key, d.text(a.text))
		}
	}
	if e.Untrusted {
		attrs = append(attrs, "untrusted", true)
	}
	if e.Unsigned {
		attrs = append(attrs, "unsigned", true)
	}
	if e.DurationMs > 0 {
		attrs = append(attrs, "durationMs", e.DurationMs)
	}
	if e.InputBytes > 0 {
		attrs = append(attrs, "inputBytes", e.InputBytes)
	}
	if e.OutputBytes > 0 {
		attrs = append(attrs, "outputBytes", e.OutputBytes)
	}
	if e.Count > 0 {
		attrs = append(attrs, "count", e.Count)
	}
	d.log.Debug("code mode", attrs...)
	if t.next != nil {
		t.next.Emit(e)
	}
}
