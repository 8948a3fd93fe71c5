package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/hosttest"
	"github.com/cloister-wasm/cloister/plugins"
)

// value wants a completed result and gives its value as JSON.
func value(t testing.TB, res *host.Result) string {
	t.Helper()
	if res.Status != guestabi.StatusCompleted {
		t.Fatalf("%s: %s (%s)", res.Status, res.Error, res.Reason)
	}
	return string(res.Value)
}

func description(r *host.Run) string { return r.Surface()[0].Description }

// The tests below are the lines of the namespace checklist, in its order, each
// with a plugin behind it.

func TestNamespacePromptAppearsOnlyWhenBackingToolsAreVisible(t *testing.T) {
	p := uncalledBoard(t, boardManifest("test.board", boardNamespace(nil)), plugins.LoadOptions{})
	h := newHost(t, host.Options{Plugins: []*plugins.Plugin{p}})
	for _, c := range []struct {
		name string
		o    host.RunOptions
		want bool
	}{
		{"all tools", host.RunOptions{}, true},
		{"one denied by id", host.RunOptions{Deny: []string{"cloister:test.board:update_card"}}, false},
		{"one denied by name", host.RunOptions{Deny: []string{"list_cards"}}, false},
		{"the plugin is not allowed", host.RunOptions{Allow: []string{"core"}}, false},
		{"a tool that is not required is denied", host.RunOptions{Deny: []string{"spin"}}, true},
	} {
		r := newRun(t, h, c.o)
		text := description(r)
		for _, part := range []string{"Board", "Cards of the team", "Use Board.list(params)", "Board.update(number, patch)"} {
			if strings.Contains(text, part) != c.want {
				t.Errorf("%s: %q in the description: %v, want %v", c.name, part, !c.want, c.want)
			}
		}
		got := value(t, exec(t, r, `return [typeof Board, typeof namespaces.Board, Object.keys(namespaces)]`))
		want := `["undefined","undefined",[]]`
		if c.want {
			want = `["object","object",["Board"]]`
		}
		if got != want {
			t.Errorf("%s: the cell sees %s, want %s", c.name, got, want)
		}
	}
}

func TestNamespaceIsNotExposedBySameNamedToolsOfAnother(t *testing.T) {
	// The plugin's own tools are denied; others of the same names are there.
	p := uncalledBoard(t, boardManifest("test.board", boardNamespace(nil)), plugins.LoadOptions{})
	list, update := hosttest.Echo("list_cards"), hosttest.Echo("update_card")
	list.Owner, update.Owner = "someone.else", "someone.else"
	h := newHost(t, host.Options{Plugins: []*plugins.Plugin{p}, Tools: []host.RawTool{list, update, hosttest.Echo("list_cards")}})
	r := newRun(t, h, host.RunOptions{Deny: []string{"test.board"}})
	if got := value(t, exec(t, r, `return [typeof Board, ALL_TOOLS.filter((t) => t.name === 'list_cards').length]`)); got != `["undefined",2]` {
		t.Errorf("got %s", got)
	}
	// A tool that only claims the plugin as its owner is refused outright.
	list.Owner = "test.board"
	o := host.Options{Plugins: []*plugins.Plugin{p}, Tools: []host.RawTool{list}}
	o.CodeMode.Enabled = true
	if _, err := host.New(t.Context(), &o); !errors.Is(err, host.ErrTool) {
		t.Errorf("a tool that names the plugin as its owner: %v", err)
	}
}

func TestNamespaceRawScopeFunctionsAreRejected(t *testing.T) {
	var trace lockedBuffer
	scopes := sample([]string{
		`{"list": function () {}}`, `{"list": "x", "list": {"$tool": "list_cards"}}`, `undefined`, `[]`, `"text"`, `null`, `{"f": NaN}`, `{"a": 1} {"b": 2}`,
	}, 4)
	for _, scope := range scopes {
		// Configuration has to be JSON, so that the text that is none comes as a string
		// and the scope is refused as one; what is JSON is refused by its shape.
		config := scope
		if !json.Valid([]byte(scope)) {
			config = fmt.Sprintf("%q", scope)
		}
		p := loadBoard(t, boardManifest("test.board", computedNamespace()), withScope(config))
		r := newRun(t, newHost(t, host.Options{Plugins: []*plugins.Plugin{p}, Trace: host.NewJSONLTrace(&trace)}), host.RunOptions{})
		if got := value(t, exec(t, r, `return typeof Computed`)); got != `"undefined"` {
			t.Errorf("%s: the namespace is %s", scope, got)
		}
	}
	if n := bytes.Count(trace.copy(), []byte(`"event":"namespace.refused"`)); n != len(scopes) {
		t.Errorf("%d refusals in the trace, want %d:\n%s", n, len(scopes), trace.copy())
	}
	// In a manifest each is a mistake.
	for _, scope := range []any{[]any{}, "text", nil, 1} {
		if _, err := tryBoard(t, boardManifest("test.board", boardNamespace(object{"scope": scope})), plugins.LoadOptions{}); !errors.Is(err, plugins.ErrManifest) {
			t.Errorf("scope %v: %v, want ErrManifest", scope, err)
		}
	}
}

func TestNamespaceForgedIdsAndPathsAreRejected(t *testing.T) {
	for _, override := range []object{
		{"globalName": "tools"}, {"globalName": "namespaces"}, {"globalName": "text"}, {"globalName": "json"}, {"globalName": "yield_control"},
		{"globalName": "MCP"}, {"globalName": "API"}, {"globalName": "ALL_TOOLS"}, {"globalName": "__cloister"}, {"globalName": "__cloister_x"},
		{"globalName": "console"}, {"globalName": "Promise"}, {"globalName": "globalThis"}, {"globalName": "undefined"}, {"globalName": "await"},
		{"globalName": "return"}, {"globalName": "a b"}, {"globalName": "1a"}, {"globalName": ""}, {"globalName": "a.b"}, {"globalName": "Bоard"},
		{"scope": object{"__proto__": object{"$tool": "list_cards"}}}, {"scope": object{"constructor": 1}}, {"scope": object{"a": object{"prototype": 1}}},
		{"scope": object{"": 1}}, {"scope": object{"a.b": 1}}, {"scope": object{"a": object{"$ref": "#"}}}, {"scope": object{"a": object{"$tool": "list_cards", "more": 1}}},
		{"id": ""}, {"id": "../board"}, {"id": "a:b"},
	} {
		_, err := tryBoard(t, boardManifest("test.board", boardNamespace(override)), plugins.LoadOptions{})
		if !errors.Is(err, plugins.ErrManifest) {
			t.Errorf("%v: %v, want ErrManifest", override, err)
		}
	}
	for _, scope := range sample([]string{
		`{"__proto__":{"x":1}}`, `{"constructor":{"$tool":"list_cards"}}`, `{"a":{"prototype":1}}`, `{"":1}`, `{"a.b":1}`, `{"a":{"$ref":"#"}}`, `{"a":{"$tool":"list_cards","x":1}}`,
	}, 4) {
		p := loadBoard(t, boardManifest("test.board", computedNamespace()), withScope(scope))
		r := newRun(t, newHost(t, host.Options{Plugins: []*plugins.Plugin{p}}), host.RunOptions{})
		if got := value(t, exec(t, r, `return [typeof Computed, ({}).x === undefined]`)); got != `["undefined",true]` {
			t.Errorf("%s: %s", scope, got)
		}
	}
	// What a cell makes up leads nowhere: members that are not there, and objects
	// that cannot be changed.
	p := uncalledBoard(t, boardManifest("test.board", boardNamespace(nil)), plugins.LoadOptions{})
	r := newRun(t, newHost(t, host.Options{Plugins: []*plugins.Plugin{p}}), host.RunOptions{})
	got := value(t, exec(t, r, `
		'use strict';
		const tries = [
			() => Board.spin(), () => Board['list.x'](), () => namespaces['Board.list'](), () => namespaces.Other.list(),
			() => { Board.list = () => 1; }, () => { Board.extra = 1; }, () => { namespaces.Mine = {}; }, () => { Board.cards.rename = 1; },
			() => { Object.setPrototypeOf(Board, {}); }, () => { Board = 1; }, () => { delete Board.list; },
		];
		return tries.map((f) => { try { f(); return 'passed'; } catch (e) { return e.name; } });`))
	if strings.Contains(got, "passed") {
		t.Errorf("got %s", got)
	}
}

func TestNamespaceCallablePathsCannotTargetUndeclaredTools(t *testing.T) {
	for _, tool := range sample([]string{"spin", "remember", "echo", "cloister:core:echo", "cloister:test.board:list_cards", "exec", "list_Cards", ""}, 4) {
		_, err := tryBoard(t, boardManifest("test.board", boardNamespace(object{"scope": object{"x": object{"$tool": tool}}})), plugins.LoadOptions{})
		if !errors.Is(err, plugins.ErrManifest) {
			t.Errorf("marker for %q: %v, want ErrManifest", tool, err)
		}
		p := loadBoard(t, boardManifest("test.board", computedNamespace()), withScope(fmt.Sprintf(`{"x":{"$tool":%q}}`, tool)))
		r := newRun(t, newHost(t, host.Options{Plugins: []*plugins.Plugin{p}}), host.RunOptions{})
		if got := value(t, exec(t, r, `return typeof Computed`)); got != `"undefined"` {
			t.Errorf("computed marker for %q: %s", tool, got)
		}
	}
	// What a namespace requires must be the plugin's own.
	for _, tools := range [][]string{{"echo"}, {"list_cards", "echo"}, {"cloister:core:echo"}, {}, nil} {
		_, err := tryBoard(t, boardManifest("test.board", boardNamespace(object{"requiredToolNames": tools})), plugins.LoadOptions{})
		if !errors.Is(err, plugins.ErrManifest) {
			t.Errorf("requiredToolNames %v: %v, want ErrManifest", tools, err)
		}
	}
}

func TestNamespaceNestedObjectsAndSharedReferencesSerialize(t *testing.T) {
	shared := object{"owner": "acme", "list": object{"$tool": "list_cards"}}
	scope := object{
		"a": shared, "b": object{"deep": object{"er": shared}}, "list": []any{1, "two", nil, true, object{"x": []any{}}, object{"call": object{"$tool": "list_cards"}}},
		"text": "<&\u2028\"'`", "number": 1.5, "none": nil, "empty": object{}, "toString": "data", "length": 3,
	}
	text, err := json.Marshal(scope)
	if err != nil {
		t.Fatal(err)
	}
	p := loadBoard(t, boardManifest("test.board", boardNamespace(object{"scope": scope}), computedNamespace()), withScope(string(text)))
	r := newRun(t, newHost(t, host.Options{Plugins: []*plugins.Plugin{p}}), host.RunOptions{})
	for _, global := range []string{"Board", "Computed"} {
		got := value(t, exec(t, r, strings.ReplaceAll(`
			const g = Board, frozen = (v) => typeof v !== 'object' && typeof v !== 'function' || v === null || Object.isFrozen(v) && Object.values(v).every(frozen);
			const n = [await g.a.list({ state: 'open' }), await g.b.deep.er.list(), await g.list[5].call()].map((l) => l.length);
			return { n, same: g === namespaces.Board, frozen: frozen(g), text: g.text, rest: [g.a.owner, g.b.deep.er.owner, g.number, g.none, g.toString, g.length, g.list.length],
				array: Array.isArray(g.list), data: JSON.stringify(g.list), keys: Object.keys(g).sort().join() };`, "Board", global)))
		want := `{"n":[2,3,3],"same":true,"frozen":true,"text":"<&\u2028\"'` + "`" + `","rest":["acme","acme",1.5,null,"data",3,6],"array":true,"data":"[1,\"two\",null,true,{\"x\":[]},{}]","keys":"a,b,empty,length,list,none,number,text,toString"}`
		if diff := cmp.Diff(decoded(t, want), decoded(t, got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", global, diff)
		}
	}
}

func decoded(t testing.TB, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

func TestNamespaceCallsExecuteThroughCatalogTools(t *testing.T) {
	p := loadBoard(t, boardManifest("test.board", boardNamespace(nil)), plugins.LoadOptions{})
	var trace lockedBuffer
	var seen []string
	o := host.Options{Plugins: []*plugins.Plugin{p}, Trace: host.NewJSONLTrace(&trace)}
	o.Hooks.BeforeToolCall = func(_ context.Context, c *host.ToolCall) error {
		seen = append(seen, c.Tool+" "+c.Namespace+" "+string(c.Input))
		if strings.Contains(string(c.Input), "forbidden") {
			return errors.New("not that one")
		}
		return nil
	}
	r := newRun(t, newHost(t, o), host.RunOptions{})
	res := exec(t, r, `
		const list = await Board.list({ state: 'closed' });
		const updated = await Board.update(1, { title: 'uno' });
		const partly = await Board.update(3, undefined);
		const renamed = await namespaces.Board.cards.rename(2, 'dos');
		const all = await Board.list();
		const refused = await Board.update(1, { title: 'forbidden' }).catch((e) => e.code);
		const unfit = await Board.list({ state: 5 }).catch((e) => e.code);
		const many = await Board.update(1, {}, 3).catch((e) => e.code);
		const mapped = await Board.cards.rename(1).catch((e) => e.code);
		return { list, updated, partly, renamed, all, refused, unfit, many, mapped };`)
	want := `{"list":[{"number":2,"title":"two","state":"closed"}],"updated":{"number":1,"title":"uno","state":"open"},"partly":{"number":3,"title":"three","state":"open"},
		"renamed":{"number":2,"title":"dos","state":"closed"},"all":[{"number":1,"title":"uno","state":"open"},{"number":2,"title":"dos","state":"closed"},{"number":3,"title":"three","state":"open"}],
		"refused":"call_refused","unfit":"invalid_input","many":"invalid_input","mapped":"bad_arguments"}`
	if diff := cmp.Diff(decoded(t, want), decoded(t, value(t, res))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantSeen := []string{
		`cloister:test.board:list_cards Board.list {"state":"closed"}`,
		`cloister:test.board:update_card Board.update {"number":1,"patch":{"title":"uno"}}`,
		`cloister:test.board:update_card Board.update {"number":3}`,
		`cloister:test.board:update_card Board.cards.rename {"number":2,"patch":{"title":"dos"}}`,
		`cloister:test.board:list_cards Board.list {}`,
		`cloister:test.board:update_card Board.update {"number":1,"patch":{"title":"forbidden"}}`,
	} // and not the one that does not fit the schema
	if diff := cmp.Diff(wantSeen, seen); diff != "" {
		t.Errorf("what the hook saw (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"cloister:test.board:list_cards", "cloister:test.board:update_card"}, res.Telemetry.CalledTools); diff != "" {
		t.Errorf("called tools (-want +got):\n%s", diff)
	}
	if res.Telemetry.CallCount != 9 {
		t.Errorf("%d calls, want 9", res.Telemetry.CallCount)
	}
	if text := string(trace.copy()); !strings.Contains(text, `"namespace":"Board.update"`) || strings.Contains(text, "uno") ||
		!strings.Contains(text, `"status":"bad_arguments","rule":"its arguments were not mapped"`) || !strings.Contains(text, `"status":"invalid_input","rule":"its arguments were not mapped"`) {
		t.Errorf("the trace:\n%s", text)
	}
}

func TestNamespaceFailuresCanBeCaught(t *testing.T) {
	p := loadBoard(t, boardManifest("test.board", boardNamespace(nil)), plugins.LoadOptions{})
	r := newRun(t, newHost(t, host.Options{Plugins: []*plugins.Plugin{p}}), host.RunOptions{})
	got := value(t, exec(t, r, `
		try { await Board.update(99, {}); return 'no'; }
		catch (e) { return [e instanceof Error, e.name, e.message, e.code, e.stack]; }`))
	if want := `[true,"Error","there is no card 99","no_such_card",""]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	res := exec(t, r, `await Board.update(98, {})`)
	if res.Reason != guestabi.ReasonNestedToolFailed || !strings.Contains(res.Error, "there is no card 98") {
		t.Errorf("an uncaught failure: %s (%s)", res.Error, res.Reason)
	}
}

func TestNamespaceSuspendedCallsResumeThroughWait(t *testing.T) {
	p := loadBoard(t, boardManifest("test.board", boardNamespace(object{
		"requiredToolNames": []string{"list_cards", "ask"},
		"scope":             object{"list": object{"$tool": "list_cards"}, "ask": object{"$tool": "ask", "args": []string{"question"}}},
	})), plugins.LoadOptions{})
	r := newRun(t, newHost(t, host.Options{Plugins: []*plugins.Plugin{p}, Snapshots: hosttest.NewStore()}), host.RunOptions{})
	res := exec(t, r, `
		const before = (await Board.list()).length;
		const answer = await Board.ask('which?');
		const after = await Board.list({ state: answer.state });
		return [before, answer, after.length];`)
	if res.Status != guestabi.StatusWaiting || len(res.Pending) != 1 || res.Pending[0].Method != "interrupt" || res.Telemetry.Snapshot == nil {
		t.Fatalf("%+v", res)
	}
	if got := string(res.Pending[0].Input); got != `{"question":"which?"}` {
		t.Errorf("the payload is %s", got)
	}
	if err := r.Resolve(res.Pending[0].ID, json.RawMessage(`{"state":"closed"}`)); err != nil {
		t.Fatal(err)
	}
	if got := value(t, wait(t, r, res.CellID)); got != `[3,{"state":"closed"},1]` {
		t.Errorf("got %s", got)
	}
	if err := r.Resolve(res.Pending[0].ID, nil); !errors.Is(err, host.ErrUnknownCall) {
		t.Errorf("resolving twice: %v", err)
	}
}

func TestNamespacePluginRollbackClearsRegistrations(t *testing.T) {
	with := loadBoard(t, boardManifest("test.board", boardNamespace(nil)), plugins.LoadOptions{})
	without := uncalledBoard(t, boardManifest("test.board"), plugins.LoadOptions{})
	h := newHost(t, host.Options{Plugins: []*plugins.Plugin{with}})
	old := newRun(t, h, host.RunOptions{})
	see := func(r *host.Run) string {
		if r != old {
			defer r.Close()
		}
		return value(t, exec(t, r, `return [typeof Board, typeof tools.list_cards]`)) + fmt.Sprint(strings.Contains(description(r), "Board"))
	}
	if got := see(old); got != `["object","function"]true` {
		t.Fatalf("before: %s", got)
	}
	// A set that cannot be had leaves everything as it was.
	twice := uncalledBoard(t, boardManifest("test.twice", boardNamespace(nil)), plugins.LoadOptions{})
	if err := h.SetPlugins(t.Context(), []*plugins.Plugin{with, twice}); !errors.Is(err, plugins.ErrConflict) {
		t.Fatalf("two plugins with one global: %v", err)
	}
	if got := see(newRun(t, h, host.RunOptions{})); got != `["object","function"]true` {
		t.Fatalf("after a failed load: %s", got)
	}
	// Back to the version without a namespace, and then no plugin at all.
	if err := h.SetPlugins(t.Context(), []*plugins.Plugin{without}); err != nil {
		t.Fatal(err)
	}
	with.Retire()
	if got := see(newRun(t, h, host.RunOptions{})); got != `["undefined","function"]false` {
		t.Errorf("after the rollback: %s", got)
	}
	if err := h.SetPlugins(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got := see(newRun(t, h, host.RunOptions{})); got != `["undefined","undefined"]false` {
		t.Errorf("without the plugin: %s", got)
	}
	// The run that started with the namespace keeps it until it ends.
	if got := value(t, exec(t, old, `return (await Board.list()).length`)); got != `3` {
		t.Errorf("the old run: %s", got)
	}
	if _, err := with.NewInstance(t.Context(), nil); err != nil {
		t.Errorf("the plugin was closed under a run: %v", err)
	}
	old.Close()
	if _, err := with.NewInstance(t.Context(), nil); !errors.Is(err, plugins.ErrClosed) {
		t.Errorf("the retired plugin after its last run: %v, want ErrClosed", err)
	}
}

// A scope that never comes costs a run its namespace, and no cell its time.
func TestNamespaceScopeThatNeverComes(t *testing.T) {
	p := loadBoard(t, boardManifest("test.board", computedNamespace(), boardNamespace(nil)), withScope(`"spin"`))
	var trace lockedBuffer
	o := host.Options{Plugins: []*plugins.Plugin{p}, Trace: host.NewJSONLTrace(&trace)}
	o.CodeMode.TimeoutMs = 4000
	r := newRun(t, newHost(t, o), host.RunOptions{})
	for range 2 {
		if got := value(t, exec(t, r, `return [typeof Computed, (await Board.list()).length]`)); got != `["undefined",3]` {
			t.Errorf("got %s", got)
		}
	}
	if n := bytes.Count(trace.copy(), []byte(`"event":"namespace.refused"`)); n != 1 {
		t.Errorf("%d refusals in the trace, want 1", n)
	}
}

// Scopes are for one run: what one session's run was given is not another's.
func TestNamespaceScopeIsOfItsRun(t *testing.T) {
	p := loadBoard(t, boardManifest("test.board", computedNamespace()), withScope(`{"who":"SESSION","list":{"$tool":"list_cards"}}`))
	h := newHost(t, host.Options{Plugins: []*plugins.Plugin{p}})
	for _, session := range []string{"one", "two", "one"} {
		r := newRun(t, h, host.RunOptions{AgentRunID: "run", SessionID: session})
		if got := value(t, exec(t, r, `return [Computed.who, (await Computed.list()).length]`)); got != `["`+session+`",3]` {
			t.Errorf("session %s: %s", session, got)
		}
	}
}
