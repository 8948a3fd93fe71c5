package schema

import (
	"hash/maphash"
)

// valueSet is the set of a const or an enum: strings by lookup, the rest by comparison.
type valueSet struct {
	values  []any // as written, for messages
	strings map[string]struct{}
	others  []any
}

func newValueSet(vs []any) *valueSet {
	if len(vs) == 0 {
		return nil
	}
	s := &valueSet{values: vs, strings: map[string]struct{}{}}
	for _, v := range vs {
		if str, ok := v.(string); ok {
			s.strings[str] = struct{}{}
		} else {
			s.others = append(s.others, v)
		}
	}
	return s
}

func (s *valueSet) has(e *evaluator, v any) bool {
	if str, ok := v.(string); ok {
		_, ok := s.strings[str]
		return ok
	}
	for _, o := range s.others {
		if e.equal(v, o) {
			return true
		}
	}
	return false
}

// equal compares JSON values: numbers by value, objects without regard to order. It charges what it looks at.
func (e *evaluator) equal(a, b any) bool {
	if !e.spend(1) {
		return false
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case string:
		b, ok := b.(string)
		return ok && a == b
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !e.equal(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, av := range a {
			bv, ok := b[k]
			if !ok || !e.equal(av, bv) {
				return false
			}
		}
		return true
	default:
		return isNumber(b) && toNumber(a).cmp(toNumber(b)) == 0
	}
}

// duplicate finds two equal items, or gives -1, -1. Hashing keeps it linear; the seed is random per process, so that
// collisions cannot be prepared.
func (e *evaluator) duplicate(items []any) (int, int) {
	seen := make(map[uint64][]int, min(len(items), 1024))
	var h maphash.Hash
	h.SetSeed(hashSeed)
	for i, v := range items {
		h.Reset()
		e.hash(&h, v)
		if e.over {
			return -1, -1
		}
		k := h.Sum64()
		for _, j := range seen[k] {
			if e.equal(v, items[j]) {
				return j, i
			}
		}
		seen[k] = append(seen[k], i)
	}
	return -1, -1
}

var hashSeed = maphash.MakeSeed()

func (e *evaluator) hash(h *maphash.Hash, v any) {
	if !e.spend(2) {
		return
	}
	switch v := v.(type) {
	case nil:
		maphash.WriteComparable(h, byte(0))
	case bool:
		maphash.WriteComparable(h, v)
	case string:
		e.spend(len(v) / 64)
		maphash.WriteComparable(h, v)
	case []any:
		maphash.WriteComparable(h, len(v))
		for _, item := range v {
			e.hash(h, item)
		}
	case map[string]any:
		// Members have no order: their hashes are added up.
		var sum uint64
		for k, item := range v {
			var mh maphash.Hash
			mh.SetSeed(hashSeed)
			maphash.WriteComparable(&mh, k)
			e.hash(&mh, item)
			sum += mh.Sum64()
		}
		maphash.WriteComparable(h, sum)
	default:
		maphash.WriteComparable(h, toNumber(v).key())
	}
}
