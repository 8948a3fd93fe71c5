package wasmbin

import (
	"math"
)

const (
	// freeCall is the most instructions that a call of a function without a
	// countdown may run, loops left out, which pay for themselves.
	freeCall = 1024
	// callCost is that of a call itself.
	callCost = 8
	// countdownCost is that of a countdown in a function that is called.
	countdownCost = 8
	// heavyProlog is how much code outside its loops a function may have and still
	// leave the countdown of its entry to its first loop.
	heavyProlog = 4096
	// maxPrice is the most that one countdown takes. The counter is not negative
	// before it.
	maxPrice = 1 << 30
)

// mark is how far the pricing of a function is.
type mark byte

const (
	unseen mark = iota
	open
	priced         // without a countdown at its entry
	counted        // with one
	countedAtStart // its first loop, which it comes to first, takes it over
)

// pricer bounds costs over the graph of direct calls. Each cycle of it has a
// function with a countdown: the one that was still open when it was called.
type pricer struct {
	g       GuestMeter
	a       *Analysis
	imports []Import
	state   []mark
	cost    []uint64 // of the code outside loops, calls included
	cyclic  map[int]bool
}

// frame of the walk, which does not use Go's stack: a chain of calls may be as
// long as the module.
type pricing struct{ fn, region, call int }

func (p *pricer) run() {
	p.cyclic = map[int]bool{}
	for i := range p.a.funcs {
		if p.state[i] == unseen {
			p.walk(i)
		}
	}
}

func (p *pricer) walk(root int) {
	stack := []pricing{{fn: root}}
	p.state[root] = open
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		next := p.nextCallee(top)
		if next < 0 {
			p.close(top.fn)
			stack = stack[:len(stack)-1]
			continue
		}
		if p.state[next] == open {
			p.cyclic[next] = true
			continue
		}
		p.state[next] = open
		stack = append(stack, pricing{fn: next})
	}
}

// nextCallee gives the next callee that is not closed, -1 at the end.
func (p *pricer) nextCallee(w *pricing) int {
	regions := p.a.funcs[w.fn].regions
	for ; w.region < len(regions); w.region, w.call = w.region+1, 0 {
		for calls := regions[w.region].calls; w.call < len(calls); {
			i := int(calls[w.call]) - len(p.imports)
			w.call++
			if i >= 0 && (p.state[i] == unseen || p.state[i] == open) {
				return i
			}
		}
	}
	return -1
}

// close prices a function, all of whose callees are priced or open.
func (p *pricer) close(i int) {
	f := &p.a.funcs[i]
	cost := p.region(f.regions[0]) + uint64(f.frame) + countdownCost*uint64(len(f.regions)-1)
	p.cost[i] = cost
	switch {
	case cost <= freeCall && !p.cyclic[i]:
		p.state[i] = priced
	case cost <= heavyProlog && f.entryLoop() > 0:
		p.state[i] = countedAtStart
	default:
		p.state[i] = counted
	}
}

// region bounds one pass through a region.
func (p *pricer) region(r region) uint64 {
	cost := satMul(r.instrs, p.a.stubborn) + uint64(r.indirect)*(freeCall+callCost)
	for _, fn := range r.calls {
		cost = min(cost+p.call(fn), math.MaxUint32)
	}
	return cost
}

func (p *pricer) call(fn uint32) uint64 {
	i := int(fn) - len(p.imports)
	if i < 0 {
		return callCost + min(p.g.ImportCost(p.imports[fn]), math.MaxUint32)
	}
	if p.state[i] == priced {
		return callCost + p.cost[i]
	}
	return callCost + countdownCost
}

func satMul(a, b uint64) uint64 { return min(a, math.MaxUint32) * b }

// price turns instructions into units, one at least.
func (p *pricer) price(instrs uint64) int32 {
	return int32(min(1+instrs/uint64(p.g.Unit), maxPrice))
}

// prices is what the countdowns of one function take: one for its entry, 0 for
// none, and one for each loop.
type prices []int32

// all gives the prices of all functions. Every function is closed.
func (p *pricer) all() []prices {
	out := make([]prices, len(p.a.funcs))
	for i, f := range p.a.funcs {
		out[i] = make(prices, len(f.regions))
		if p.state[i] == counted {
			out[i][0] = p.price(p.cost[i])
		}
		for n := 1; n < len(f.regions); n++ {
			out[i][n] = p.price(p.region(f.regions[n]))
		}
		if first := f.entryLoop(); p.state[i] == countedAtStart {
			out[i][first] = p.price(p.region(f.regions[first]) + p.cost[i])
		}
	}
	return out
}

// entryLoop is the region of the loop that the function comes to first, 0 for
// none.
func (f *funcInfo) entryLoop() int {
	for _, s := range f.sites {
		if s.kind == siteEntry {
			return s.region
		}
	}
	return 0
}
