package plugins

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/cloister-wasm/cloister/guestabi"
)

// Bounds of the key-value functions, for every store.
const (
	// MaxKVKeyBytes bounds a key.
	MaxKVKeyBytes = 512
	// MaxKVValueBytes bounds a value.
	MaxKVValueBytes = 1 << 20
	// maxTTLSeconds is ten years.
	maxTTLSeconds = 10 * 365 * 24 * 3600
)

// store gives the store and the scope of an instance: the operator's, or that of whoever made the instance, or the plugin's
// own. One without a session has a store of its own in memory: no store that others share is asked for it.
func (b *broker) store(i *Instance) (KVStore, KVScope) {
	scope := KVScope{Plugin: b.plugin, Agent: i.options.Agent, Session: i.options.Session}
	switch {
	case scope.Session == "":
		return instanceKV{b.memoryOf(i), i.number}, KVScope{Plugin: b.plugin}
	case b.services.KV != nil:
		return b.services.KV, scope
	case i.options.KV != nil:
		return i.options.KV, scope
	}
	return b.memory, scope
}

// memoryOf is where an instance without a session keeps its entries. They count against the bounds of the store that it
// was given, if that is one in memory.
func (b *broker) memoryOf(i *Instance) *memoryKV {
	if m, ok := i.options.KV.(*memoryKV); ok {
		return m
	}
	return b.memory
}

// forget drops what an instance had for itself.
func (b *broker) forget(i *Instance) {
	if i.options.Session == "" && b.perms.KV {
		b.memoryOf(i).drop(kvKey{KVScope{Plugin: b.plugin}, i.number})
	}
}

func (b *broker) hostKVGet(ctx context.Context, a *activation, request []byte) (any, *guestabi.PluginFailure) {
	var req guestabi.KVRequest
	if f := decode(request, &req, &req.ABI); f != nil {
		return nil, f
	}
	if f := checkKey(req.Key); f != nil {
		return nil, f
	}
	s, scope := b.store(a.instance)
	value, found, err := s.Get(ctx, scope, req.Key)
	switch {
	case err != nil:
		return nil, storeFailure(ctx, err)
	case !found:
		return guestabi.KVValue{}, nil
	case len(value) > MaxKVValueBytes || !utf8.ValidString(value):
		return nil, failure(CodeUnavailable, "the entry is not one that kv_put wrote")
	}
	return guestabi.KVValue{Found: true, Value: value}, nil
}

func (b *broker) hostKVPut(ctx context.Context, a *activation, request []byte) (any, *guestabi.PluginFailure) {
	var req guestabi.KVPutRequest
	if f := decode(request, &req, &req.ABI); f != nil {
		return nil, f
	}
	if f := checkKey(req.Key); f != nil {
		return nil, f
	}
	switch {
	case len(req.Value) > MaxKVValueBytes:
		return nil, failure(CodeTooLarge, fmt.Sprintf("the value of %d bytes is over the limit of %d", len(req.Value), MaxKVValueBytes))
	case req.TTLSeconds < 0 || req.TTLSeconds > maxTTLSeconds:
		return nil, failure(CodeInvalidInput, fmt.Sprintf(`"ttlSeconds" is 0 to %d`, maxTTLSeconds))
	}
	s, scope := b.store(a.instance)
	if err := s.Put(ctx, scope, req.Key, req.Value, time.Duration(req.TTLSeconds)*time.Second); err != nil {
		return nil, storeFailure(ctx, err)
	}
	return nil, nil
}

func (b *broker) hostKVDelete(ctx context.Context, a *activation, request []byte) (any, *guestabi.PluginFailure) {
	var req guestabi.KVRequest
	if f := decode(request, &req, &req.ABI); f != nil {
		return nil, f
	}
	if f := checkKey(req.Key); f != nil {
		return nil, f
	}
	s, scope := b.store(a.instance)
	if err := s.Delete(ctx, scope, req.Key); err != nil {
		return nil, storeFailure(ctx, err)
	}
	return nil, nil
}

func checkKey(key string) *guestabi.PluginFailure {
	if key == "" || len(key) > MaxKVKeyBytes {
		return failure(CodeInvalidInput, fmt.Sprintf(`"key" has 1 to %d bytes, this has %d`, MaxKVKeyBytes, len(key)))
	}
	return nil
}

func storeFailure(ctx context.Context, err error) *guestabi.PluginFailure {
	if errors.Is(err, ErrKVFull) {
		return failure(CodeStoreFull, "the store has no room for the entry; delete others, or give them a ttl")
	}
	if f := ended(ctx); f != nil {
		return f
	}
	return failure(CodeUnavailable, "the host's store does not answer")
}
