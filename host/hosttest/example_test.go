package hosttest_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
)

// A call that is open when exec returns, and settles before wait.
func Example() {
	gate := hosttest.NewGate("slow_report")
	clock := hosttest.NewClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	store := hosttest.NewStore()
	h, err := host.New(context.Background(), &host.Options{
		CodeMode: host.CodeModeConfig{Enabled: true}, Tools: []host.RawTool{gate.Tool()}, Now: clock.Now, Snapshots: store,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	r, err := h.NewRun(context.Background(), host.RunOptions{AgentRunID: "run", SessionID: "session"})
	if err != nil {
		log.Fatal(err)
	}
	res, err := r.Exec(context.Background(), host.ExecInput{Code: "const p = tools.slow_report({}); await yield_control(); return await p"})
	if err != nil {
		log.Fatal(err)
	}
	<-gate.Started()
	fmt.Println(res.Status, store.Len(), gate.Stats().Open)
	clock.Advance(10 * time.Minute)
	gate.Release(`"done"`)
	res, err = r.Wait(context.Background(), host.WaitInput{CellID: res.CellID})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, string(res.Value), store.Len())
	// Output:
	// waiting 1 1
	// completed "done" 0
}
