package extism

import "math/bits"

const (
	// kernelBase is the offset of the first block. Offsets below it are never valid, 0 least of all.
	kernelBase = 96
	// kernelUnit is what blocks are aligned to and rounded up to.
	kernelUnit = 16
	// blockOverhead is what a block's entry in the table is charged.
	blockOverhead = 48
	// kernelKept is how much of the memory is kept from one call to the next.
	kernelKept = 1 << 20
	// tableKept is how many entries the table may have and still be kept.
	tableKept = 1 << 10
)

// kernel is the memory that a plugin shares with the host: Extism's blocks, written in Go. The SDK has it as a wasm
// module whose list of blocks lies in the shared memory itself, where a plugin can damage it and make the host's own
// calls endless. Here the table of blocks is the host's. Only the goroutine of the call uses it.
type kernel struct {
	limit int    // bytes, table included
	mem   []byte // up to the end of the last block; an index is an offset
	used  int    // of limit

	blocks map[uint64]int // live blocks: offset → length asked for
	free   [96][]uint32   // freed blocks of each class

	given             []byte // the input
	input             int    // its block
	output, outputLen int
	failure           uint64 // block of the error message, 0 is none
	refused           bool   // an allocation failed since begin
}

func newKernel(limit int) *kernel {
	return &kernel{limit: limit, blocks: map[uint64]int{}}
}

// begin forgets everything and lays out a call's input.
func (k *kernel) begin(input []byte) {
	if cap(k.mem) > kernelKept {
		k.mem = nil
	}
	if len(k.blocks) > tableKept {
		k.blocks = map[uint64]int{}
	}
	clear(k.blocks)
	for i := range k.free {
		k.free[i] = k.free[i][:0]
		if cap(k.free[i]) > tableKept {
			k.free[i] = nil
		}
	}
	k.mem, k.used = k.mem[:0], 0
	k.output, k.outputLen, k.failure, k.refused = 0, 0, 0, false
	k.given = input
	k.input = int(k.put(input))
}

// class rounds a length up: to multiples of 16 up to 128, then to four sizes for each doubling.
func class(n int) (index, size int) {
	units := (n + kernelUnit - 1) / kernelUnit
	if units <= 4 {
		return units, units * kernelUnit
	}
	shift := bits.Len(uint(units-1)) - 3
	q := (units-1)>>shift + 1
	return 4*shift + q, q << shift * kernelUnit
}

// alloc gives the offset of a new block of zeros; 0 for an empty one, and for one that does not fit.
func (k *kernel) alloc(n uint64) uint64 {
	if n == 0 {
		return 0
	}
	if n > uint64(k.limit) {
		k.refused = true
		return 0
	}
	index, size := class(int(n))
	if list := k.free[index]; len(list) > 0 {
		at := list[len(list)-1]
		k.free[index] = list[:len(list)-1]
		clear(k.mem[at : int(at)+size])
		k.blocks[uint64(at)] = int(n)
		return uint64(at)
	}
	if k.used+size+blockOverhead > k.limit {
		k.refused = true
		return 0
	}
	k.used += size + blockOverhead
	at := max(len(k.mem), kernelBase)
	k.extend(at + size)
	k.blocks[uint64(at)] = int(n)
	return uint64(at)
}

// extend makes the memory longer by zeros.
func (k *kernel) extend(size int) {
	old := len(k.mem)
	if size > cap(k.mem) {
		grown := make([]byte, old, max(size, 2*cap(k.mem), 8<<10))
		copy(grown, k.mem)
		k.mem = grown
	}
	k.mem = k.mem[:size]
	clear(k.mem[old:])
}

// length is that of a live block, 0 for anything else.
func (k *kernel) length(offset uint64) int { return k.blocks[offset] }

// release frees a block. What is none is ignored.
func (k *kernel) release(offset uint64) {
	n, ok := k.blocks[offset]
	if !ok {
		return
	}
	delete(k.blocks, offset)
	index, _ := class(n)
	k.free[index] = append(k.free[index], uint32(offset))
}

// view is a range of the memory, nil if any of it is outside.
func (k *kernel) view(offset, n uint64) []byte {
	end := uint64(len(k.mem))
	if offset < kernelBase || offset > end || n > end-offset {
		return nil
	}
	return k.mem[offset : offset+n : offset+n]
}

// block is a live block's bytes, nil for anything else.
func (k *kernel) block(offset uint64) []byte { return k.view(offset, uint64(k.length(offset))) }

// put copies bytes into a new block. Its offset is 0 for none, and if they do not fit.
func (k *kernel) put(b []byte) uint64 {
	at := k.alloc(uint64(len(b)))
	if at != 0 {
		copy(k.mem[at:], b)
	}
	return at
}

// from is the memory from an offset on, as far as a window goes; nil outside.
func (k *kernel) from(offset uint64) []byte {
	if offset < kernelBase || offset >= uint64(len(k.mem)) {
		return nil
	}
	b := k.mem[offset:]
	return b[:min(len(b), windowBytes)]
}

// inputFrom is the input from an offset on, as far as a window goes. It is the call's input, whatever the plugin stores
// into its block.
func (k *kernel) inputFrom(offset uint64) []byte {
	if offset >= uint64(len(k.given)) {
		return nil
	}
	b := k.given[offset:]
	return b[:min(len(b), windowBytes)]
}

// taken is a copy of what the plugin set as its output, empty if that lies outside the memory.
func (k *kernel) taken() []byte {
	return append([]byte{}, k.view(uint64(k.output), uint64(k.outputLen))...)
}
