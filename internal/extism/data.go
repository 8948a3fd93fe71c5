package extism

import (
	"cmp"
	"encoding/binary"
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

// dataSection merges active segments that follow each other closely. A Go plugin has tens of thousands, and wazero
// allocates for each of them whenever an instance is made. Zeros between them are what memory holds anyway, as long as
// no other segment lies there; where one does, or where instructions name segments, the section stays as it is (nil).
func dataSection(s *cursor, counted bool) []byte {
	var spans []span
	plain := !counted
	for range s.count() {
		flags := s.u32()
		if flags > 2 {
			s.fail("a data segment is of a proposal that is not supported")
			return nil
		}
		if flags == 2 {
			s.u32() // memory
		}
		offset, isConst := int64(0), false
		if flags != 1 {
			offset, isConst = s.constExpr()
		}
		data := s.bytes(s.u32())
		if plain = plain && flags == 0 && isConst && s.err == nil; plain {
			spans = addSpan(spans, span{offset, data})
		}
	}
	if !plain || overlap(spans) {
		return nil
	}
	out := binary.AppendUvarint(nil, uint64(len(spans)))
	for _, sp := range spans {
		out = appendData(out, sp)
	}
	return out
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

// appendData writes an active segment of memory 0.
func appendData(out []byte, s span) []byte {
	out = append(out, 0, 0x41)
	for v := int32(s.start); ; v >>= 7 {
		b := byte(v & 0x7f)
		if last := v>>7 == 0 && b&0x40 == 0 || v>>7 == -1 && b&0x40 != 0; last {
			out = append(out, b)
			break
		}
		out = append(out, b|0x80)
	}
	out = binary.AppendUvarint(append(out, 0x0b), uint64(len(s.data)))
	return append(out, s.data...)
}
