package policy

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/cedar-policy/cedar-go/types"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// maxSafe is the largest number up to which every integer is a double.
const maxSafe = 1 << 53

// number gives the Cedar value of a JSON number, whose literal is in the bounds of
// schema.Decode. It goes by the number and not by how it is written: 1.0 and 1e0 are
// the long 1. What fits neither a long nor a decimal is an entity of the type
// Cloister::Number, which equals no other number and cannot be compared by size.
//
// problem is set for a number that programs read differently: one that a double, such
// as JavaScript has, holds as another than is written. A policy would then decide
// about another number than the tool is given.
func number(literal string) (v types.Value, problem string) {
	if len(literal) <= 16 {
		if i, err := strconv.ParseInt(literal, 10, 64); err == nil && -maxSafe <= i && i <= maxSafe {
			return types.Long(i), ""
		}
	}
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, fmt.Sprintf("no double holds the number %s", plaintext.Clip(literal, maxShown))
	}
	written := scientific(literal)
	v, fits := written.value()
	if !written.agrees(f, fits) {
		return nil, fmt.Sprintf("the number %s is another in programs that compute with doubles; give it as a string", plaintext.Clip(literal, maxShown))
	}
	if fits {
		return v, ""
	}
	return types.NewEntityUID(typeNumber, types.String(strconv.FormatFloat(f, 'g', -1, 64))), ""
}

// agrees says whether the number is the same for whoever reads it as the double f.
// What a double is written as, shortest, counts as that double, but not for an integer
// that a long holds: 1152921504606847000 is how JavaScript writes 2 to the power of 60.
func (d decimal) agrees(f float64, fits bool) bool {
	if d.exponent >= 0 && d == scientific(strconv.FormatFloat(f, 'f', 0, 64)) {
		return true
	}
	return (d.exponent < 0 || !fits) && d == scientific(strconv.FormatFloat(f, 'e', -1, 64))
}

// decimal is a number in one form only: digits without zeros at either end, times ten
// to the power of exponent. Zero has no digits.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

// scientific reads the literal of a JSON number.
func scientific(literal string) decimal {
	d := decimal{}
	rest := literal
	if rest, d.negative = strings.CutPrefix(rest, "-"); d.negative {
		literal = rest
	}
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		// The exponent has been checked: it is small.
		d.exponent, _ = strconv.Atoi(literal[i+1:])
		literal = literal[:i]
	}
	whole, fraction, _ := strings.Cut(literal, ".")
	d.exponent -= len(fraction)
	d.digits = strings.TrimLeft(whole+fraction, "0")
	trimmed := strings.TrimRight(d.digits, "0")
	d.exponent += len(d.digits) - len(trimmed)
	d.digits = trimmed
	if d.digits == "" {
		return decimal{}
	}
	return d
}

// value is the long or the decimal that the number is, if it is one.
func (d decimal) value() (types.Value, bool) {
	if d.digits == "" {
		return types.Long(0), true
	}
	sign := ""
	if d.negative {
		sign = "-"
	}
	if d.exponent >= 0 {
		if len(d.digits)+d.exponent > 19 {
			return nil, false
		}
		i, err := strconv.ParseInt(sign+d.digits+strings.Repeat("0", d.exponent), 10, 64)
		return types.Long(i), err == nil
	}
	if d.exponent < -4 || len(d.digits) > 19 {
		return nil, false
	}
	places := -d.exponent
	digits := d.digits
	if len(digits) <= places {
		digits = strings.Repeat("0", places-len(digits)+1) + digits
	}
	v, err := types.ParseDecimal(sign + digits[:len(digits)-places] + "." + digits[len(digits)-places:])
	return v, err == nil
}

// asDecimal gives a number as a decimal if one can hold it.
func asDecimal(v types.Value) types.Value {
	i, ok := v.(types.Long)
	if !ok {
		return v
	}
	d, err := types.NewDecimal(int64(i), 0)
	if err != nil {
		return types.NewEntityUID(typeNumber, types.String(strconv.FormatInt(int64(i), 10)))
	}
	return d
}
