package plugins

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// Bounds of the store in memory.
const (
	maxScopeBytes   = 16 << 20
	maxScopeEntries = 10_000
	maxStoreBytes   = 256 << 20
	entryOverhead   = 128 // bytes that an entry, and
	scopeOverhead   = 512 // a scope, are taken to cost beside their texts
)

// NewMemoryKV makes a store in memory, with at most 16 MiB and 10,000 entries for each plugin, agent and session and 256 MiB
// altogether; where that is not enough, the longest unused session of the plugin that holds most is forgotten. It is for
// [InstanceOptions.KV]: whatever keeps tenants apart, such as a host, has one of its own.
func NewMemoryKV() KVStore { return newMemoryKV(maxStoreBytes) }

// kvKey names a scope: a session's, or that of an instance without one.
type kvKey struct {
	KVScope
	instance uint64 // 0 with a session
}

// memoryKV keeps entries in memory. A scope that is full refuses; where the whole is full, room is made by dropping the
// longest unused scope of the plugin that holds most, so that one plugin cannot push out the others.
type memoryKV struct {
	most int // bytes altogether
	now  func() time.Time

	mu     sync.Mutex
	bytes  int
	owners map[string]*kvOwner
	scopes map[kvKey]*list.Element // of kvOwner.scopes
}

// kvOwner is what a plugin holds.
type kvOwner struct {
	bytes  int
	scopes list.List // of *kvScope, the longest unused last
}

type kvScope struct {
	key     kvKey
	bytes   int
	entries map[string]kvEntry
}

type kvEntry struct {
	value   string
	expires time.Time // zero: never
}

func newMemoryKV(most int) *memoryKV {
	return &memoryKV{most: most, now: time.Now, owners: map[string]*kvOwner{}, scopes: map[kvKey]*list.Element{}}
}

// Get implements [KVStore].
func (m *memoryKV) Get(_ context.Context, scope KVScope, key string) (string, bool, error) {
	v, ok := m.get(kvKey{KVScope: scope}, key)
	return v, ok, nil
}

// Put implements [KVStore].
func (m *memoryKV) Put(_ context.Context, scope KVScope, key, value string, ttl time.Duration) error {
	return m.put(kvKey{KVScope: scope}, key, value, ttl)
}

// Delete implements [KVStore].
func (m *memoryKV) Delete(_ context.Context, scope KVScope, key string) error {
	m.remove(kvKey{KVScope: scope}, key)
	return nil
}

// instanceKV is the store of one instance without a session, a part of a memoryKV that no session can name.
type instanceKV struct {
	m        *memoryKV
	instance uint64
}

func (s instanceKV) Get(_ context.Context, scope KVScope, key string) (string, bool, error) {
	v, ok := s.m.get(kvKey{scope, s.instance}, key)
	return v, ok, nil
}

func (s instanceKV) Put(_ context.Context, scope KVScope, key, value string, ttl time.Duration) error {
	return s.m.put(kvKey{scope, s.instance}, key, value, ttl)
}

func (s instanceKV) Delete(_ context.Context, scope KVScope, key string) error {
	s.m.remove(kvKey{scope, s.instance}, key)
	return nil
}

func (m *memoryKV) get(k kvKey, key string) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.touch(k)
	if s == nil {
		return "", false
	}
	e, ok := s.entries[key]
	if ok && e.expired(m.now()) {
		m.forget(s, key)
		return "", false
	}
	return e.value, ok
}

func (m *memoryKV) put(k kvKey, key, value string, ttl time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var e kvEntry
	if e.value = value; ttl > 0 {
		e.expires = m.now().Add(ttl)
	}
	s := m.touch(k)
	if s == nil {
		s = m.open(k)
	}
	if !s.fits(key, value) {
		m.expire(s)
	}
	if !s.fits(key, value) {
		m.closeEmpty(s)
		return ErrKVFull
	}
	more := cost(key, value)
	if old, exists := s.entries[key]; exists {
		more -= cost(key, old.value)
	}
	for m.bytes+more > m.most {
		if !m.evict(s) {
			m.closeEmpty(s)
			return ErrKVFull
		}
	}
	m.forget(s, key)
	s.entries[key] = e
	m.count(s, cost(key, value))
	return nil
}

func (m *memoryKV) remove(k kvKey, key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.touch(k); s != nil {
		m.forget(s, key)
		m.closeEmpty(s)
	}
}

// drop forgets a whole scope.
func (m *memoryKV) drop(k kvKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at := m.scopes[k]; at != nil {
		m.close(at.Value.(*kvScope))
	}
}

func (e kvEntry) expired(now time.Time) bool { return !e.expires.IsZero() && !now.Before(e.expires) }

func cost(key, value string) int { return len(key) + len(value) + entryOverhead }

// fits says whether the scope has room for an entry in the place of the one with the same key.
func (s *kvScope) fits(key, value string) bool {
	old, exists := s.entries[key]
	bytes, entries := s.bytes+cost(key, value), len(s.entries)+1
	if exists {
		bytes, entries = bytes-cost(key, old.value), entries-1
	}
	return bytes <= maxScopeBytes && entries <= maxScopeEntries
}

// Below, the lock is held.

// touch finds a scope and marks it as used.
func (m *memoryKV) touch(k kvKey) *kvScope {
	at := m.scopes[k]
	if at == nil {
		return nil
	}
	m.owners[k.Plugin].scopes.MoveToFront(at)
	return at.Value.(*kvScope)
}

func (m *memoryKV) open(k kvKey) *kvScope {
	o := m.owners[k.Plugin]
	if o == nil {
		o = &kvOwner{}
		m.owners[k.Plugin] = o
	}
	s := &kvScope{key: k, entries: map[string]kvEntry{}}
	m.scopes[k] = o.scopes.PushFront(s)
	m.count(s, scopeOverhead)
	return s
}

func (m *memoryKV) close(s *kvScope) {
	o := m.owners[s.key.Plugin]
	m.count(s, -s.bytes)
	o.scopes.Remove(m.scopes[s.key])
	delete(m.scopes, s.key)
	if o.scopes.Len() == 0 {
		delete(m.owners, s.key.Plugin)
	}
}

func (m *memoryKV) closeEmpty(s *kvScope) {
	if len(s.entries) == 0 {
		m.close(s)
	}
}

func (m *memoryKV) count(s *kvScope, bytes int) {
	s.bytes += bytes
	m.owners[s.key.Plugin].bytes += bytes
	m.bytes += bytes
}

func (m *memoryKV) forget(s *kvScope, key string) {
	if e, ok := s.entries[key]; ok {
		delete(s.entries, key)
		m.count(s, -cost(key, e.value))
	}
}

func (m *memoryKV) expire(s *kvScope) {
	now := m.now()
	for key, e := range s.entries {
		if e.expired(now) {
			m.forget(s, key)
		}
	}
}

// evict drops a scope other than keep; false where there is none.
func (m *memoryKV) evict(keep *kvScope) bool {
	var most *kvOwner
	var victim *kvScope
	for _, o := range m.owners {
		at := o.scopes.Back()
		if at.Value == any(keep) {
			at = at.Prev() // keep was used last: it is at the back only when it is alone
		}
		if at != nil && (most == nil || o.bytes > most.bytes) {
			most, victim = o, at.Value.(*kvScope)
		}
	}
	if victim == nil {
		return false
	}
	m.close(victim)
	return true
}
