package schema

import (
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// pattern bounds one regular expression: a few bytes such as ((a{1000}){100}){10} stand for a program of a million
// instructions.
func (sc *scan) pattern(at, s string, data bool) error {
	refuse := func(format string, args ...any) error {
		return &CompileError{Kind: ErrPattern, Path: at, Detail: fmt.Sprintf("%q ", plaintext.Clip(s, maxRefusedText)) + fmt.Sprintf(format, args...)}
	}
	if len(s) > MaxPatternBytes {
		return refuse("is longer than %d bytes", MaxPatternBytes)
	}
	re, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		if data {
			return nil
		}
		return refuse("is not a regular expression that can be matched in linear time: %s", patternFault(err))
	}
	n := programSize(re)
	if n > MaxPatternSize {
		return refuse("is too large once its repetitions are written out")
	}
	if sc.program += n; sc.program > MaxPatternTotal {
		return refuse("and the other regular expressions are too large together")
	}
	return nil
}

func patternFault(err error) string {
	e, ok := err.(*syntax.Error)
	if !ok {
		return "it cannot be parsed"
	}
	switch e.Code {
	case syntax.ErrInvalidPerlOp:
		return "look-around and similar groups are not supported; write it without them"
	case syntax.ErrInvalidEscape:
		return fmt.Sprintf("the escape %q is not supported", plaintext.Clip(e.Expr, maxNameText))
	default:
		return fmt.Sprintf("%s near %q", string(e.Code), plaintext.Clip(e.Expr, maxNameText))
	}
}

// programSize estimates the instructions of the compiled expression. It saturates.
func programSize(re *syntax.Regexp) int {
	n := 1
	for _, sub := range re.Sub {
		n = addSat(n, programSize(sub))
	}
	switch re.Op {
	case syntax.OpLiteral:
		n = addSat(n, len(re.Rune))
	case syntax.OpCharClass:
		n = addSat(n, len(re.Rune)/16)
	case syntax.OpRepeat:
		n = mulSat(n, max(re.Min, re.Max, 1))
	}
	return n
}

const saturated = math.MaxInt32

func addSat(a, b int) int { return min(a+b, saturated) }

func mulSat(a, b int) int {
	if b > 0 && a > saturated/b {
		return saturated
	}
	return a * b
}

// matcher is one compiled expression and what a byte of text costs it.
type matcher struct {
	re   *regexp.Regexp
	cost int // steps per eight bytes of text
}

func newMatcher(re *regexp.Regexp) *matcher {
	if re == nil {
		return nil
	}
	size := 64
	if tree, err := syntax.Parse(re.String(), syntax.Perl); err == nil {
		size = programSize(tree)
	}
	return &matcher{re: re, cost: 8 + size}
}

// steps is the charge for matching s.
func (m *matcher) steps(s string) int { return 1 + (len(s)/8+1)*m.cost/4 }
