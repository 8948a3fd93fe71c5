package schema

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Canonical gives the canonical form of a JSON text as RFC 8785 (JCS) defines it: members sorted by UTF-16 code units, no
// white space, strings and numbers in one way of writing. Two texts with the same form mean the same.
//
// The text is read under the rules of [Decode]. RFC 8785 knows numbers as doubles only, so that 9007199254740993 would
// become 9007199254740992 and two different texts would have one form. Numbers that a double does not hold are therefore
// refused. All errors are a [*DecodeError]. data is not changed; the result shares no memory with it.
func Canonical(data []byte) ([]byte, error) {
	if err := Check(data); err != nil {
		return nil, err
	}
	if err := checkDoubles(data); err != nil {
		return nil, err
	}
	v := jsontext.Value(slices.Clone(data))
	if err := v.Canonicalize(); err != nil {
		return nil, decodeError(err)
	}
	return v, nil
}

// checkDoubles wants every number of a checked text to be what its shortest double says.
func checkDoubles(data []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		tok, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return decodeError(err)
		}
		if tok.Kind() == '0' && !fitsDouble(tok.String()) {
			return &DecodeError{Offset: dec.InputOffset(), Path: string(dec.StackPointer()),
				Detail: "the number has more digits than a double holds; write it with fewer, or as a string"}
		}
	}
}

// fitsDouble says whether writing the nearest double in its shortest form gives the same value back. The literal is bounded.
func fitsDouble(lit string) bool {
	if len(lit) <= 15 && !strings.ContainsAny(lit, "eE") {
		return true // 15 decimal digits survive the way through a double
	}
	f, err := strconv.ParseFloat(lit, 64)
	if err != nil || math.IsInf(f, 0) {
		return false
	}
	return literalNumber(lit).cmp(literalNumber(strconv.FormatFloat(f, 'e', -1, 64))) == 0
}
