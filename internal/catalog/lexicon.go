package catalog

import (
	_ "embed"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"sync"
)

//go:embed synonyms.txt
var synonymsText string

// lexicon is what the search knows of the words of the tool world, read once from synonyms.txt. All words in it but the
// keys of canon, stop and weak are stems.
type lexicon struct {
	stop   map[string]bool
	verb   map[string]bool // stems of words that ask for an action
	weak   map[string]bool
	canon  map[string]string     // word to word, before stemming
	pairs  map[[2]string]string  // two neighbouring words to one
	heads  map[string]string     // first words of pairs, to themselves
	alts   map[string][]weighted // stem to stems it also stands for
	first  map[string][]weighted // the same, for the first word of a query
	turns  map[string][]turn     // first word to turns of phrase
	spells []string              // words that a typing error may be meant for
}

// weighted is a stem and how far it stands for another.
type weighted struct {
	stem   string
	weight float32
}

// turn is a phrase, its first word left out, and what to search for in its place. A phrase of one word counts only at the
// beginning of a query, and beside the word itself.
type turn struct {
	rest   []string
	give   []string
	weight float32
}

// theLexicon is read on first use.
var theLexicon = sync.OnceValue(func() *lexicon {
	l, err := parseLexicon(synonymsText)
	if err != nil {
		panic("catalog: synonyms.txt: " + err.Error()) // a file of this package; a test reads it
	}
	return l
})

func parseLexicon(text string) (*lexicon, error) {
	l := &lexicon{
		stop: map[string]bool{}, verb: map[string]bool{}, weak: map[string]bool{}, canon: map[string]string{}, pairs: map[[2]string]string{}, heads: map[string]string{},
		alts: map[string][]weighted{}, first: map[string][]weighted{}, turns: map[string][]turn{},
	}
	var later []string
	for number, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		var err error
		switch {
		case line == "" || line[0] == '#':
		case strings.HasPrefix(line, "stop:"):
			for _, w := range strings.Fields(line[5:]) {
				l.stop[w] = true
			}
		case strings.HasPrefix(line, "verb:"):
			later = append(later, line)
		case strings.HasPrefix(line, "weak:"):
			for _, w := range strings.Fields(line[5:]) {
				l.weak[w] = true
			}
		case line[0] == '=':
			err = l.addCanon(line[1:])
		default:
			later = append(later, line) // these need the whole of canon
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number+1, err)
		}
	}
	for _, line := range later {
		if err := l.addEntry(line); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
	}
	l.finish()
	return l, nil
}

func (l *lexicon) addCanon(line string) error {
	to, variants, ok := strings.Cut(line, ":")
	if !ok {
		return fmt.Errorf("no colon")
	}
	to = strings.TrimSpace(to)
	for _, v := range strings.Fields(variants) {
		if a, b, two := strings.Cut(v, "+"); two {
			l.pairs[[2]string{a, b}], l.heads[a] = to, a
			continue
		}
		if old, dup := l.canon[v]; dup {
			return fmt.Errorf("%q stands for %q and for %q", v, old, to)
		}
		l.canon[v] = to
	}
	return nil
}

func (l *lexicon) addEntry(line string) error {
	if verbs, ok := strings.CutPrefix(line, "verb:"); ok {
		for _, w := range strings.Fields(verbs) {
			l.verb[l.stem(w)] = true
		}
		return nil
	}
	number, rest, _ := strings.Cut(line[1:], " ")
	weight, err := strconv.ParseFloat(number, 32)
	if err != nil || weight <= 0 || weight > 1 {
		return fmt.Errorf("the weight must lie between 0 and 1")
	}
	from, to, directed := strings.Cut(rest, "->")
	switch line[0] {
	case '~':
		l.link(l.alts, strings.Fields(rest), strings.Fields(rest), float32(weight))
	case '>':
		l.link(l.alts, strings.Fields(from), strings.Fields(to), float32(weight))
	case '^':
		l.link(l.first, strings.Fields(from), strings.Fields(to), float32(weight))
	case 'p':
		phrase := strings.Fields(from)
		if len(phrase) == 0 {
			return fmt.Errorf("want: p1 some words -> words")
		}
		l.turns[phrase[0]] = append(l.turns[phrase[0]], turn{phrase[1:], strings.Fields(to), float32(weight)})
	default:
		return fmt.Errorf("unknown kind of entry")
	}
	if directed == (line[0] == '~') {
		return fmt.Errorf("an arrow where none belongs, or none where one does")
	}
	return nil
}

// link lets each word of from stand for each of to as well; of two weights the greater one counts.
func (l *lexicon) link(table map[string][]weighted, from, to []string, weight float32) {
	for _, f := range from {
		key := l.stem(f)
	targets:
		for _, t := range to {
			target := l.stem(t)
			if target == key {
				continue
			}
			list := table[key]
			for i := range list {
				if list[i].stem == target {
					list[i].weight = max(list[i].weight, weight)
					continue targets
				}
			}
			table[key] = append(list, weighted{target, weight})
		}
	}
	l.spells = append(l.spells, from...)
}

// finish puts everything that is ranged over into a fixed order.
func (l *lexicon) finish() {
	for from := range l.canon {
		l.spells = append(l.spells, from)
	}
	sort.Strings(l.spells)
	unique := l.spells[:0]
	for i, w := range l.spells {
		if len(w) > 3 && (i == 0 || w != l.spells[i-1]) {
			unique = append(unique, w)
		}
	}
	l.spells = unique
	for _, table := range []map[string][]weighted{l.alts, l.first} {
		for _, list := range table {
			sort.SliceStable(list, func(i, j int) bool { return list[i].weight > list[j].weight })
		}
	}
	for _, list := range l.turns {
		sort.SliceStable(list, func(i, j int) bool { return len(list[i].rest) > len(list[j].rest) })
	}
}

// stem brings a lower-case word to the form under which it is indexed. Spellings and abbreviations are looked up as they
// stand ("db"), without the ending of a plural ("deployments"), and without any ending.
func (l *lexicon) stem(word string) string {
	if c, ok := l.canon[word]; ok {
		return stem(c)
	}
	if c, ok := l.canon[singular(word)]; ok {
		return stem(c)
	}
	s := stem(word)
	if c, ok := l.canon[s]; ok {
		return stem(c)
	}
	return s
}

// pair returns the one word that stands for two neighbours, such as "pull requests".
func (l *lexicon) pair(first, second string) (string, bool) {
	to, ok := l.pairs[[2]string{first, second}]
	if !ok {
		to, ok = l.pairs[[2]string{first, singular(second)}]
	}
	return to, ok
}

func singular(word string) string {
	if len(word) < 4 || !plainWord(word) {
		return word
	}
	return stemPlural(word)
}

// turnAt returns the longest turn of phrase that begins at the first of the words, and how many words it takes.
func (l *lexicon) turnAt(list []string, first bool) (t turn, taken int) {
next:
	for _, t := range l.turns[list[0]] {
		if len(t.rest) >= len(list) || len(t.rest) == 0 && !first {
			continue
		}
		for i, w := range t.rest {
			if list[i+1] != w {
				continue next
			}
		}
		return t, len(t.rest) + 1
	}
	return turn{}, 0
}
