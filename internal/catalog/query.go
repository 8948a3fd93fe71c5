package catalog

// analysis turns a query into terms of the index.
type analysis struct {
	*searchIndex
	*scratch
	lex         *lexicon
	corrections int  // how many unknown words may still be mended
	first       bool // no word that counts was seen yet
	verb        bool // some word asks for an action
}

// analyze fills s.terms.
func (x *searchIndex) analyze(s *scratch, query string) {
	a := analysis{searchIndex: x, scratch: s, lex: theLexicon(), corrections: maxCorrections, first: true}
	a.readWords(query)
	keepStops := true
	for _, w := range s.list {
		keepStops = keepStops && a.lex.stop[w]
	}
	for i := 0; i < len(s.list) && len(s.terms) < maxQueryTerms; {
		i += a.take(s.list[i:], keepStops)
	}
	for i := range s.terms {
		if len(s.terms[i].variants) > 0 && !a.verb {
			a.addWord(defaultVerb, defaultVerbWeight, false)
			break
		}
	}
}

// readWords cuts the query into words. A word with capitals inside, such as createIssue, is taken whole when the index knows it
// that way ("GitHub") and in parts otherwise.
func (a *analysis) readWords(query string) {
	a.split.reset(query)
	for len(a.list) < maxQueryWords && a.split.next() {
		if len(a.split.cuts) == 0 || a.knows(a.lex, string(a.split.word)) {
			a.list = append(a.list, string(a.split.word))
			continue
		}
		a.split.parts(func(part []byte) { a.list = append(a.list, string(part)) })
	}
}

func (x *searchIndex) knows(lex *lexicon, word string) bool {
	_, ok := x.terms[lex.stem(word)]
	return ok
}

// take reads what stands at the beginning of the list: a turn of phrase, a variant of two words, or one word. It returns
// how many words that were.
func (a *analysis) take(list []string, keepStops bool) int {
	w, next := list[0], ""
	if len(list) > 1 {
		next = list[1]
	}
	t, taken := a.lex.turnAt(list, a.first)
	for _, given := range t.give {
		a.addWord(given, t.weight, false)
	}
	if taken > 1 {
		a.addAgain(list[:taken])
		return taken
	}
	if to, ok := a.lex.pair(w, next); ok {
		a.addWord(to, 1, false)
		a.addAgain(list[:2])
		return 2
	}
	if a.lex.stop[w] && !keepStops {
		return 1
	}
	weight := float32(1)
	if a.lex.weak[w] {
		weight = weakWord
	}
	q := a.addWord(w, weight, a.first)
	if next != "" {
		a.addJoined(q, w, next)
	}
	a.first = false
	return 1
}

// addAgain adds the words that something else was put in place of, for little.
func (a *analysis) addAgain(list []string) {
	for _, w := range list {
		if !a.lex.stop[w] {
			a.addWord(w, turnedWord, false)
		}
	}
	a.first = false
}

// addWord adds one word of the query with everything it may stand for.
func (a *analysis) addWord(word string, weight float32, first bool) *queryTerm {
	stem := a.lex.stem(word)
	a.verb = a.verb || a.lex.verb[stem]
	for i := range a.scratch.terms {
		q := &a.scratch.terms[i]
		if q.stem == stem {
			q.weight = max(q.weight, weight)
			return q
		}
		// Synonyms both ways are one term: "make a new repo" does not ask for create twice.
		if weight == 1 && standsFor(a.lex, q.stem, stem) && standsFor(a.lex, stem, q.stem) {
			a.expand(q, a.lex, stem, 1, first)
			return q
		}
	}
	q := a.addTerm(stem, weight)
	if !a.expand(q, a.lex, stem, 1, first) && a.corrections > 0 {
		a.corrections--
		a.correct(q, a.lex, word)
	}
	return q
}

func standsFor(lex *lexicon, from, to string) bool {
	for _, alt := range lex.alts[from] {
		if alt.stem == to {
			return true
		}
	}
	return false
}

// expand adds a stem and its synonyms as variants and reports whether the word is known: to the index, or to the lexicon.
func (x *searchIndex) expand(q *queryTerm, lex *lexicon, stem string, weight float32, first bool) bool {
	term, known := x.terms[stem]
	if known {
		q.addVariant(term, weight)
	}
	x.expandList(q, lex.alts[stem], weight)
	if first {
		x.expandList(q, lex.first[stem], weight)
	}
	return known || len(lex.alts[stem]) > 0
}

func (x *searchIndex) expandList(q *queryTerm, list []weighted, weight float32) {
	for _, alt := range list {
		if term, ok := x.terms[alt.stem]; ok {
			q.addVariant(term, weight*alt.weight)
		}
	}
}

// addJoined lets two neighbouring words of the query match a name that writes them as one.
func (a *analysis) addJoined(q *queryTerm, word, next string) {
	if len(word)+len(next) > maxWordLen {
		return
	}
	if term, ok := a.searchIndex.terms[a.lex.stem(word+next)]; ok {
		q.addVariant(term, joinedWeight)
	}
}
