package transpile

import (
	"cmp"
	"slices"
	"sort"
)

// LineMap leads from places in generated JavaScript to places in the source.
// The zero LineMap is the identity: every place is its own source. A LineMap
// never changes after it was made and is safe for concurrent use.
type LineMap struct {
	// mapped tells an empty map (nothing comes from the source) from the zero
	// value.
	mapped bool
	segs   []segment // ordered by generated line and column
}

// Mapping says that the generated text from Generated on, up to the next
// mapping, comes from the source at Source.
type Mapping struct {
	Generated, Source Position
}

// segment is a Mapping in 16 bytes. Lines and columns start at 1.
type segment struct {
	genLine, genCol, srcLine, srcCol int32
}

func (s segment) compare(o segment) int {
	return cmp.Or(cmp.Compare(s.genLine, o.genLine), cmp.Compare(s.genCol, o.genCol))
}

// NewLineMap returns the map with these mappings, in any order. It is for
// Transformers other than Worker. With no mapping at all nothing has a source.
// Positions below 1 or above 1<<31-1 are left out.
func NewLineMap(mappings []Mapping) LineMap {
	m := LineMap{mapped: true}
	for _, p := range mappings {
		seg, ok := makeSegment(p.Generated.Line, p.Generated.Column, p.Source.Line, p.Source.Column)
		if ok {
			m.segs = append(m.segs, seg)
		}
	}
	slices.SortStableFunc(m.segs, segment.compare)
	return m
}

func makeSegment(genLine, genCol, srcLine, srcCol int) (segment, bool) {
	const most = 1<<31 - 1
	if min(genLine, genCol, srcLine, srcCol) < 1 || max(genLine, genCol, srcLine, srcCol) > most {
		return segment{}, false
	}
	return segment{int32(genLine), int32(genCol), int32(srcLine), int32(srcCol)}, true
}

// Source returns the place in the source that the generated line and column
// come from, counted as in [Position]. A column below 1 stands for the whole
// line. The answer is the nearest mapping at or before the place, or the first
// one of its line; false means that the place comes from no source, as that of
// a helper function that the transform put in front.
func (m LineMap) Source(line, column int) (Position, bool) {
	if !m.mapped {
		return Position{Line: line, Column: max(column, 1)}, line >= 1
	}
	// The first segment behind the place.
	i := sort.Search(len(m.segs), func(i int) bool {
		s := m.segs[i]
		return int(s.genLine) > line || int(s.genLine) == line && int(s.genCol) > column
	})
	onLine := i > 0 && int(m.segs[i-1].genLine) == line
	if !onLine && i < len(m.segs) && int(m.segs[i].genLine) == line {
		i++
	}
	if i == 0 {
		return Position{}, false
	}
	s := m.segs[i-1]
	return Position{Line: int(s.srcLine), Column: int(s.srcCol)}, true
}

// Len returns the number of mappings.
func (m LineMap) Len() int { return len(m.segs) }
