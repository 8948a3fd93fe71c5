package catalog

import (
	"math/bits"

	"github.com/cloister-wasm/cloister/internal/suggest"
)

// Bounds on mending typing errors, which walks over the whole vocabulary.
const (
	maxCorrections = 6       // words of one query
	maxSurfaces    = 1 << 18 // words of the vocabulary that are walked over
	maxCandidates  = 4       // words that one typing error may be meant for
)

// How much a mended word counts.
const (
	oneError   = 0.85
	twoErrors  = 0.6
	splitWord  = 0.85 // createissue for create issue
	beginsWith = 0.6  // conf for configuration
)

func (x *searchIndex) addSurface(word string, term int32) {
	if len(word) > 2 && len(x.surfaces) < maxSurfaces {
		x.surfaces = append(x.surfaces, surface{word, letterMask(word), term})
	}
}

// letterMask has one bit for each letter of a word and one for everything else. An edit changes at most two of them.
func letterMask(word string) (mask uint32) {
	for i := range len(word) {
		if c := word[i] - 'a'; c < 26 {
			mask |= 1 << c
		} else {
			mask |= 1 << 26
		}
	}
	return mask
}

// candidate is a word of the vocabulary that an unknown word may be meant for.
type candidate struct {
	surface int
	errors  int // number of edits; 3 for a mere beginning
}

// correct gives a word that neither the index nor the lexicon knows the variants of the words it may be meant for: words one
// or two typing errors away, two words written as one, words that begin with it.
func (x *searchIndex) correct(q *queryTerm, lex *lexicon, word string) {
	if len(word) < 3 || !plainWord(word) {
		return
	}
	var found [maxCandidates]candidate
	n := x.nearest(&found, word)
	closest := 3
	for _, c := range found[:n] {
		closest = min(closest, c.errors)
	}
	if closest > 1 && x.splitInTwo(q, lex, word) {
		return
	}
	for _, c := range found[:n] {
		if c.errors > closest {
			continue // a word two errors away is no match for one that is one error away
		}
		weight := [...]float32{1, oneError, twoErrors, beginsWith}[c.errors]
		meant := lex.stem(x.surfaces[c.surface].word)
		x.expand(q, lex, meant, weight, false)
	}
}

// nearest fills found with the closest words of the vocabulary and returns how many there are. Equally close ones keep the
// order of the vocabulary, which is that of the catalog.
func (x *searchIndex) nearest(found *[maxCandidates]candidate, word string) int {
	allowed := 1
	if len(word) >= 7 {
		allowed = 2
	}
	mask := letterMask(word)
	n := 0
	for i := range x.surfaces {
		s := &x.surfaces[i]
		errors := 4
		if d := len(s.word) - len(word); -allowed <= d && d <= allowed && len(word) > 3 &&
			bits.OnesCount32(mask&^s.mask) <= allowed && bits.OnesCount32(s.mask&^mask) <= allowed {
			if d := suggest.Distance(word, s.word, allowed); d <= allowed && mayBeTypo(word, s.word, d) {
				errors = d
			}
		}
		if errors > 3 && len(s.word) > len(word) && len(s.word) <= 3*len(word) && s.word[:len(word)] == word {
			errors = 3
		}
		if errors > 3 {
			continue
		}
		n = insertCandidate(found, n, candidate{i, errors})
	}
	return n
}

// mayBeTypo keeps short words from being mended into other words: their first letter must be right, or merely swapped
// with the second.
func mayBeTypo(word, meant string, errors int) bool {
	if len(word) > 5 || word[0] == meant[0] {
		return true
	}
	return errors == 1 && word[0] == meant[1] && word[1] == meant[0]
}

func insertCandidate(found *[maxCandidates]candidate, n int, c candidate) int {
	at := n
	for at > 0 && found[at-1].errors > c.errors {
		at--
	}
	if at == maxCandidates {
		return n
	}
	n = min(n+1, maxCandidates)
	copy(found[at+1:n], found[at:n-1])
	found[at] = c
	return n
}

// splitInTwo finds two known words that were written as one; of several ways the most even one.
func (x *searchIndex) splitInTwo(q *queryTerm, lex *lexicon, word string) bool {
	const shortest = 3
	best, bestEven := 0, 0
	for i := shortest; i <= len(word)-shortest; i++ {
		even := min(i, len(word)-i)
		if even > bestEven && x.knows(lex, word[:i]) && x.knows(lex, word[i:]) {
			best, bestEven = i, even
		}
	}
	if best == 0 {
		return false
	}
	x.expand(q, lex, lex.stem(word[:best]), splitWord, false)
	x.expand(q, lex, lex.stem(word[best:]), splitWord, false)
	return true
}
