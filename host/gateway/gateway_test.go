package gateway

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/host"
)

type (
	rigFunc     = func(codeMode bool, o Options) *rig
	connectFunc = func(*rig, *mcp.ClientOptions) *mcp.ClientSession
)

func TestCodeModeSurface(t *testing.T) {
	everyWay(t, func(t *testing.T, rig rigFunc, connect connectFunc, version string) {
		cs := connect(rig(true, Options{Instructions: "be kind", Version: "7"}), nil)
		if got := cs.InitializeResult(); got.ServerInfo.Name != "cloister" || got.ServerInfo.Version != "7" || got.Instructions != "be kind" {
			t.Errorf("initialize gave %+v", got)
		}
		list, err := cs.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		names := []string{}
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		if !slices.Equal(names, []string{"exec", "wait"}) {
			t.Fatalf("the surface is %v", names)
		}
		wantValue(t, exec(t, cs, `return (await tools.echo({ a: 1 })).a + 1`), 2)
		if res := exec(t, cs, `throw new Error("no")`); res.Status != "failed" || !strings.Contains(res.Error, "no") {
			t.Errorf("a failing program gave %+v", res)
		}
		_, err = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo"})
		var wire *jsonrpc.Error
		if !errors.As(err, &wire) || wire.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("calling a tool beside exec and wait gave %v", err)
		}
	})
}

func TestYieldAndWait(t *testing.T) {
	everyWay(t, func(t *testing.T, rig rigFunc, connect connectFunc, version string) {
		cs := connect(rig(true, Options{}), nil)
		res := exec(t, cs, `await yield_control(); return 5`)
		if res.Status != "waiting" || res.Reason != "yield" {
			t.Fatalf("%+v", res)
		}
		wantValue(t, resultOf(t, callArgs(t, cs, "wait", map[string]any{"runId": res.RunID})), 5)
	})
}

func TestDirectMode(t *testing.T) {
	everyWay(t, func(t *testing.T, rig rigFunc, connect connectFunc, version string) {
		cs := connect(rig(false, Options{}), nil)
		list, err := cs.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Tools) != 7 {
			t.Fatalf("%d tools", len(list.Tools))
		}
		res := callArgs(t, cs, "echo", map[string]any{"a": 1})
		if text := res.Content[0].(*mcp.TextContent).Text; text != `{"a":1}` || res.IsError {
			t.Errorf("echo gave %s", text)
		}
		if m, ok := res.StructuredContent.(map[string]any); !ok || m["a"] != 1.0 {
			t.Errorf("echo gave the structure %v", res.StructuredContent)
		}
		res = callArgs(t, cs, "failing", nil)
		if text := res.Content[0].(*mcp.TextContent).Text; !res.IsError || text != "it broke (broke)" || res.Meta[metaCode] != "broke" {
			t.Errorf("failing gave %q %v", text, res.Meta)
		}
	})
}

func TestApprovalByElicitation(t *testing.T) {
	for _, codeMode := range []bool{true, false} {
		name := map[bool]string{true: "cells", false: "direct"}[codeMode]
		t.Run(name, func(t *testing.T) {
			everyWay(t, func(t *testing.T, rig rigFunc, connect connectFunc, version string) {
				user := &answering{answers: []string{"once", "decline", "cancel", "refuse", "nonsense"}}
				cs := connect(rig(codeMode, Options{Elicit: true}), user.options())
				call := func() (text string, failed bool) {
					if codeMode {
						res := exec(t, cs, `try { return (await tools.danger({ secret: "x" })).secret } catch (e) { return e.code }`)
						if res.Status != "completed" {
							t.Fatalf("%+v", res)
						}
						return res.Value.(string), res.Value != "x"
					}
					res := callArgs(t, cs, "danger", map[string]any{"secret": "x"})
					return res.Content[0].(*mcp.TextContent).Text, res.IsError
				}
				if text, failed := call(); failed {
					t.Fatalf("approved, but %s", text)
				}
				for range 3 {
					if text, failed := call(); !failed || !strings.Contains(text, "approval_denied") {
						t.Fatalf("refused, but %s", text)
					}
				}
				asked := user.asked()
				if len(asked) != 4 {
					t.Fatalf("%d questions: %q", len(asked), asked)
				}
				contains(t, asked[0], "cloister:core:danger", `{"secret":"x"}`, `client "tester"`)
			})
		})
	}
}

func TestApprovalsInARow(t *testing.T) {
	everyWay(t, func(t *testing.T, rig rigFunc, connect connectFunc, version string) {
		user := &answering{answers: []string{"once", "refuse", "run"}}
		cs := connect(rig(true, Options{Elicit: true}), user.options())
		res := exec(t, cs, `
			const out = [];
			for (let i = 0; i < 5; i++) {
				try { out.push((await tools.danger({ i })).i) } catch (e) { out.push(e.code) }
			}
			return out`)
		wantValue(t, res, []any{0, "approval_denied", 2, 3, 4})
		if n := len(user.asked()); n != 3 {
			t.Errorf("%d questions", n)
		}
		// Side by side, and for a tool that is asked for always.
		user.mu.Lock()
		user.answers = append(user.answers, "refuse", "once")
		user.mu.Unlock()
		res = exec(t, cs, `
			const all = await Promise.allSettled([tools.always({ a: 1 }), tools.always({ a: 2 }), tools.always({ a: 3 })]);
			return all.filter(x => x.status === "fulfilled").length`)
		wantValue(t, res, 2)
	})
}

func TestApprovalElsewhere(t *testing.T) {
	everyWay(t, func(t *testing.T, rig rigFunc, connect connectFunc, version string) {
		r := rig(true, Options{Elicit: true})
		cs := connect(r, nil) // cannot ask its user
		res := exec(t, cs, `return (await tools.danger({ n: 1 })).n`)
		if res.Status != "waiting" || res.Reason != "approval" || len(res.Pending) != 1 {
			t.Fatalf("%+v", res)
		}
		i := slices.IndexFunc(r.queue.Pending(), func(p host.PendingApproval) bool { return p.Call.CellID == res.RunID })
		if err := r.queue.Decide(r.queue.Pending()[i].ID, host.Decision{Approved: true}); err != nil {
			t.Fatal(err)
		}
		wantValue(t, resultOf(t, callArgs(t, cs, "wait", map[string]any{"runId": res.RunID})), 1)
	})
}

// While the user is asked, somebody else answers: the question is taken back.
func TestApprovalElsewhereFirst(t *testing.T) {
	for name, way := range transports {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, true, Options{Elicit: true})
			open := make(chan struct{})
			closing := make(chan struct{}) // the word that a question is withdrawn is a courtesy, which may not come
			cs := dial(t, way(t, r), oldProtocol, &mcp.ClientOptions{ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				close(open)
				select {
				case <-ctx.Done():
				case <-closing:
				}
				return nil, context.Canceled
			}})
			t.Cleanup(func() { close(closing) })
			go func() {
				<-open
				for _, p := range r.queue.Pending() {
					if strings.Contains(string(p.Call.Input), name) {
						if err := r.queue.Decide(p.ID, host.Decision{Approved: true}); err != nil {
							t.Error(err)
						}
					}
				}
			}()
			wantValue(t, exec(t, cs, `return (await tools.danger({ n: "`+name+`" })).n`), name)
		})
	}
}
