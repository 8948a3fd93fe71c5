package transpile

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeMappings(t *testing.T) {
	for text, want := range map[string][]rawSegment{
		"":                   nil,
		";;;":                nil,
		"A":                  nil, // text without a source
		"AAAA":               {{0, 0, 0, 0}},
		";AAAA,IAAM;;CACD":   {{1, 0, 0, 0}, {1, 4, 0, 6}, {3, 1, 1, 5}},
		"AAAAA,CAACC,,;AADE": {{0, 0, 0, 0}, {0, 1, 0, 1}}, // fails behind these
		"gggggCAAA":          {{0, 1 << 25, 0, 0}},
		"AAAA;AACA;AADA":     {{0, 0, 0, 0}, {1, 0, 1, 0}, {2, 0, 0, 0}},
		"AAAA,C,AAAC":        {{0, 0, 0, 0}, {0, 1, 0, 1}},
		"AAAA,CACA,DADA":     {{0, 0, 0, 0}, {0, 1, 1, 0}, {0, 0, 0, 0}},
	} {
		var got []rawSegment
		_ = decodeMappings(text, func(s rawSegment) { got = append(got, s) }) // what it yields matters here
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(rawSegment{})); diff != "" {
			t.Errorf("%q (-want +got)\n%s", text, diff)
		}
	}
	for _, text := range []string{
		"AA", "AAA", "AAAAAA", "!", "AAA!", "A=", "g", "gA,g", "gggggggA", "gggggggggggggggggA", "\x80", "DAAA", "ACAA", "AADA", "AAAD", "///////B", "AAAA,D",
	} {
		if err := decodeMappings(text, func(rawSegment) {}); !errors.Is(err, errSourceMap) {
			t.Errorf("%q: got %v, want errSourceMap", text, err)
		}
	}
}

// FuzzDecodeMappings: whatever the text, the decoder ends, yields no more than
// the text can hold, and nothing negative or beyond its bounds.
func FuzzDecodeMappings(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		n := 0
		err := decodeMappings(text, func(s rawSegment) {
			n++
			for _, v := range []int{s.genLine, s.genCol, s.srcLine, s.srcCol} {
				if v < 0 || v > max(maxCoordinate, len(text)) {
					t.Errorf("%+v is out of bounds", s)
				}
			}
		})
		if n > len(text)/4+1 {
			t.Errorf("%d segments from %d bytes", n, len(text))
		}
		if err != nil && !errors.Is(err, errSourceMap) {
			t.Errorf("got %v, want errSourceMap", err)
		}
	})
}
