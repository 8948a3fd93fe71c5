package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// number is a JSON number for exact comparison: as an int64 where it fits, as a decimal literal otherwise.
type number struct {
	small bool    // i holds the value
	i     int64   //
	f     float64 // nearest double, for a first comparison
	lit   string  // literal, where not small
	rat   *big.Rat
}

// isNumber reports whether v is one of the Go types that stand for a JSON number.
func isNumber(v any) bool {
	switch v.(type) {
	case json.Number, float64, int, int64, uint64, float32, int32, uint32, int16, uint16, int8, uint8, uint:
		return true
	}
	return false
}

// numberText gives the decimal literal of a number.
func numberText(v any) (string, bool) {
	switch v := v.(type) {
	case json.Number:
		return string(v), true
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), !math.IsNaN(v) && !math.IsInf(v, 0)
	case float32:
		return strconv.FormatFloat(float64(v), 'g', -1, 32), !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0)
	}
	if !isNumber(v) {
		return "", false
	}
	return fmt.Sprint(v), true
}

// validNumber checks a number that did not come through Decode: the literal's grammar and its bounds.
func validNumber(v any) bool {
	switch v := v.(type) {
	case json.Number:
		return numberFault(string(v)) == "" && jsonNumberGrammar(string(v))
	case float64:
		return !math.IsNaN(v) && !math.IsInf(v, 0)
	case float32:
		return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0)
	}
	return isNumber(v)
}

// jsonNumberGrammar is RFC 8259 section 6: -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func jsonNumberGrammar(s string) bool {
	s = strings.TrimPrefix(s, "-")
	rest := strings.TrimLeft(s, "0123456789")
	whole := s[:len(s)-len(rest)]
	if whole == "" || (len(whole) > 1 && whole[0] == '0') {
		return false
	}
	if strings.HasPrefix(rest, ".") {
		frac := strings.TrimLeft(rest[1:], "0123456789")
		if len(frac) == len(rest)-1 {
			return false
		}
		rest = frac
	}
	if rest == "" {
		return true
	}
	if rest[0] != 'e' && rest[0] != 'E' {
		return false
	}
	rest = rest[1:]
	if rest != "" && (rest[0] == '+' || rest[0] == '-') {
		rest = rest[1:]
	}
	return rest != "" && strings.TrimLeft(rest, "0123456789") == ""
}

// toNumber reads a number that validNumber accepted.
func toNumber(v any) number {
	switch v := v.(type) {
	case int:
		return smallNumber(int64(v))
	case int64:
		return smallNumber(v)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return smallNumber(int64(v))
		}
	case json.Number:
		return literalNumber(string(v))
	}
	lit, _ := numberText(v)
	return literalNumber(lit)
}

func smallNumber(i int64) number { return number{small: true, i: i, f: float64(i)} }

func literalNumber(lit string) number {
	if len(lit) <= 19 && !strings.ContainsAny(lit, ".eE") {
		if i, err := strconv.ParseInt(lit, 10, 64); err == nil {
			return smallNumber(i)
		}
	}
	// A range error still gives the right infinity or zero, which is all the first comparison needs.
	f, _ := strconv.ParseFloat(lit, 64)
	return number{lit: lit, f: f}
}

func ratNumber(r *big.Rat) *number {
	if r == nil {
		return nil
	}
	if r.IsInt() && r.Num().IsInt64() {
		n := smallNumber(r.Num().Int64())
		return &n
	}
	f, _ := r.Float64()
	return &number{rat: r, f: f}
}

// exact gives the value as a fraction. The literal is bounded, so this is cheap; it never changes n, which may be shared.
func (n number) exact() *big.Rat {
	switch {
	case n.rat != nil:
		return n.rat
	case n.small:
		return new(big.Rat).SetInt64(n.i)
	default:
		if r, ok := new(big.Rat).SetString(n.lit); ok {
			return r
		}
		return new(big.Rat)
	}
}

// cmp is exact. Rounding to the nearest double keeps order, so that unequal doubles decide.
func (n number) cmp(m number) int {
	if n.small && m.small {
		switch {
		case n.i < m.i:
			return -1
		case n.i > m.i:
			return 1
		}
		return 0
	}
	if n.f < m.f {
		return -1
	}
	if n.f > m.f {
		return 1
	}
	return n.exact().Cmp(m.exact())
}

func (n number) isInt() bool {
	if n.small {
		return true
	}
	if n.rat == nil && !strings.ContainsAny(n.lit, ".eE") {
		return true
	}
	return n.exact().IsInt()
}

func (n number) multipleOf(m number) bool {
	if n.small && m.small && m.i != 0 {
		return n.i%m.i == 0
	}
	d := m.exact()
	if d.Sign() == 0 {
		return false
	}
	return new(big.Rat).Quo(n.exact(), d).IsInt()
}

// text shows a bound of a schema.
func (n number) text() string {
	switch {
	case n.small:
		return strconv.FormatInt(n.i, 10)
	case n.rat != nil:
		return strconv.FormatFloat(n.f, 'g', -1, 64)
	default:
		return plaintext.Clip(n.lit, maxNameText)
	}
}

// key is equal for numbers of equal value, for hashing.
func (n number) key() string {
	if n.small {
		return strconv.FormatInt(n.i, 10)
	}
	return n.exact().RatString()
}

// kindFault explains why a Go value is no JSON, for ErrNotJSON.
func kindFault(v any) string {
	if isNumber(v) {
		return "a number that JSON cannot hold or that is out of bounds"
	}
	if t := reflect.TypeOf(v); t != nil {
		return "a Go value of kind " + t.Kind().String()
	}
	return "an unknown value"
}
