package hosttest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

func TestClock(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := hosttest.NewClock(start)
	c.Advance(time.Hour)
	if got := c.Now(); !got.Equal(start.Add(time.Hour)) {
		t.Errorf("Now() = %v", got)
	}
}

func TestStore(t *testing.T) {
	ctx := t.Context()
	s := hosttest.NewStore()
	in := []byte("snapshot")
	if err := s.Put(ctx, &host.Snapshot{CellID: "a", Bytes: in}); err != nil {
		t.Fatal(err)
	}
	in[0] = 'X' // the store keeps a copy
	if got, err := s.Get(ctx, "a"); err != nil || string(got) != "snapshot" {
		t.Fatalf("Get = %q, %v", got, err)
	}
	if _, err := s.Get(ctx, "b"); !errors.Is(err, host.ErrSnapshotNotFound) {
		t.Errorf("Get of an unknown name: %v", err)
	}
	fault := errors.New("fault")
	s.SetFaults(hosttest.Faults{Put: fault, Get: fault, Delete: fault})
	_, getErr := s.Get(ctx, "a")
	for _, err := range []error{s.Put(ctx, &host.Snapshot{CellID: "c", Bytes: in}), getErr, s.Delete(ctx, "a")} {
		if !errors.Is(err, fault) {
			t.Errorf("err = %v", err)
		}
	}
	s.SetFaults(hosttest.Faults{Damage: func(_ string, b []byte) []byte { return b[:2] }})
	if got, _ := s.Get(ctx, "a"); string(got) != "sn" {
		t.Errorf("damaged Get = %q", got)
	}
	if !bytes.Equal(s.Snapshot("a"), []byte("snapshot")) {
		t.Error("Damage changed what is stored")
	}
	s.Drop("a")
	if s.Len() != 0 || s.Snapshot("a") != nil {
		t.Error("Drop left the snapshot")
	}
	if got, want := s.Stats(), (hosttest.StoreStats{Puts: 2, Gets: 4, Deletes: 1}); got != want {
		t.Errorf("Stats = %+v, want %+v", got, want)
	}
}

func TestGate(t *testing.T) {
	g := hosttest.NewGate("gate")
	call := g.Tool().Call
	type answer struct {
		out json.RawMessage
		err error
	}
	answers := make(chan answer)
	start := func(ctx context.Context, in string) {
		go func() {
			out, err := call(ctx, json.RawMessage(in))
			answers <- answer{out, err}
		}()
		if got := <-g.Started(); string(got) != in {
			t.Errorf("started with %s, want %s", got, in)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	start(ctx, "1")
	g.Release(`"done"`)
	if a := <-answers; string(a.out) != `"done"` || a.err != nil {
		t.Errorf("released: %s, %v", a.out, a.err)
	}
	start(ctx, "2")
	g.Fail(errors.ErrUnsupported)
	if a := <-answers; !errors.Is(a.err, errors.ErrUnsupported) {
		t.Errorf("failed: %v", a.err)
	}
	start(ctx, "3")
	start(ctx, "4")
	cancel()
	for range 2 {
		if a := <-answers; !errors.Is(a.err, context.Canceled) {
			t.Errorf("cancelled: %v", a.err)
		}
	}
	if got, want := g.Stats(), (hosttest.GateStats{Most: 2, Total: 4, Canceled: 2}); got != want {
		t.Errorf("Stats = %+v, want %+v", got, want)
	}
}

func TestLogAndTrace(t *testing.T) {
	var log hosttest.Log
	tool := log.Tool(hosttest.Echo("echo"))
	if _, err := tool.Call(t.Context(), json.RawMessage(`{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	if calls := log.Calls(); len(calls) != 1 || string(calls[0].Input) != `{"a":1}` || len(log.Tools()) != 1 {
		t.Errorf("calls = %v", calls)
	}
	if log.Reset(); len(log.Calls()) != 0 {
		t.Error("Reset left calls")
	}
	var tr hosttest.Trace
	tr.Emit(host.TraceEvent{Event: "a"})
	tr.Emit(host.TraceEvent{Event: "b"})
	if len(tr.Events()) != 2 || len(tr.Events("b", "c")) != 1 {
		t.Errorf("events = %v", tr.Events())
	}
	if tr.Reset(); len(tr.Events()) != 0 {
		t.Error("Reset left events")
	}
}

func TestMisbehavingTools(t *testing.T) {
	fault := errors.New("fault")
	if _, err := hosttest.Failing("f", fault).Call(t.Context(), nil); !errors.Is(err, fault) {
		t.Errorf("Failing: %v", err)
	}
	if out, err := hosttest.Static("s", "{").Call(t.Context(), nil); string(out) != "{" || err != nil {
		t.Errorf("Static: %s, %v", out, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := hosttest.Stuck("s").Call(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Stuck: %v", err)
	}
	defer func() {
		if p := recover(); p != fault {
			t.Errorf("Panicking: %v", p)
		}
	}()
	hosttest.Panicking("p", fault).Call(t.Context(), nil)
}
