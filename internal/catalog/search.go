package catalog

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// Bounds on a query. What lies beyond them is not read.
const (
	maxQueryLen   = 4 << 10 // bytes
	maxQueryWords = 48
	maxQueryTerms = 24 // words that count, after stop words are dropped

	// visitsBase and visitsPerDoc bound the postings that one search looks at. A long query over a catalog whose tools all use
	// every word of it would look at a hundred and more for each tool; an honest one looks at fewer than ten.
	visitsBase   = 1 << 19
	visitsPerDoc = 8
)

// The shape of the final score, chosen on testdata/retrieval/queries-dev.txt.
const (
	weakWord      = 0.3  // weight of a word of little meaning
	turnedWord    = 0.35 // weight of the words that a turn of phrase stood for
	coverageFloor = 0.25 // factor for an entry that matches nearly nothing of the query
	nameBoost     = 0.5  // bonus for an entry whose whole name is asked for
	joinedWeight  = 0.9  // "web search" for websearch

	// A query without a verb, "unpaid invoices", is more often a wish to see than to change.
	defaultVerb       = "list"
	defaultVerbWeight = 0.25
)

// Search returns the entries that fit the query best, best first, at most limit. It looks over what guest code can see:
// MCP entries are never found. Safe for concurrent use; the time is bounded for any query (the first 4 KiB and the first 48
// words count).
//
// An entry whose id or name is the query comes first, in this order: same id, same name, same name when case and
// separators are ignored, with the owner's name before it or not. Then come all tools of an owner whose name is the query. Then
// BM25 over the words of name, owner, label,
// description, parameter names and parameter descriptions; stop words are dropped, endings cut, synonyms and abbreviations of
// the tool world count for less than the word itself, typing errors are mended where a word is unknown. Ties are broken by id.
//
// An empty query, or "*", gives the first entries in catalog order. A limit of 0 or less gives none.
func (c *Catalog) Search(query string, limit int) []*Entry { return c.search.top(query, limit) }

// SearchMCP is Search over the tools of MCP servers, which Search does not find. The index is made at its first use.
func (c *Catalog) SearchMCP(query string, limit int) []*Entry {
	if c.counts[SourceMCP] == 0 {
		return nil
	}
	return c.searchMCP().top(query, limit)
}

func (x *searchIndex) top(query string, limit int) []*Entry {
	if limit <= 0 || len(x.docs) == 0 {
		return nil
	}
	if q := strings.TrimSpace(plaintext.Head(query, maxQueryLen)); q == "" || q == "*" {
		return slices.Clone(x.docs[:min(limit, len(x.docs))])
	}
	hits := x.find(query, limit, 0)
	result := make([]*Entry, len(hits))
	for i, doc := range hits {
		result[i] = x.docs[doc]
	}
	return result
}

// hit is one entry on its way into the result.
type hit struct {
	doc   int32
	exact int8 // one of the ranks below
	score float32
}

// How a whole query can be the name of something, from the weakest to the strongest.
const (
	sameOwner int8 = 1 + iota
	sameSqueezed
	sameExactName
	sameID
)

func (x *searchIndex) better(a, b hit) int {
	return cmp.Or(cmp.Compare(b.exact, a.exact), cmp.Compare(b.score, a.score), cmp.Compare(x.docs[a.doc].ID, x.docs[b.doc].ID))
}

// find ranks the entries, and leaves out those that match less than a share of the query.
func (x *searchIndex) find(query string, limit int, share float32) []int32 {
	s := scratches.Get().(*scratch)
	s.reset(len(x.docs))
	x.analyze(s, plaintext.Head(query, maxQueryLen))
	total := x.accumulate(s)
	x.exactHits(s, query)

	limit = min(limit, len(x.docs))
	top := s.top[:0]
	for _, doc := range s.touched {
		a := &s.docs[doc]
		h := hit{doc: doc, exact: a.exact}
		covered := float32(1)
		if total > 0 {
			covered = a.covered / total
		}
		h.score = a.total * (coverageFloor + (1-coverageFloor)*covered) * (1 + nameBoost*min(a.named, 1))
		if covered >= share {
			top = x.push(top, h, limit)
		}
		*a = docScore{}
	}
	s.touched = s.touched[:0]
	slices.SortFunc(top, x.better)
	s.top = top
	result := make([]int32, len(top))
	for i, h := range top {
		result[i] = h.doc
	}
	scratches.Put(s) // not deferred: after a panic it would not be clean
	return result
}

// push keeps the best hits in a heap whose root is the worst of them.
func (x *searchIndex) push(heap []hit, h hit, limit int) []hit {
	if len(heap) < limit {
		heap = append(heap, h)
		for i := len(heap) - 1; i > 0; {
			parent := (i - 1) / 2
			if x.better(heap[i], heap[parent]) <= 0 {
				break
			}
			heap[i], heap[parent] = heap[parent], heap[i]
			i = parent
		}
		return heap
	}
	if x.better(h, heap[0]) >= 0 {
		return heap
	}
	heap[0] = h
	for i := 0; ; {
		worst := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(heap); child++ {
			if x.better(heap[child], heap[worst]) > 0 {
				worst = child
			}
		}
		if worst == i {
			return heap
		}
		heap[i], heap[worst] = heap[worst], heap[i]
		i = worst
	}
}

// exactHits marks the entries whose id, name or owner is the query itself.
func (x *searchIndex) exactHits(s *scratch, query string) {
	query = strings.TrimSpace(query)
	if len(query) > 2*(MaxOwnerLen+MaxToolLen) {
		return
	}
	mark := func(doc int32, exact int8) {
		a := &s.docs[doc]
		if a.exact == 0 && a.term == 0 {
			s.touched = append(s.touched, doc)
			a.term = -1
		}
		a.exact = max(a.exact, exact)
	}
	for _, doc := range x.owners[query] {
		mark(doc, sameOwner)
	}
	for _, doc := range x.exact[squeeze(query)] {
		exact := sameSqueezed
		if x.docs[doc].Name == query {
			exact = sameExactName
		}
		mark(doc, exact)
	}
	_, rest, _ := strings.Cut(query, ":")
	for _, doc := range x.exact[squeeze(rest)] {
		if x.docs[doc].ID == query {
			mark(doc, sameID)
		}
	}
}

// docScore collects what the terms of the query give one entry.
type docScore struct {
	total, covered, named float32
	// Of the present query term, over its variants.
	best, bestWeight, bestName float32
	term                       int32 // 1 + the query term that the last three belong to; 0 when untouched
	exact                      int8  // see sameOwner
}

// accumulate adds up the scores of all entries that any term matches. Of the variants of one query term only the best
// counts for an entry. It returns the weight of the terms that occur in the catalog at all.
func (x *searchIndex) accumulate(s *scratch) (total float32) {
	allowed := x.maxVisits()
	for i := range s.terms {
		q := &s.terms[i]
		if len(q.variants) == 0 {
			continue
		}
		// A rare word that an entry lacks counts more against it than a common one.
		share := q.weight * x.rarest(q.variants)
		total += share
		for _, v := range q.variants {
			posts := x.posts[x.start[v.term]:x.start[v.term+1]]
			if s.visits+len(posts) > allowed {
				return total
			}
			s.visits += len(posts)
			for _, p := range posts {
				a := &s.docs[p.doc]
				if a.term != int32(i)+1 {
					if a.term == 0 {
						s.touched = append(s.touched, p.doc)
					}
					a.term, a.best, a.bestWeight, a.bestName = int32(i)+1, 0, 0, 0
				}
				if score := v.weight * p.impact; score > a.best {
					a.total += q.weight * (score - a.best)
					a.best = score
				}
				if v.weight > a.bestWeight {
					a.covered += share * (v.weight - a.bestWeight)
					a.bestWeight = v.weight
				}
				if name := v.weight * p.name; name > a.bestName {
					a.named += name - a.bestName
					a.bestName = name
				}
			}
		}
	}
	return total
}

func (x *searchIndex) maxVisits() int { return visitsBase + visitsPerDoc*len(x.docs) }

// variant is a term that a word of the query may mean.
type variant struct {
	term   int32
	weight float32
}

// queryTerm is one word of the query that counts.
type queryTerm struct {
	stem     string
	weight   float32
	variants []variant
}

// scratch is the memory of one search. It is pooled: a search allocates its result and little else.
type scratch struct {
	split   splitter
	list    []string // words of the query
	terms   []queryTerm
	docs    []docScore
	touched []int32
	visits  int // postings looked at
	top     []hit
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func (s *scratch) reset(docs int) {
	if len(s.docs) < docs {
		s.docs = make([]docScore, docs)
	}
	s.list = s.list[:0]
	s.terms = s.terms[:0]
	s.visits = 0
}

// addTerm appends a term and reuses the memory of a former one.
func (s *scratch) addTerm(stem string, weight float32) *queryTerm {
	if n := len(s.terms); n < cap(s.terms) {
		s.terms = s.terms[:n+1]
	} else {
		s.terms = append(s.terms, queryTerm{})
	}
	q := &s.terms[len(s.terms)-1]
	q.stem, q.weight, q.variants = stem, weight, q.variants[:0]
	return q
}

// addVariant adds a term of the index; of two weights for one term the greater one counts.
func (q *queryTerm) addVariant(term int32, weight float32) {
	for i := range q.variants {
		if q.variants[i].term == term {
			q.variants[i].weight = max(q.variants[i].weight, weight)
			return
		}
	}
	q.variants = append(q.variants, variant{term, weight})
}

// rarest returns the rarity of the rarest variant, each taken at its weight.
func (x *searchIndex) rarest(variants []variant) (most float32) {
	for _, v := range variants {
		most = max(most, v.weight*x.rarity(v.term))
	}
	return most
}

// rarity is the inverse document frequency of a term.
func (x *searchIndex) rarity(term int32) float32 {
	df := float64(x.start[term+1] - x.start[term])
	total := float64(len(x.docs))
	return float32(math.Log(1 + (total-df+0.5)/(df+0.5)))
}
