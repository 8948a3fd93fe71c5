package guest

import (
	"container/list"
	"context"
	"fmt"
	"sync"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/quickjs"
)

// maxTemplates bounds the templates that are kept without a user. One is made for
// each catalog.
const maxTemplates = 16

// Templates is a cache that keeps templates by the setup that they were made of. A template
// is closed when it is neither in use nor among the newest. It is safe for concurrent use.
type Templates struct {
	mu     sync.Mutex
	byKey  map[string]*Template
	idle   list.List // of *Template, newest first
	closed bool
}

// Template is a template in use.
type Template struct {
	*quickjs.Template
	cache *Templates
	key   string
	users int
	elem  *list.Element
	ready chan struct{} // closed when Template or err is there
	err   error
}

// Get gives the template for key, made by build if there is none. Concurrent callers for one key
// have it built once, and wait no longer than their own ctx.
func (c *Templates) Get(ctx context.Context, key string, build func() (*quickjs.Template, error)) (*Template, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, api.ErrClosed
	}
	if c.byKey == nil {
		c.byKey = map[string]*Template{}
	}
	ref := c.byKey[key]
	if ref == nil {
		ref = &Template{cache: c, key: key, ready: make(chan struct{})}
		c.byKey[key] = ref
		ref.users++ // the builder's
		go ref.fill(build)
	}
	ref.useLocked()
	c.mu.Unlock()
	select {
	case <-ref.ready:
	case <-ctx.Done():
		ref.Release()
		return nil, context.Cause(ctx)
	}
	if ref.err != nil {
		ref.Release()
		return nil, ref.err
	}
	return ref, nil
}

// Ready says whether the template for key was made.
func (c *Templates) Ready(key string) bool {
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
func (r *Template) useLocked() {
	r.users++
	if r.elem != nil {
		r.cache.idle.Remove(r.elem)
		r.elem = nil
	}
}

// fill builds the template. A failure is not kept.
func (r *Template) fill(build func() (*quickjs.Template, error)) {
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
	r.Release()
}

// Release gives a template back.
func (r *Template) Release() {
	c := r.cache
	c.mu.Lock()
	r.users--
	var drop []*Template
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
	for c.idle.Len() > maxTemplates {
		old := c.idle.Remove(c.idle.Back()).(*Template)
		old.elem = nil
		delete(c.byKey, old.key)
		drop = append(drop, old)
	}
	c.mu.Unlock()
	for _, d := range drop {
		d.Close()
	}
}

// Close closes the templates that nobody uses now, and each other one as its last user is done.
func (c *Templates) Close() {
	c.mu.Lock()
	c.closed = true
	var drop []*Template
	for c.idle.Len() > 0 {
		drop = append(drop, c.idle.Remove(c.idle.Front()).(*Template))
	}
	c.mu.Unlock()
	for _, d := range drop {
		d.Close()
	}
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

// Train runs trainingCell with made-up results: what it writes stays resident
// in each VM's memory.
func Train(ctx context.Context, vm *quickjs.VM) error {
	g := Guest{VM: vm}
	if err := g.Start(ctx, trainingCell); err != nil {
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
		if state, _, err = vm.Turn(ctx, vm.Template().Entry(guestabi.EntrySettle), batch, vm.Template().Entry(guestabi.EntryDrain), g.Main, 1<<20); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	if state != quickjs.Fulfilled {
		return fmt.Errorf("the training cell is in state %d", state)
	}
	_, err = g.Result(ctx, guestabi.EntryFinish, 1<<20)
	return err
}
