package otel

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/redact"
)

// TestEventOf fills in all fields: none is lost on the way.
func TestEventOf(t *testing.T) {
	e := host.TraceEvent{Time: time.Unix(1, 5).UTC()}
	v := reflect.ValueOf(&e).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString(v.Type().Field(i).Name)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int:
			f.SetInt(int64(i + 1))
		case reflect.Float64:
			f.SetFloat(float64(i + 1))
		}
		if v.Field(i).IsZero() {
			t.Errorf("%s is not filled in", v.Type().Field(i).Name)
		}
	}
	var texts [2]string
	for i, e := range []any{e, eventOf(&e)} {
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var members map[string]any
		if err := json.Unmarshal(b, &members); err != nil {
			t.Fatal(err)
		}
		if b, err = json.Marshal(members); err != nil { // in order
			t.Fatal(err)
		}
		texts[i] = strings.ReplaceAll(string(b), ",", "\n")
	}
	if diff := cmp.Diff(texts[0], texts[1]); diff != "" {
		t.Errorf("(-host +spans):\n%s", diff)
	}
}

// rendered gives the spans of events, by name.
func rendered(t *testing.T, events ...host.TraceEvent) map[string]*tracepb.Span {
	t.Helper()
	byName := map[string]*tracepb.Span{}
	s := newStream(&Options{MaxOpen: 10, OpenTTL: time.Hour}, redact.New(), func(p *tracepb.Span) { byName[p.Name] = p })
	for _, e := range events {
		s.Add(eventOf(&e))
	}
	s.Close()
	return byName
}

func count(list []*commonpb.KeyValue) int64 {
	for _, kv := range list {
		if kv.Key == "cloister.count" {
			return kv.Value.GetIntValue()
		}
	}
	return 0
}

func TestCount(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	got := rendered(t,
		host.TraceEvent{Time: at, Event: host.EventExecStart, CellID: "r", CallID: "x"},
		host.TraceEvent{Time: at, Event: host.EventSearch, CellID: "r", ParentID: "x", Count: 40},
		host.TraceEvent{Time: at, Event: host.EventCallDenied, CellID: "r", ParentID: "x", Tool: "a:b:c", Count: 3},
		host.TraceEvent{Time: at, Event: host.EventExecEnd, CellID: "r", CallID: "x"})
	exec, denied := got["execute_tool exec"], got["execute_tool c"]
	if exec == nil || denied == nil || len(exec.Events) != 1 || count(exec.Events[0].Attributes) != 40 || count(denied.Attributes) != 3 || count(exec.Attributes) != 0 {
		t.Errorf("exec %v, denied %v", exec, denied)
	}
}

// TestClockStep has a clock that is set back while a call runs: the duration that was
// told says where it ends.
func TestClockStep(t *testing.T) {
	start := time.Now()
	end := start.Round(0).Add(-time.Hour)
	got := rendered(t,
		host.TraceEvent{Time: start, Event: host.EventCallStart, CallID: "c", Tool: "a:b:c"},
		host.TraceEvent{Time: end, Event: host.EventCallEnd, CallID: "c", Status: "ok", DurationMs: 5})["execute_tool c"]
	if got == nil || got.EndTimeUnixNano-got.StartTimeUnixNano != 5e6 {
		t.Errorf("%v", got)
	}
}
