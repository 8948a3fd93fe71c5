package plugins

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
)

var kvFunctions = []string{guestabi.HostKVGet, guestabi.HostKVPut, guestabi.HostKVDelete}

func kvPlugin(t *testing.T, id string, store KVStore) *Plugin {
	t.Helper()
	o := devOptions()
	o.Services.KV = store
	return forwardsAs(t, id, o, map[string]any{"kv": true}, kvFunctions...)
}

func TestKVScopes(t *testing.T) {
	store := newMemoryKV(maxStoreBytes)
	p, other := kvPlugin(t, "tests.kv", store), kvPlugin(t, "tests.other", store)
	session := func(p *Plugin, s string) *Instance { return instanceOf(t, p, &InstanceOptions{Session: s}) }
	put := func(i *Instance, v string) {
		t.Helper()
		if got := ask(t, i, "kv_put", `{"abi":1,"key":"k","value":"`+v+`"}`); got != "null" {
			t.Fatalf("kv_put = %s", got)
		}
	}
	get := func(i *Instance, want string) {
		t.Helper()
		if got := ask(t, i, "kv_get", `{"abi":1,"key":"k"}`); got != want {
			t.Errorf("kv_get = %s, want %s", got, want)
		}
	}
	const nothing = `{"found":false,"value":""}`
	a := session(p, "a")
	put(a, "of a")
	get(a, `{"found":true,"value":"of a"}`)
	get(session(p, "a"), `{"found":true,"value":"of a"}`) // another run of the session
	get(session(p, "b"), nothing)
	get(session(other, "a"), nothing)
	get(session(p, ""), nothing)

	// Without a session nothing is shared, not even with another instance without one, and it ends with the instance.
	alone := session(p, "")
	put(alone, "alone")
	get(alone, `{"found":true,"value":"alone"}`)
	get(session(p, ""), nothing)
	if len(store.scopes) != 1 {
		t.Errorf("the store keeps %d scopes, want that of the session only", len(store.scopes))
	}
	key := kvKey{KVScope{Plugin: "tests.kv"}, alone.number}
	if _, ok := p.broker.memory.get(key, "k"); !ok {
		t.Fatal("the entry is not where it is looked for")
	}
	alone.Close()
	if _, ok := p.broker.memory.get(key, "k"); ok {
		t.Error("the entries of an instance outlive it")
	}
	if got := ask(t, a, "kv_delete", `{"abi":1,"key":"k"}`); got != "null" {
		t.Errorf("kv_delete = %s", got)
	}
	get(a, nothing)
	if got := ask(t, a, "kv_delete", `{"abi":1,"key":"k"}`); got != "null" {
		t.Errorf("kv_delete of nothing = %s", got)
	}
	if store.bytes != 0 || len(store.scopes)+len(store.owners) != 0 {
		t.Errorf("an empty store holds %d bytes, %d scopes", store.bytes, len(store.scopes))
	}
}

// Whose store it is: the operator's, else that of whoever made the instance, else the plugin's own; never the process's.
func TestKVOwners(t *testing.T) {
	operators, mine, yours := newMemoryKV(maxStoreBytes), newMemoryKV(maxStoreBytes), newMemoryKV(maxStoreBytes)
	free, again, set := kvPlugin(t, "tests.kv", nil), kvPlugin(t, "tests.kv", nil), kvPlugin(t, "tests.kv", operators)
	in := func(p *Plugin, session string, store KVStore) *Instance {
		return instanceOf(t, p, &InstanceOptions{Agent: "a", Session: session, KV: store})
	}
	for _, tt := range []struct {
		name        string
		to          *Instance
		same, other []*Instance
		holds       *memoryKV
	}{
		{"the maker's", in(free, "s", mine), []*Instance{in(free, "s", mine), in(again, "s", mine)}, []*Instance{in(free, "s", yours), in(free, "s", nil), in(set, "s", mine)}, mine},
		{"the plugin's", in(free, "s", nil), []*Instance{in(free, "s", nil)}, []*Instance{in(again, "s", nil), in(free, "s", yours)}, free.broker.memory},
		{"the operator's", in(set, "s", mine), []*Instance{in(set, "s", yours), in(set, "s", nil)}, []*Instance{in(again, "s", nil), in(free, "s", yours)}, operators},
		{"an instance's, in the maker's memory", in(free, "", mine), nil, []*Instance{in(free, "", mine), in(free, "", nil)}, mine},
		{"an instance's, in the maker's memory beside the operator's", in(set, "", mine), nil, []*Instance{in(set, "", mine)}, mine},
	} {
		before := tt.holds.bytes
		if got := ask(t, tt.to, "kv_put", `{"abi":1,"key":"`+tt.name+`","value":"v"}`); got != "null" {
			t.Fatalf("%s: kv_put = %s", tt.name, got)
		}
		if tt.holds.bytes == before {
			t.Errorf("%s: the entry is somewhere else", tt.name)
		}
		for i, list := range [][]*Instance{tt.same, tt.other} {
			for n, o := range list {
				want := []string{`{"found":true,"value":"v"}`, `{"found":false,"value":""}`}[i]
				if got := ask(t, o, "kv_get", `{"abi":1,"key":"`+tt.name+`"}`); got != want {
					t.Errorf("%s: instance %d reads %s, want %s", tt.name, n, got, want)
				}
			}
		}
	}
}

// brokenKV is a store that fails, or lies.
type brokenKV struct {
	value string
	err   error
}

func (s brokenKV) Get(context.Context, KVScope, string) (string, bool, error) {
	return s.value, true, s.err
}
func (s brokenKV) Put(context.Context, KVScope, string, string, time.Duration) error { return s.err }
func (s brokenKV) Delete(context.Context, KVScope, string) error                     { return s.err }

func TestKVOfTheHost(t *testing.T) {
	for _, tt := range []struct {
		store brokenKV
		want  string
	}{
		{brokenKV{err: errors.New("dial 10.0.0.7: refused")}, "!unavailable: the host's store does not answer"},
		{brokenKV{err: fmt.Errorf("disk: %w", ErrKVFull)}, "!store_full: the store has no room for the entry; delete others, or give them a ttl"},
	} {
		i := instanceOf(t, kvPlugin(t, "tests.kv", tt.store), &InstanceOptions{Session: "s"})
		for _, function := range kvFunctions {
			request := `{"abi":1,"key":"k"}`
			if function == "kv_put" {
				request = `{"abi":1,"key":"k","value":"v"}`
			}
			if got := ask(t, i, function, request); got != tt.want {
				t.Errorf("%s = %s, want %s", function, got, tt.want)
			}
		}
	}
	for _, v := range []string{"\xff", strings.Repeat("x", MaxKVValueBytes+1)} {
		i := instanceOf(t, kvPlugin(t, "tests.kv", brokenKV{value: v}), &InstanceOptions{Session: "s"})
		if got := ask(t, i, "kv_get", `{"abi":1,"key":"k"}`); got != "!unavailable: the entry is not one that kv_put wrote" {
			t.Errorf("kv_get = %.100s", got)
		}
	}
}

func TestMemoryKVBounds(t *testing.T) {
	ctx := context.Background()
	now := time.Unix(1000, 0)
	m := newMemoryKV(maxStoreBytes)
	m.now = func() time.Time { return now }
	scope := KVScope{Plugin: "p", Session: "s"}
	put := func(scope KVScope, key, value string, ttl time.Duration) error {
		t.Helper()
		return m.Put(ctx, scope, key, value, ttl)
	}
	big := strings.Repeat("x", MaxKVValueBytes)
	var n int
	for ; n < 100; n++ {
		if err := put(scope, fmt.Sprint(n), big, 0); err != nil {
			if !errors.Is(err, ErrKVFull) {
				t.Fatal(err)
			}
			break
		}
	}
	if n != 15 { // the sixteenth has no room beside what entries cost
		t.Errorf("%d entries of 1 MiB fit", n)
	}
	// In the place of another there is room, and what was there stays where there is none.
	if err := put(scope, "0", strings.Repeat("y", MaxKVValueBytes), 0); err != nil {
		t.Error(err)
	}
	if err := put(scope, "small", "x", 0); err != nil {
		t.Error(err)
	}
	if err := put(scope, "small", big, 0); !errors.Is(err, ErrKVFull) {
		t.Errorf("Put = %v", err)
	}
	if v, ok, _ := m.Get(ctx, scope, "small"); !ok || v != "x" {
		t.Errorf("a refused Put took the entry: %q, %v", v, ok)
	}

	many := KVScope{Plugin: "p", Session: "many"}
	for i := range maxScopeEntries {
		if err := put(many, fmt.Sprint(i), "", time.Minute); err != nil {
			t.Fatal(i, err)
		}
	}
	if err := put(many, "one more", "", 0); !errors.Is(err, ErrKVFull) {
		t.Errorf("Put = %v, want ErrKVFull", err)
	}
	now = now.Add(time.Minute)
	if err := put(many, "one more", "", 0); err != nil {
		t.Errorf("expired entries make no room: %v", err)
	}
	if err := put(many, "short", "", time.Second); err != nil {
		t.Error(err)
	}
	now = now.Add(time.Second)
	if _, ok, _ := m.Get(ctx, many, "short"); ok {
		t.Error("an entry outlived its ttl")
	}
	if got := len(m.scopes[kvKey{KVScope: many}].Value.(*kvScope).entries); got != 1 {
		t.Errorf("%d entries are left", got)
	}
}

// A plugin that fills the store pushes out its own sessions, not those of others.
func TestMemoryKVEvictsTheHog(t *testing.T) {
	ctx := context.Background()
	m := newMemoryKV(8 << 20)
	modest := KVScope{Plugin: "modest", Session: "s"}
	if err := m.Put(ctx, modest, "k", "v", 0); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		s := KVScope{Plugin: "hog", Session: fmt.Sprint(i)}
		if err := m.Put(ctx, s, "k", strings.Repeat("x", MaxKVValueBytes), 0); err != nil {
			t.Fatal(i, err)
		}
		if _, ok, _ := m.Get(ctx, KVScope{Plugin: "hog", Session: "0"}, "k"); !ok {
			t.Fatalf("session 0 is used all the time, and gone after %d", i)
		}
	}
	if _, ok, _ := m.Get(ctx, modest, "k"); !ok {
		t.Error("the entries of another plugin are gone")
	}
	if m.bytes > m.most || len(m.scopes) > 8 {
		t.Errorf("%d bytes in %d scopes", m.bytes, len(m.scopes))
	}
	sum := 0
	for _, o := range m.owners {
		sum += o.bytes
	}
	if sum != m.bytes {
		t.Errorf("the plugins' %d bytes are not the store's %d", sum, m.bytes)
	}
	// One scope alone cannot be larger than the whole.
	if err := newMemoryKV(1000).Put(ctx, modest, "k", strings.Repeat("x", 2000), 0); !errors.Is(err, ErrKVFull) {
		t.Errorf("Put = %v", err)
	}
}

func BenchmarkKV(b *testing.B) {
	p := forwards(b, devOptions(), map[string]any{"kv": true}, kvFunctions...)
	i := instanceOf(b, p, &InstanceOptions{Session: "bench"})
	for b.Loop() {
		if got := ask(b, i, "kv_put", `{"abi":1,"key":"k","value":"v"}`); got != "null" {
			b.Fatal(got)
		}
	}
}
