package gateway

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/host"
)

// Who waits gets a place in the order of how much his principal has, and of two who have
// as much the one who came first.
func TestPlacesAreGivenFairly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces(4, 3)
		for _, who := range []string{"ann", "ann", "ann", "bob"} {
			if !p.try(who) {
				t.Fatalf("no place for %s", who)
			}
		}
		if p.try("ann") || p.try("bob") {
			t.Error("a fifth place")
		}
		order := make(chan string, 10)
		for i, who := range []string{"ann", "ann", "bob", "eve"} {
			go func() {
				if p.take(t.Context(), who) {
					order <- fmt.Sprint(who, i)
				}
			}()
			synctest.Wait()
		}
		var got []string
		for _, who := range []string{"ann", "ann", "ann", "bob"} {
			p.give(who)
			got = append(got, <-order)
		}
		if want := []string{"eve3", "ann0", "ann1", "bob2"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestPlacesOfWhoGivesUp(t *testing.T) {
	p := newPlaces(1, 1)
	if !p.try("ann") {
		t.Fatal("no place")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if p.take(gone, "bob") || len(p.waiting) != 0 {
		t.Errorf("%d wait", len(p.waiting))
	}
	p.give("ann")
	if !p.take(gone, "bob") { // there is one: nothing is waited for
		t.Error("no place")
	}
}

// Whatever comes at once, the bounds hold, and in the end nothing is taken.
func TestPlacesHammered(t *testing.T) {
	const most, each = 5, 2
	p := newPlaces(most, each)
	var wg sync.WaitGroup
	for who := range 4 {
		for range 8 {
			wg.Go(func() {
				name := fmt.Sprint(who)
				for i := range 200 {
					ctx, cancel := context.WithCancel(t.Context())
					if i%3 == 0 {
						time.AfterFunc(rand.N(50*time.Microsecond), cancel)
					}
					if p.take(ctx, name) {
						p.mu.Lock()
						if p.total > most || p.taken[name] > each {
							t.Errorf("%d of all, %d of %s", p.total, p.taken[name], name)
						}
						p.mu.Unlock()
						p.give(name)
					}
					cancel()
				}
			})
		}
	}
	wg.Wait()
	if p.total != 0 || len(p.taken) != 0 || len(p.waiting) != 0 {
		t.Errorf("left: %+v", p)
	}
}

// stuckIn runs a program that ends with the test, or with the function it gives.
func stuckIn(t testing.TB, cs *mcp.ClientSession) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		// What becomes of it is no matter.
		_, _ = cs.CallTool(ctx, &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": `await tools.stuck({})`}})
	}()
	end = func() { cancel(); <-done }
	t.Cleanup(end)
	return end
}

// ran says how many programs of a principal run.
func (r *rig) ran(principal string) int {
	r.running.mu.Lock()
	defer r.running.mu.Unlock()
	return r.running.taken[principal]
}

// One principal that is at its bound waits, and is told so in the end; others run.
func TestPrincipalAtItsBound(t *testing.T) {
	for _, version := range []string{oldProtocol, newProtocol} {
		t.Run(version, func(t *testing.T) {
			r := newRig(t, true, Options{Limits: Limits{MaxRunning: 4}})
			r.placeTime = time.Minute
			srv := r.web(t, testHTTP)
			alice, other, bob := dial(t, httpTransport(srv, aliceToken), version, nil), dial(t, httpTransport(srv, aliceToken), version, nil), dial(t, httpTransport(srv, bobToken), version, nil)
			first := stuckIn(t, alice)
			stuckIn(t, other)
			eventually(t, "both run", func() bool { return r.ran("alice") == 2 })
			third := make(chan result, 1)
			go func() {
				res, err := other.CallTool(t.Context(), &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": "return 3"}})
				if err != nil {
					t.Error(err)
					close(third)
					return
				}
				third <- resultOf(t, res)
			}()
			eventually(t, "the third waits", func() bool {
				r.running.mu.Lock()
				defer r.running.mu.Unlock()
				return len(r.running.waiting) == 1
			})
			for i := range 5 {
				wantValue(t, exec(t, bob, fmt.Sprint("return ", i)), i)
			}
			if len(third) != 0 {
				t.Error("the third did not wait")
			}
			first()
			wantValue(t, <-third, 3)

			r.placeTime = time.Millisecond
			stuckIn(t, alice)
			eventually(t, "both run", func() bool { return r.ran("alice") == 2 })
			for tool, args := range map[string]map[string]any{"exec": {"code": "return 1"}, "wait": {"runId": "run_1"}} {
				res := resultOf(t, callArgs(t, other, tool, args))
				if res.Status != "failed" || res.Reason != "timeout" || !strings.Contains(res.Error, "too many running programs: 2 run at once for one client's token") {
					t.Errorf("%s: %+v", tool, res)
				}
			}
			wantValue(t, exec(t, bob, "return 1"), 1)
		})
	}
}

// The memory that programs may have together bounds how many there are, for one client
// on standard input too.
func TestMemoryBoundsPrograms(t *testing.T) {
	for _, tt := range []struct {
		limits     Limits
		most, each int
	}{
		{Limits{}, 32, 32},
		{Limits{MaxRunning: 8}, 8, 8},
		{Limits{MaxRunningBytes: 3 * 64 << 20}, 3, 3},
		{Limits{MaxRunningBytes: 1}, 1, 1},
		{Limits{MaxRunning: 8, MaxRunningPerPrincipal: 5}, 8, 5},
		{Limits{MaxRunning: 4, MaxRunningPerPrincipal: 5}, 4, 4},
		{Limits{MaxRunningBytes: 1 << 40, MaxRunning: 1000}, 1000, 1000},
	} {
		l := tt.limits.withDefaults()
		p := newRunning(&l, host.CodeModeConfig{}.Clamped())
		if p.most != tt.most || p.each != tt.each {
			t.Errorf("%+v: %d of all, %d of one; want %d, %d", tt.limits, p.most, p.each, tt.most, tt.each)
		}
	}
	r := newRig(t, true, Options{Limits: Limits{MaxRunningBytes: 64 << 20}})
	r.placeTime = time.Millisecond
	cs := dial(t, transports["stdio"](t, r), oldProtocol, nil)
	end := stuckIn(t, cs)
	eventually(t, "it runs", func() bool { return r.ran("") == 1 })
	if res := exec(t, cs, "return 1"); res.Status != "failed" || !strings.Contains(res.Error, "1 run at once for") {
		t.Errorf("%+v", res)
	}
	end()
	eventually(t, "it ends", func() bool { return r.ran("") == 0 })
	wantValue(t, exec(t, cs, "return 1"), 1)
}

// A program that computes on when its call has returned still counts, until it ends.
func TestProgramsThatComputeOnCount(t *testing.T) {
	r := newRig(t, true, Options{})
	cs := dial(t, transports["http"](t, r), oldProtocol, nil)
	res := exec(t, cs, `await yield_control(); for (;;) {}`)
	if n := r.ran("alice"); n != 0 {
		t.Errorf("%d run, and the program is suspended", n)
	}
	waited := resultOf(t, callArgs(t, cs, "wait", map[string]any{"runId": res.RunID, "timeoutMs": 100}))
	if waited.Status != "waiting" {
		t.Fatalf("%+v", waited)
	}
	if n := r.ran("alice"); n != 1 {
		t.Errorf("%d run, and the program computes", n)
	}
	r.all()[0].end()
	eventually(t, "its place is free", func() bool { return r.ran("alice") == 0 })
}

// A program that waits for its user's answer does not run.
func TestAskedProgramsDoNotRun(t *testing.T) {
	r := newRig(t, true, Options{Elicit: true, Limits: Limits{MaxRunning: 1}})
	r.placeTime = time.Minute
	asked, answer := make(chan struct{}), make(chan struct{})
	cs := dial(t, transports["http"](t, r), oldProtocol, &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		close(asked)
		<-answer
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "once"}}, nil
	}})
	first := make(chan result, 1)
	go func() {
		res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"code": `await tools.danger({}); return 1`}})
		if err != nil {
			t.Error(err)
			close(first)
			return
		}
		first <- resultOf(t, res)
	}()
	<-asked
	wantValue(t, exec(t, cs, "return 2"), 2)
	close(answer)
	wantValue(t, <-first, 1)
}

// What one principal leaves open takes no HTTP place of another.
func TestRequestsOfOnePrincipalAreBounded(t *testing.T) {
	r := newRig(t, true, Options{})
	r.httpRequests = 4
	srv := r.web(t, testHTTP)
	for range 2 {
		if _, err := socket(t, srv, head("GET", "/mcp", aliceToken, "Mcp-Session-Id", begin(t, srv.URL, aliceToken))).Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if res := raw(t, "POST", srv.URL+"/mcp", initialize, "Authorization", "Bearer "+aliceToken); res.StatusCode != 429 || res.Header.Get("Retry-After") == "" {
		t.Errorf("alice's third: %s", res.Status)
	}
	begin(t, srv.URL, bobToken)
}
