package extism

import (
	"sync/atomic"

	"github.com/tetratelabs/wazero/experimental"
)

// memories hands out the linear memories of one instance: the kernel's first, the plugin's second, which is the order in
// which the SDK instantiates them (a test holds it to that). Plain slices back them, so that nothing is unmapped under
// running code.
type memories struct {
	limits []uint64 // of the memories not handed out yet
	all    []*linearMemory
}

func newMemories(kernel, plugin int64) *memories {
	return &memories{limits: []uint64{uint64(kernel), uint64(plugin)}}
}

// Allocate implements experimental.MemoryAllocator.
func (m *memories) Allocate(_, _ uint64) experimental.LinearMemory {
	lm := &linearMemory{}
	if len(m.limits) > 0 {
		lm.limit, m.limits = m.limits[0], m.limits[1:]
	}
	m.all = append(m.all, lm)
	return lm
}

// refused reports whether the memory with this number asked for more than it may since the last call of reset.
func (m *memories) refused(i int) bool { return i < len(m.all) && m.all[i].refused.Load() }

func (m *memories) reset() {
	for _, lm := range m.all {
		lm.refused.Store(false)
	}
}

// size is how much the memory with this number has.
func (m *memories) size(i int) int {
	if i >= len(m.all) {
		return 0
	}
	return len(m.all[i].buf)
}

const (
	kernelMemory = 0
	pluginMemory = 1
)

// linearMemory is one bounded memory.
type linearMemory struct {
	limit   uint64
	buf     []byte
	refused atomic.Bool
}

// Reallocate implements experimental.LinearMemory; nil means that memory.grow fails.
func (m *linearMemory) Reallocate(size uint64) []byte {
	if size > m.limit {
		m.refused.Store(true)
		return nil
	}
	if size > uint64(cap(m.buf)) {
		grown := min(max(size, uint64(cap(m.buf))*3/2), m.limit)
		buf := make([]byte, size, grown)
		copy(buf, m.buf)
		m.buf = buf
	}
	m.buf = m.buf[:size]
	return m.buf
}

// Free implements experimental.LinearMemory. The garbage collector does it.
func (m *linearMemory) Free() {}
