package otel_test

import (
	"cmp"
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector is an OTLP receiver.
type collector struct {
	*httptest.Server
	// answer, if set, answers in place of taking the spans. It is set before use.
	answer http.HandlerFunc

	mu       sync.Mutex
	spans    []*tracepb.Span
	resource map[string]any
	headers  []http.Header
	paths    []string
}

func newCollector(t testing.TB, answer http.HandlerFunc) *collector {
	c := &collector{answer: answer}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

// ServeHTTP takes an ExportTraceServiceRequest, and nothing else.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.headers, c.paths = append(c.headers, r.Header.Clone()), append(c.paths, r.URL.Path)
	c.mu.Unlock()
	if c.answer != nil {
		c.answer(w, r)
		return
	}
	bad := func(why string) { http.Error(w, why, http.StatusBadRequest) }
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/x-protobuf" || r.Header.Get("Content-Encoding") != "gzip" {
		bad("not OTLP")
		return
	}
	zr, err := gzip.NewReader(r.Body)
	if err != nil {
		bad(err.Error())
		return
	}
	body, err := io.ReadAll(zr)
	if err != nil {
		bad(err.Error())
		return
	}
	var req collectorpb.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &req); err != nil {
		bad(err.Error())
		return
	}
	c.mu.Lock()
	for _, rs := range req.ResourceSpans {
		c.resource = values(rs.Resource.Attributes)
		for _, ss := range rs.ScopeSpans {
			c.spans = append(c.spans, ss.Spans...)
		}
	}
	c.mu.Unlock()
	out, err := proto.Marshal(&collectorpb.ExportTraceServiceResponse{})
	if err != nil {
		bad(err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	if _, err := w.Write(out); err != nil {
		return // the client is gone
	}
}

// span is a span as tests compare it.
type span struct {
	Name   string
	Parent string // the name of the parent, "" for a root, "?" if it is not there
	Kind   string
	Start  int64 // ms
	Ms     int64
	Error  string
	Attrs  map[string]any
	Events []string
	Trace  string
	ID     string
}

// all gives the spans in the order of their starts, parents first.
func (c *collector) all() []span {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := map[string]string{}
	for _, s := range c.spans {
		names[string(s.TraceId)+string(s.SpanId)] = s.Name
	}
	var list []span
	for _, s := range c.spans {
		x := span{Name: s.Name, Kind: s.Kind.String()[len("SPAN_KIND_"):], Start: int64(s.StartTimeUnixNano / 1e6), Ms: int64(s.EndTimeUnixNano-s.StartTimeUnixNano) / 1e6,
			Attrs: values(s.Attributes), Trace: hex.EncodeToString(s.TraceId), ID: hex.EncodeToString(s.SpanId)}
		if len(s.ParentSpanId) > 0 {
			x.Parent = cmp.Or(names[string(s.TraceId)+string(s.ParentSpanId)], "?")
		}
		if s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR {
			x.Error = cmp.Or(s.Status.Message, "error")
		}
		for _, e := range s.Events {
			x.Events = append(x.Events, e.Name)
		}
		list = append(list, x)
	}
	slices.SortStableFunc(list, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.Ms, a.Ms), cmp.Compare(a.Name, b.Name))
	})
	return list
}

func values(list []*commonpb.KeyValue) map[string]any {
	m := map[string]any{}
	for _, kv := range list {
		switch v := kv.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			m[kv.Key] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			m[kv.Key] = v.IntValue
		case *commonpb.AnyValue_BoolValue:
			m[kv.Key] = v.BoolValue
		}
	}
	return m
}
