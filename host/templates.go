package host

import (
	"container/list"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/cloister-wasm/cloister/api"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/quickjs"
)

// maxTemplates bounds the templates that are kept without a user. One is made for
// each catalog.
const maxTemplates = 16

// templateCache keeps templates by the setup that they were made of. A template
// is closed when it is neither in use nor among the newest.
type templateCache struct {
	mu     sync.Mutex
	max    int
	byKey  map[string]*templateRef
	idle   list.List // of *templateRef, newest first
	closed bool
}

type templateRef struct {
	*quickjs.Template
	cache *templateCache
	key   string
	users int
	elem  *list.Element
	ready chan struct{} // closed when Template or err is there
	err   error
}

// get gives the template for key, made by build if there is none. Concurrent callers for one key
// have it built once, and wait no longer than their own ctx.
func (c *templateCache) get(ctx context.Context, key string, build func() (*quickjs.Template, error)) (*templateRef, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, api.ErrClosed
	}
	if c.byKey == nil {
		c.byKey = map[string]*templateRef{}
	}
	ref := c.byKey[key]
	if ref == nil {
		ref = &templateRef{cache: c, key: key, ready: make(chan struct{})}
		c.byKey[key] = ref
		ref.users++ // the builder's
		go ref.fill(build)
	}
	ref.useLocked()
	c.mu.Unlock()
	select {
	case <-ref.ready:
	case <-ctx.Done():
		ref.release()
		return nil, context.Cause(ctx)
	}
	if ref.err != nil {
		ref.release()
		return nil, ref.err
	}
	return ref, nil
}

// ready says whether the template for key was made.
func (c *templateCache) ready(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	ref := c.byKey[key]
	if ref == nil {
		return false
	}
	select {
	case <-ref.ready:
		return ref.err == nil
	default:
		return false
	}
}

// useLocked counts a user in, under the cache's lock.
func (r *templateRef) useLocked() {
	r.users++
	if r.elem != nil {
		r.cache.idle.Remove(r.elem)
		r.elem = nil
	}
}

// fill builds the template. A failure is not kept.
func (r *templateRef) fill(build func() (*quickjs.Template, error)) {
	r.Template, r.err = build()
	if r.err != nil {
		c := r.cache
		c.mu.Lock()
		if c.byKey[r.key] == r {
			delete(c.byKey, r.key)
		}
		c.mu.Unlock()
	}
	close(r.ready)
	r.release()
}

// release gives a template back.
func (r *templateRef) release() {
	c := r.cache
	c.mu.Lock()
	r.users--
	var drop []*templateRef
	if r.users == 0 {
		if r.err != nil {
			c.mu.Unlock()
			return // there is nothing to keep
		}
		if c.closed {
			drop = append(drop, r)
		} else {
			r.elem = c.idle.PushFront(r)
		}
	}
	for c.idle.Len() > c.max {
		old := c.idle.Remove(c.idle.Back()).(*templateRef)
		old.elem = nil
		delete(c.byKey, old.key)
		drop = append(drop, old)
	}
	c.mu.Unlock()
	for _, d := range drop {
		d.Close()
	}
}

func (c *templateCache) close() {
	c.mu.Lock()
	c.closed = true
	var drop []*templateRef
	for c.idle.Len() > 0 {
		drop = append(drop, c.idle.Remove(c.idle.Front()).(*templateRef))
	}
	c.mu.Unlock()
	for _, d := range drop {
		d.Close()
	}
}

// templateReady says that nothing is left to do for the template of this run's catalog.
func (r *Run) templateReady() bool {
	ns := r.spaces.get()
	return ns != nil && r.h.templates.ready(r.catalogKey+ns.key)
}

// template gives the template for this run's catalog, made if need be, as far as ctx allows.
func (r *Run) template(ctx context.Context) (*templateRef, error) {
	h := r.h
	ns, err := r.buildNamespaces(ctx)
	if err != nil {
		return nil, err
	}
	// It is for all runs that see the same: the end of the first one's caller does not end it.
	bctx := context.WithoutCancel(ctx)
	return h.templates.get(ctx, r.catalogKey+ns.key, func() (*quickjs.Template, error) {
		e, err := h.loadEngine(bctx)
		if err != nil {
			return nil, err
		}
		setup, err := json.Marshal(guestabi.Setup{
			Tools: r.cat.GuestEntries(), Names: r.cat.Convenience(), Files: mcpFiles(r.mcp), Namespaces: ns.setup, MCP: ns.mcp,
			MaxOutput: h.cfg.MaxOutputBytes, MaxOpen: h.cfg.MaxPendingToolCalls * api.QueuedPerPending,
		})
		if err != nil {
			return nil, fmt.Errorf("describing the catalog to the guest: %w", err)
		}
		return e.NewTemplate(bctx, &quickjs.TemplateOptions{
			Prelude: guestabi.Prelude(), PreludeName: "cloister:prelude", Setup: setup, Entries: guestabi.EntryCount,
			MemoryLimit: uint32(h.cfg.MemoryLimitBytes), Train: trainCell,
		})
	})
}

// trainingCell is a typical cell: a call, a loop, JSON, strings, an error.
const trainingCell = `
	const r = await tools.call('cloister:core:none', { a: [1, 2, 3], s: 'x' }).catch((e) => ({ message: e.message }));
	const list = [];
	for (let i = 0; i < 40; i++) list.push({ id: i, name: 'item ' + i });
	text('n'); console.log(list.length);
	const all = await Promise.all([tools.search('x'), tools.search('y')]);
	const m = new Map(list.map((x) => [x.id, x.name]));
	return { r, n: JSON.parse(JSON.stringify(list)).filter((x) => m.has(x.id)).length, all };`

// trainCell runs trainingCell with made-up results: what it writes stays resident
// in each VM's memory.
func trainCell(ctx context.Context, vm *quickjs.VM) error {
	g := guest{vm: vm}
	if err := g.start(ctx, trainingCell); err != nil {
		return err
	}
	answer := func(slot, flag uint32, json string) quickjs.Settlement {
		value, err := guestabi.AppendJSON(nil, []byte(json))
		if err != nil {
			panic("host: the training cell's answers are JSON: " + err.Error())
		}
		return quickjs.Settlement{Slot: slot, Flag: flag, Value: value}
	}
	var state quickjs.State
	var err error
	for _, batch := range [][]quickjs.Settlement{
		nil,
		{answer(0, 0, `["Error","unknown tool","unknown_tool"]`)},
		{answer(0, 1, `[{"id":"a","name":"b"}]`), answer(1, 1, `[]`)},
	} {
		if state, _, err = vm.Turn(ctx, vm.Template().Entry(guestabi.EntrySettle), batch, vm.Template().Entry(guestabi.EntryDrain), g.main, maxOutbox); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	if state != quickjs.Fulfilled {
		return fmt.Errorf("the training cell is in state %d", state)
	}
	_, err = g.result(ctx, guestabi.EntryFinish, 1<<20)
	return err
}
