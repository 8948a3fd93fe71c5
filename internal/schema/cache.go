package schema

import (
	"container/list"
	"crypto/sha256"
	"sync"
)

// Cache remembers compiled schemas by the hash of their text, least recently used first out. A catalog is built for
// each run from the same schemas, and compiling one takes some 100 µs. Safe for concurrent use; refusals are not kept.
type Cache struct {
	mu      sync.Mutex
	max     int
	entries map[[sha256.Size]byte]*list.Element
	order   *list.List // of cached, most recently used first
}

type cached struct {
	key    [sha256.Size]byte
	schema *Schema
}

// NewCache makes a cache of at most max schemas; less than one means one.
func NewCache(max int) *Cache {
	if max < 1 {
		max = 1
	}
	return &Cache{max: max, entries: map[[sha256.Size]byte]*list.Element{}, order: list.New()}
}

// Compile is [Compile] through the cache.
func (c *Cache) Compile(raw []byte) (*Schema, error) {
	if len(raw) > MaxSchemaBytes {
		return Compile(raw) // refused there; not worth a hash
	}
	key := sha256.Sum256(raw)
	c.mu.Lock()
	if el, ok := c.entries[key]; ok {
		c.order.MoveToFront(el)
		c.mu.Unlock()
		return el.Value.(cached).schema, nil
	}
	c.mu.Unlock()

	s, err := Compile(raw)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.entries[key]; ok { // someone else was faster: one text, one schema
		return el.Value.(cached).schema, nil
	}
	c.entries[key] = c.order.PushFront(cached{key, s})
	if c.order.Len() > c.max {
		last := c.order.Back()
		c.order.Remove(last)
		delete(c.entries, last.Value.(cached).key)
	}
	return s, nil
}

// Len is the number of schemas held.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.order.Len()
}
