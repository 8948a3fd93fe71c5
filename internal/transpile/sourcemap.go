package transpile

import "errors"

var errSourceMap = errors.New("transpile: malformed source map")

// rawSegment is one segment of a source map, counted from 0, with columns in
// UTF-16 code units.
type rawSegment struct {
	genLine, genCol, srcLine, srcCol int
}

// maxCoordinate bounds each line and column of a source map.
const maxCoordinate = 1 << 30

// decodeMappings reads the field "mappings" of a source map of version 3 (ECMA-426)
// with one source and calls emit for each segment that has a place in it. The
// work and the number of segments are bounded by the length of the text.
func decodeMappings(text string, emit func(rawSegment)) error {
	var s rawSegment
	var source, name int
	fields := [5]*int{&s.genCol, &source, &s.srcLine, &s.srcCol, &name}
	for i := 0; i < len(text); {
		switch text[i] {
		case ';':
			s.genLine++
			s.genCol = 0
			i++
			continue
		case ',':
			i++
			continue
		}
		n := 0
		for ; i < len(text) && text[i] != ',' && text[i] != ';'; n++ {
			delta, width := decodeVLQ(text[i:])
			if width == 0 || n == len(fields) {
				return errSourceMap
			}
			i += width
			*fields[n] += delta
			if *fields[n] < 0 || *fields[n] > maxCoordinate {
				return errSourceMap
			}
		}
		switch n {
		case 1: // generated text that no source stands behind
		case 4, 5:
			if source != 0 {
				return errSourceMap
			}
			emit(s)
		default:
			return errSourceMap
		}
	}
	return nil
}

// decodeVLQ reads one number in base 64 VLQ from the start of s: five bits a
// digit, the lowest first, the sixth bit saying that more follow; the lowest bit
// of the number is its sign. A width of 0 means that there is no valid number.
func decodeVLQ(s string) (value, width int) {
	const maxDigits = 7 // 35 bits, more than any 32-bit number needs
	var bits uint64
	for i := 0; i < len(s) && i < maxDigits; i++ {
		digit := base64Value(s[i])
		if digit < 0 {
			return 0, 0
		}
		bits |= uint64(digit&31) << (5 * i)
		if digit&32 != 0 {
			continue
		}
		value = int(bits >> 1)
		if int64(bits>>1) > maxCoordinate {
			return 0, 0
		}
		if bits&1 != 0 {
			value = -value
		}
		return value, i + 1
	}
	return 0, 0
}

func base64Value(c byte) int {
	switch {
	case 'A' <= c && c <= 'Z':
		return int(c - 'A')
	case 'a' <= c && c <= 'z':
		return int(c-'a') + 26
	case '0' <= c && c <= '9':
		return int(c-'0') + 52
	case c == '+':
		return 62
	case c == '/':
		return 63
	}
	return -1
}
