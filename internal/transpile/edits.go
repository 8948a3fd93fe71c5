package transpile

import (
	"sort"
	"strings"
)

// splice replaces bytes of a text.
type splice struct {
	at, length int
	text       string
}

// edits is a list of splices in order of place that do not overlap.
type edits []splice

// apply returns the text after the splices.
func (e edits) apply(text string) string {
	if len(e) == 0 {
		return text
	}
	var b strings.Builder
	from := 0
	for _, s := range e {
		b.WriteString(text[from:s.at])
		b.WriteString(s.text)
		from = s.at + s.length
	}
	b.WriteString(text[from:])
	return b.String()
}

// offsets translates offsets between a text before and after its edits.
type offsets struct {
	edits edits
	after []int // where the replacement of each splice starts in the text after
}

func newOffsets(e edits) offsets {
	o := offsets{edits: e, after: make([]int, len(e))}
	shift := 0
	for i, s := range e {
		o.after[i] = s.at + shift
		shift += len(s.text) - s.length
	}
	return o
}

// forward returns where an offset of the text before lies in the text after.
// What was replaced lies at the start of its replacement.
func (o offsets) forward(at int) int {
	i := sort.Search(len(o.edits), func(i int) bool { return o.edits[i].at > at }) - 1
	if i < 0 {
		return at
	}
	s := o.edits[i]
	if at < s.at+s.length {
		return o.after[i]
	}
	return at - s.at - s.length + o.after[i] + len(s.text)
}

// back returns where an offset of the text after lay in the text before. What
// is inside a replacement lay at the start of what it replaced.
func (o offsets) back(at int) int {
	i := sort.SearchInts(o.after, at+1) - 1
	if i < 0 {
		return at
	}
	s := o.edits[i]
	if at < o.after[i]+len(s.text) {
		return s.at
	}
	return at - o.after[i] - len(s.text) + s.at + s.length
}
