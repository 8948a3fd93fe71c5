package plaintext

import (
	"unicode"
	"unicode/utf8"
)

const (
	zwnj = '\u200c' // zero width non-joiner
	zwj  = '\u200d' // zero width joiner
	vs15 = '\ufe0e' // variation selector 15: as text
	vs16 = '\ufe0f' // variation selector 16: as emoji

	keycap = '\u20e3' // combining enclosing keycap

	maxMarks = 4 // combining marks in a row, UTS #39 section 5.4
)

// blank lists what shows nothing and that no property of package unicode has.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{{0x2800, 0x2800, 1}, {0xfffc, 0xfffc, 1}},
	R32: []unicode.Range32{{0x16fe4, 0x16fe4, 1}, {0x1d159, 0x1d159, 1}},
}

// joining are the scripts in which a joiner between two letters changes what is seen.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Adlam, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
	unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer,
	unicode.Myanmar,
}

// Dangerous reports whether a character has to be kept from readers, wherever it stands. The line breaks and the tab are among
// them; so are joiners and emoji selectors, which the verbs let stand where they belong.
func Dangerous(r rune) bool {
	switch {
	case ' ' <= r && r <= '~':
		return false
	case unicode.IsPrint(r):
		return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, blank)
	case unicode.Is(unicode.Zs, r):
		return false
	}
	return !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// class is what a character is at its place in a text.
type class uint8

const (
	plain  class = iota
	glue         // plain, but only together with what follows: no place for a cut
	space        // the blank, the tab and spaces of other widths
	end          // ends a line
	danger       // all that is dangerous at its place, line ends apart
)

// place is what has to be known of the text before a character. The zero value is the start of a text.
type place struct {
	base  rune // what marks and joiners would belong to; 0 for nothing
	last  rune // the last character
	marks int  // marks since base
}

// class tells what r is, where next follows it. next is 0 at the end of the text.
func (p *place) class(r, next rune) class {
	switch {
	case ' ' < r && r <= '~':
		return plain
	case r == '\n', r == '\r', r == '\v', r == '\f', r == '\u0085', r == '\u2028', r == '\u2029':
		return end
	case r == '\t', unicode.Is(unicode.Zs, r):
		return space
	case r == zwnj, r == zwj:
		if p.joins(r, next) {
			return glue
		}
		return danger
	case r == vs15, r == vs16:
		return p.selects(r, next)
	case Dangerous(r):
		return danger
	case unicode.Is(unicode.M, r) && (p.base == 0 || p.marks == maxMarks):
		return danger
	}
	return plain
}

func (p *place) joins(r, next rune) bool {
	if p.last == zwnj || p.last == zwj {
		return false
	}
	if r == zwj && pictograph(p.base) && (p.marks == 0 || p.last == vs16) && pictograph(next) {
		return true
	}
	if !unicode.IsLetter(p.base) || !unicode.IsLetter(next) {
		return false
	}
	for _, script := range joining {
		if unicode.Is(script, p.base) {
			return unicode.Is(script, next) && !Dangerous(next)
		}
	}
	return false
}

func (p *place) selects(r, next rune) class {
	switch {
	case p.last == 0 || p.last != p.base && !keycapBase(p.last):
		return danger
	case pictograph(p.base):
		return plain
	case r == vs16 && keycapBase(p.last) && next == keycap:
		return glue
	}
	return danger
}

func keycapBase(r rune) bool { return '0' <= r && r <= '9' || r == '#' || r == '*' }

// pictograph takes in all that has a form as emoji, and other symbols.
func pictograph(r rune) bool {
	switch {
	case r <= 0x7f, r == utf8.RuneError, Dangerous(r):
		return false
	case r == 0x203c, r == 0x2049, r == 0x2139, r == 0x3030, 0x1f3fb <= r && r <= 0x1f3ff:
		return true
	}
	return unicode.In(r, unicode.So, unicode.Sm)
}

// wrote notes that r was written, or with 0 something that is no base for what follows.
func (p *place) wrote(r rune) {
	if r == 0 {
		*p = place{}
		return
	}
	p.after(r)
}

// after notes that r was written.
func (p *place) after(r rune) {
	p.last = r
	switch {
	case r == zwnj, r == zwj:
	case unicode.Is(unicode.M, r):
		if p.base == 0 { // of a keycap on # or *, which are punctuation
			p.base = r
		}
		p.marks++
	case unicode.In(r, unicode.L, unicode.N, unicode.S) || pictograph(r):
		p.base, p.marks = r, 0
	default:
		*p = place{last: r}
	}
}

// FirstDangerous finds the first character that is dangerous at its place in a text of several lines, bytes that are not UTF-8
// included: these are U+FFFD. Line feeds, tabs and spaces of all widths are none. It is for texts whose author can change them.
func FirstDangerous(s string) (r rune, found bool) {
	var at place
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		if r == utf8.RuneError && size == 1 {
			return r, true
		}
		switch c := at.class(r, following(s[i:])); {
		case c == danger, c == end && r != '\n':
			return r, true
		}
		at.after(r)
	}
	return 0, false
}

// Plain reports whether [Line] would leave a text as it is, whatever its length: valid UTF-8, on one line, its only white space
// the blank, and nothing dangerous in it.
func Plain(s string) bool {
	if ascii(s, false) {
		return true
	}
	for _, r := range s {
		if r != ' ' && (r == '\t' || r == '\n' || unicode.Is(unicode.Zs, r)) {
			return false
		}
	}
	_, found := FirstDangerous(s)
	return !found
}

// following is the next character, 0 for none.
func following(s string) rune {
	if s == "" {
		return 0
	}
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// ascii is the quick way out, for nearly all texts: printable ASCII, and tabs and line feeds with lines.
func ascii(s string, lines bool) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' || c > '~') && !(lines && (c == '\n' || c == '\t')) {
			return false
		}
	}
	return true
}
