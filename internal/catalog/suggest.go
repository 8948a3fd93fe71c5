package catalog

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/suggest"
)

const (
	maxSuggestions = 3
	maxGuessLen    = 256 // bytes of a wrong id that are looked at
	guessCoverage  = 0.5 // share of a guess that must be found again in a suggestion by words
)

// Suggest returns up to three ids that a caller who used an unknown id may have meant, best first: tools of that very name
// with another owner or spelling, names a few typing errors away, tools that its words would find. Only ids that guest code can
// see are returned. The time is bounded for any input; what lies beyond its first 256 bytes is not read.
func (c *Catalog) Suggest(id string) []string {
	guess := strings.TrimSpace(plaintext.Head(id, maxGuessLen))
	if guess == "" || len(c.search.docs) == 0 {
		return nil
	}
	owner, tool := splitGuess(guess)
	var ids []string
	add := func(docs ...int32) {
		for _, doc := range docs {
			if id := c.search.docs[doc].ID; len(ids) < maxSuggestions && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	add(c.search.sameName(owner, tool)...)
	add(c.search.closeNames(owner, tool)...)
	if len(ids) < maxSuggestions {
		// By its words: of the best, those of the owner that was named come first.
		found := c.search.find(guess, 3*maxSuggestions, guessCoverage)
		slices.SortStableFunc(found, func(a, b int32) int { return cmp.Compare(c.search.strange(a, owner), c.search.strange(b, owner)) })
		add(found...)
	}
	return ids
}

// splitGuess finds what was meant as the owner and as the tool, in the ways that ids are written elsewhere:
// cloister:github:create_issue, github.create_issue, mcp__github__create_issue, github/create_issue.
func splitGuess(guess string) (owner, tool string) {
	for _, separator := range []string{":", "__", ".", "/"} {
		if at := strings.LastIndex(guess, separator); at >= 0 && squeeze(guess[at:]) != "" {
			before := guess[:at]
			if cut := strings.LastIndex(before, separator); cut >= 0 {
				before = before[cut+len(separator):]
			}
			return squeeze(before), squeeze(guess[at:])
		}
	}
	return "", squeeze(guess)
}

// sameName returns the entries whose squeezed name, or owner and name, is the guess; those of the guessed owner first.
func (x *searchIndex) sameName(owner, tool string) []int32 {
	docs := slices.Concat(x.exact[owner+tool], x.exact[tool])
	slices.SortStableFunc(docs, func(a, b int32) int {
		return cmp.Or(cmp.Compare(x.strange(a, owner), x.strange(b, owner)), strings.Compare(x.docs[a].ID, x.docs[b].ID))
	})
	return docs[:min(len(docs), 2*maxSuggestions)]
}

// strange is 0 for an entry of that owner, else 1.
func (x *searchIndex) strange(doc int32, owner string) int {
	if squeeze(x.docs[doc].Owner) == owner {
		return 0
	}
	return 1
}

// closeNames returns the entries whose names are a few edits away from the guess, closest first.
func (x *searchIndex) closeNames(owner, tool string) []int32 {
	if len(tool) < 3 || len(tool) > maxWordLen {
		return nil
	}
	allowed := min(3, 1+len(tool)/7)
	mask := letterMask(tool)
	type near struct {
		doc     int32
		edits   int
		strange int
	}
	var best []near
	for doc := range x.squeezed {
		s := &x.squeezed[doc]
		if d := len(s.word) - len(tool); d > allowed || -d > allowed ||
			bits.OnesCount32(mask&^s.mask) > allowed || bits.OnesCount32(s.mask&^mask) > allowed {
			continue
		}
		if d := suggest.Distance(tool, s.word, allowed); d <= allowed {
			best = append(best, near{int32(doc), d, x.strange(int32(doc), owner)})
			allowed = max(d, 1) // nothing farther than the closest is of interest
		}
	}
	slices.SortFunc(best, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.edits, b.edits), cmp.Compare(a.strange, b.strange), strings.Compare(x.docs[a.doc].ID, x.docs[b.doc].ID))
	})
	docs := make([]int32, 0, maxSuggestions)
	for _, n := range best[:min(len(best), maxSuggestions)] {
		docs = append(docs, n.doc)
	}
	return docs
}
