package wasmbin

import (
	"cmp"
	"slices"
)

// mergeGap is how many zeros may be written between two data segments to make one of them.
const mergeGap = 64

// span is an active data segment.
type span struct {
	start int64
	data  []byte
}

func (s span) end() int64 { return s.start + int64(len(s.data)) }

// MergeData joins active segments that follow each other closely, and says
// whether it did. A Go program has tens of thousands, and a runtime allocates for
// each of them whenever an instance is made. Zeros between them are what memory
// holds anyway, as long as no other segment lies there; where one does, where
// instructions may name segments (there is a data count), or where an offset is
// no plain i32.const, the section stays as it is.
func (m *Module) MergeData() (bool, error) {
	at := slices.IndexFunc(m.sections, func(s section) bool { return s.id == secData })
	if at < 0 {
		return false, nil
	}
	r := &reader{b: m.sections[at].raw, base: m.sections[at].off}
	spans, plain := readSpans(r)
	if r.err == nil && r.left() != 0 {
		r.fail(ErrMalformed, "section %d has %d bytes after its end", secData, r.left())
	}
	if r.err != nil {
		return false, r.err
	}
	if !plain || m.hasSection(secDataCount) || overlap(spans) {
		return false, nil
	}
	out := appendU32(nil, uint32(len(spans)))
	for _, s := range spans {
		out = append(appendS32(append(out, 0, opI32Const), int32(s.start)), opEnd)
		out = append(appendU32(out, uint32(len(s.data))), s.data...)
	}
	m.sections[at].raw, m.nData = out, len(spans)
	return true, nil
}

// readSpans walks the segments of all three forms, 5.5.14, and joins them while
// they are plain.
func readSpans(r *reader) (spans []span, plain bool) {
	plain = true
	for n := r.count(2); n > 0 && r.err == nil; n-- {
		flag := r.u32()
		if flag > 2 {
			r.fail(ErrUnsupported, "data segment of kind %d", flag)
			return nil, false
		}
		if flag == 2 && r.u32() != 0 {
			r.fail(ErrUnsupported, "memory index other than 0")
		}
		offset, isConst := int64(0), false
		if flag != 1 {
			offset, isConst = r.constOffset()
		}
		data := r.bytes(int(r.u32()))
		if plain = plain && flag == 0 && isConst && r.err == nil; plain {
			spans = addSpan(spans, span{offset, data})
		}
	}
	return spans, plain
}

// constOffset passes over a constant expression. If it is one i32.const and
// nothing else, that is its value, as an address.
func (r *reader) constOffset() (value int64, isConst bool) {
	for n := 0; ; n++ {
		at := r.pos
		in := r.instr()
		switch {
		case r.err != nil:
			return 0, false
		case in.code == opEnd:
			return value, isConst && n == 1
		case in.code == opI32Const:
			v := &reader{b: r.b[at+1 : r.pos]}
			value, isConst = int64(uint32(v.s32())), true
		case !constant(in.code):
			r.fail(ErrUnsupported, "instruction 0x%02x in a constant expression", in.code)
			return 0, false
		}
	}
}

// constant says whether an instruction may stand in a constant expression, the
// extended ones included.
func constant(code byte) bool {
	switch code {
	case opI32Const, 0x42, 0x43, 0x44, opGlobalGet, 0xd0, opRefFunc, 0x6a, 0x6b, 0x6c, 0x7c, 0x7d, 0x7e, opPrefixVector:
		return true
	}
	return false
}

// addSpan appends a segment, or extends the last one up to it.
func addSpan(spans []span, next span) []span {
	if n := len(spans); n > 0 {
		last := &spans[n-1]
		if gap := next.start - last.end(); gap >= 0 && gap <= mergeGap {
			last.data = append(append(last.data, make([]byte, gap)...), next.data...)
			return spans
		}
	}
	return append(spans, span{next.start, slices.Clone(next.data)})
}

func overlap(spans []span) bool {
	sorted := slices.SortedFunc(slices.Values(spans), func(a, b span) int { return cmp.Compare(a.start, b.start) })
	for i := 1; i < len(sorted); i++ {
		if sorted[i].start < sorted[i-1].end() {
			return true
		}
	}
	return false
}
