package catalog

import (
	"math"

	"github.com/cloister-wasm/cloister/internal/declare"
)

// The weights of the fields, and the shape of their saturation (BM25F with fixed reference lengths instead of averages: what
// one tool scores does not depend on how talkative the others are). Chosen on testdata/retrieval/queries-dev.txt.
const (
	weightName      = 3.4
	weightNameWhole = 1.0 // createissue beside create and issue
	weightOwner     = 1.7
	weightLabel     = 1.6
	weightDesc      = 1.0
	weightDescPart  = 0.2 // git and hub beside github
	weightParam     = 0.55
	weightParamText = 0.2

	saturation = 1.2 // k1
)

// field is how the words of one part of an entry count.
type field struct {
	word      float32 // weight of a word
	whole     float32 // of a word that can be cut, as a whole
	part      float32 // of each of its parts
	reference float32 // number of words of a usual one
	slope     float32 // b: how much length counts against
	most      int     // words taken at most, bounds what hostile entries cost
}

var (
	fieldName      = field{word: weightName, whole: weightNameWhole, part: weightName, reference: 3, slope: 0.35, most: 40}
	fieldOwner     = field{word: weightOwner, whole: weightOwner, part: weightOwner, reference: 1, slope: 0, most: 40}
	fieldLabel     = field{word: weightLabel, whole: weightLabel, part: weightLabel, reference: 4, slope: 0.4, most: 60}
	fieldDesc      = field{word: weightDesc, whole: weightDesc, part: weightDescPart, reference: 12, slope: 0.6, most: 600}
	fieldParam     = field{word: weightParam, whole: weightParam, part: weightParam, reference: 8, slope: 0.5, most: 200}
	fieldParamText = field{word: weightParamText, whole: weightParamText, part: 0.1, reference: 30, slope: 0.5, most: 400}
)

// posting says that a term is in an entry.
type posting struct {
	doc    int32
	impact float32 // the term's BM25F score for the entry
	name   float32 // the term's share of the words in the entry's name; 0 when not in it
}

// searchIndex is immutable once built.
type searchIndex struct {
	docs  []*Entry         // what can be found
	terms map[string]int32 // stem to term
	start []int32          // postings of term t are posts[start[t]:start[t+1]]
	posts []posting

	surfaces []surface          // every word as it is written, for typing errors
	exact    map[string][]int32 // squeezed names, and owners with names, to entries
	owners   map[string][]int32 // owners to entries
	squeezed []surface          // squeezed name of each entry
}

// surface is a written word of the vocabulary.
type surface struct {
	word string
	mask uint32 // which letters it has, see letterMask
	term int32  // -1: known to the lexicon only
}

// indexer builds a searchIndex.
type indexer struct {
	lex   *lexicon
	index *searchIndex

	written  map[string]int32 // word as written to term; saves most of the stemming
	split    splitter
	previous string

	// Per entry: what each of its terms has collected.
	touched []int32
	sums    []float32 // by term
	names   []float32 // by term
	found   []rawPosting
	perTerm []int32 // number of postings by term
	counts  []termCount
}

type rawPosting struct {
	term int32
	posting
}

// newIndexer prepares for about n entries.
func newIndexer(n int) *indexer {
	return &indexer{
		lex:     theLexicon(),
		index:   &searchIndex{terms: make(map[string]int32, 4*n), exact: make(map[string][]int32, 2*n), owners: map[string][]int32{}},
		written: make(map[string]int32, 8*n),
		found:   make([]rawPosting, 0, 24*n),
	}
}

// add indexes one entry.
func (x *indexer) add(e *Entry, params declare.Value) {
	doc := int32(len(x.index.docs))
	x.index.docs = append(x.index.docs, e)
	x.addExact(doc, e)
	nameTerms := x.addField(&fieldName, true, e.Name)
	x.addField(&fieldOwner, false, e.Owner)
	x.addField(&fieldLabel, false, e.Label)
	x.addField(&fieldDesc, false, e.Description)
	names, texts := schemaWords(params)
	x.addField(&fieldParam, false, names...)
	x.addField(&fieldParamText, false, texts...)
	for _, t := range x.touched {
		p := posting{doc: doc, impact: x.sums[t] * (saturation + 1) / (saturation + x.sums[t])}
		if nameTerms > 0 {
			p.name = x.names[t] / float32(nameTerms)
		}
		x.found = append(x.found, rawPosting{t, p})
		x.perTerm[t]++
		x.sums[t], x.names[t] = 0, 0
	}
	x.touched = x.touched[:0]
}

// addExact files the entry under its squeezed name and under its owner and name, the ways a model writes a tool it has seen
// elsewhere: create_issue, createIssue, github.createIssue.
func (x *indexer) addExact(doc int32, e *Entry) {
	name := squeeze(e.Name)
	x.index.squeezed = append(x.index.squeezed, surface{word: name, mask: letterMask(name)})
	x.index.exact[name] = append(x.index.exact[name], doc)
	x.index.owners[e.Owner] = append(x.index.owners[e.Owner], doc)
	full := squeeze(e.Owner) + name
	if full != name {
		x.index.exact[full] = append(x.index.exact[full], doc)
	}
}

// squeeze keeps the ASCII letters and digits of a name, in lower case.
func squeeze(s string) string {
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			out = append(out, c)
		case 'A' <= c && c <= 'Z':
			out = append(out, c+'a'-'A')
		}
	}
	return string(out)
}

// addField counts the words of the texts and returns how many distinct terms they have.
func (x *indexer) addField(f *field, isName bool, texts ...string) (distinct int) {
	x.counts = x.counts[:0]
	length := 0
	for _, text := range texts {
		x.split.reset(text)
		x.previous = ""
		for length < f.most && x.split.next() {
			if len(x.split.cuts) == 0 {
				x.count(x.split.word, f.word)
				length++
				continue
			}
			x.count(x.split.word, f.whole)
			x.previous = ""
			parts := 0
			x.split.parts(func(part []byte) {
				x.count(part, f.part)
				parts++
			})
			if f.part < f.whole {
				parts = 1
			}
			length += parts
		}
	}
	norm := 1 / (1 - f.slope + f.slope*float32(length)/f.reference)
	for _, c := range x.counts {
		if x.sums[c.term] == 0 {
			x.touched = append(x.touched, c.term)
		}
		x.sums[c.term] += c.weight * norm
		if isName && c.weight == f.part && x.names[c.term] == 0 {
			x.names[c.term] = 1
			distinct++
		}
	}
	return distinct
}

type termCount struct {
	term   int32
	weight float32
}

// count notes one word, and the variant that it makes with the word before it, such as "pull request".
func (x *indexer) count(word []byte, weight float32) {
	if t := x.term(word); t >= 0 {
		x.counts = append(x.counts, termCount{t, weight})
	}
	if x.previous != "" {
		if to, ok := x.lex.pair(x.previous, string(word)); ok {
			// A hair less than a word, so that it is not taken for one more word of a name.
			x.counts = append(x.counts, termCount{x.termOf(x.lex.stem(to)), weight * 0.99})
		}
	}
	x.previous = x.lex.heads[string(word)]
}

// term returns the number of the term that a written word belongs to; -1 for stop words.
func (x *indexer) term(word []byte) int32 {
	if t, ok := x.written[string(word)]; ok {
		return t
	}
	w := string(word)
	t := int32(-1)
	if !x.lex.stop[w] {
		t = x.termOf(x.lex.stem(w))
		x.index.addSurface(w, t)
	}
	x.written[w] = t
	return t
}

func (x *indexer) termOf(stem string) int32 {
	t, ok := x.index.terms[stem]
	if !ok {
		t = int32(len(x.index.terms))
		x.index.terms[stem] = t
		x.sums = append(x.sums, 0)
		x.names = append(x.names, 0)
		x.perTerm = append(x.perTerm, 0)
	}
	return t
}

// finish sorts the postings by term and folds the rarity of each term into them.
func (x *indexer) finish() *searchIndex {
	index := x.index
	index.start = make([]int32, len(x.perTerm)+1)
	for t, n := range x.perTerm {
		index.start[t+1] = index.start[t] + n
	}
	index.posts = make([]posting, len(x.found))
	at := append([]int32(nil), index.start...)
	total := float64(len(index.docs))
	for _, raw := range x.found {
		df := float64(x.perTerm[raw.term])
		raw.impact *= float32(math.Log(1 + (total-df+0.5)/(df+0.5)))
		index.posts[at[raw.term]] = raw.posting
		at[raw.term]++
	}
	for _, w := range x.lex.spells {
		if _, ok := x.written[w]; !ok {
			index.addSurface(w, -1)
		}
	}
	return index
}
