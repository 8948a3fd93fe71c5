package host_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

func TestOutputIsCumulative(t *testing.T) {
	r := setup(t, host.Options{})
	res := exec(t, r, "for (let i = 0; i < 3; i++) { text('t' + i); json({ i }); console.warn('w', i); await yield_control() } return 'end'")
	want := []string{}
	for i := range 3 {
		want = append(want, fmt.Sprintf("t%d", i), fmt.Sprintf(`{"i":%d}`, i), fmt.Sprintf("w %d", i))
		wantWaiting(t, res, guestabi.WaitYield)
		if got := texts(res); !slices.Equal(got, want) {
			t.Errorf("output %q, want %q", got, want)
		}
		res = wait(t, r, res.CellID)
	}
	wantValue(t, res, `"end"`)
	if got := texts(res); !slices.Equal(got, want) {
		t.Errorf("output %q, want %q", got, want)
	}
	if res.Output[2].Level != "warn" || res.Output[0].Level != "" || res.Output[1].Type != "json" {
		t.Errorf("output %+v", res.Output[:3])
	}
}

func TestTelemetry(t *testing.T) {
	clock := hosttest.NewClock(epoch)
	plugin := hosttest.Echo("row_count")
	plugin.Owner = "acme.demo"
	h := newHost(t, host.Options{Now: clock.Now, Snapshots: hosttest.NewStore(), Tools: []host.RawTool{hosttest.Echo("echo"), plugin}})
	r := newRun(t, h, host.RunOptions{ClientTools: []host.ClientTool{{Name: "ask", Description: "Ask."}}})
	warm(t, r)
	before := exec(t, r, "return 1").Telemetry
	res := exec(t, r, `
		await tools.search('rows'); await tools.search('x'); await tools.describe('cloister:core:echo');
		await tools.echo({}); await tools.row_count({}); await tools.echo({});
		await tools.call('not a tool', {}).catch(() => 0);
		await yield_control();
		await tools.echo({});
		return 1;`)
	wantWaiting(t, res, guestabi.WaitYield)
	got := res.Telemetry
	if got.Snapshot == nil || got.Snapshot.Bytes < 100 || got.Snapshot.Ms < 0 {
		t.Errorf("snapshot %+v", got.Snapshot)
	}
	check := func(got host.Telemetry, calls, waits int) {
		t.Helper()
		got.Snapshot = nil
		want := host.Telemetry{
			CatalogSize: 3, Sources: map[string]int{"cloister": 2, "mcp": 0, "client": 1}, SearchCount: 2, DescribeCount: 1, CallCount: calls,
			VisibleTools: []string{"exec", "wait"}, ExecCount: before.ExecCount + 1, WaitCount: waits,
			CalledTools: []string{"cloister:core:echo", "cloister:acme.demo:row_count"}, LimitsHit: []guestabi.Reason{},
		}
		if d := diffValue(want, got); d != "" {
			t.Errorf("telemetry (-want +got):\n%s", d)
		}
	}
	check(got, 4, 0)
	res = wait(t, r, res.CellID)
	wantValue(t, res, "1")
	if res.Telemetry.Snapshot != nil {
		t.Error("a result without a suspension reports a snapshot")
	}
	check(res.Telemetry, 5, 1)

	text, err := json.Marshal(res.Telemetry)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"catalogSize", "sources", "searchCount", "describeCount", "callCount", "visibleTools", "execCount", "waitCount", "calledTools", "limitsHit"} {
		if !bytes.Contains(text, []byte(`"`+key+`":`)) {
			t.Errorf("telemetry lacks %q: %s", key, text)
		}
	}
	// What was given to a caller does not change under its hands.
	if got.CallCount != 4 || len(got.CalledTools) != 2 {
		t.Errorf("the first result's telemetry changed: %+v", got)
	}
}

func TestTelemetryOfManyTools(t *testing.T) {
	var tools []host.RawTool
	for i := range 300 {
		tools = append(tools, hosttest.Echo(fmt.Sprintf("tool_%03d", i)))
	}
	r := setup(t, host.Options{Tools: tools})
	res := exec(t, r, "for (const x of ALL_TOOLS) await tools.call(x.id, {}); return ALL_TOOLS.length")
	wantValue(t, res, "300")
	if n := len(res.Telemetry.CalledTools); n == 0 || n > 256 || res.Telemetry.CallCount != 300 {
		t.Errorf("%d ids for %d calls", n, res.Telemetry.CallCount)
	}
}

func TestPendingCallsAreListed(t *testing.T) {
	clock := hosttest.NewClock(epoch)
	gate := hosttest.NewGate("slow")
	h := newHost(t, host.Options{Now: clock.Now, Tools: []host.RawTool{gate.Tool(), hosttest.Echo("echo")}})
	r := newRun(t, h, host.RunOptions{ClientTools: []host.ClientTool{{App: "ui", Name: "ask", Description: "Ask."}}})
	warm(t, r)
	res := exec(t, r, "await tools.echo({}); const p = [tools.slow({ n: 1 }), tools.ask({ q: 'why?' }), tools.slow({ n: 2 })]; await yield_control(); return Promise.all(p)")
	wantWaiting(t, res, guestabi.WaitYield)
	var got []string
	for _, p := range res.Pending {
		got = append(got, fmt.Sprint(p.Method, " ", p.Tool, " ", string(p.Input), " ", p.Since.Equal(epoch), p.Approval))
		if p.ID == "" {
			t.Errorf("no id: %+v", p)
		}
	}
	want := []string{"call cloister:core:slow  true false", `client client:ui:ask {"q":"why?"} true false`, "call cloister:core:slow  true false"}
	if !slices.Equal(got, want) {
		t.Errorf("pending %q, want %q", got, want)
	}
	r.Close()
}
