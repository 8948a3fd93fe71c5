package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

var byteOrderMark = []byte("\ufeff")

// plainJSON is a text of the same length as JSON without comments and trailing commas: white space is in their place.
func plainJSON(text []byte) ([]byte, error) {
	if !utf8.Valid(text) {
		return nil, &SyntaxError{Err: errors.New("it is not UTF-8")}
	}
	out := bytes.Clone(text)
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' && out[i] != '\r' {
				out[i] = ' '
			}
		}
	}
	if bytes.HasPrefix(text, byteOrderMark) {
		blank(0, len(byteOrderMark))
	}
	comma := -1 // of the comma that nothing but white space follows so far
	for i := 0; i < len(text); {
		switch c := out[i]; {
		case c == '"':
			i, comma = stringEnd(text, i), -1
			continue
		case c == '/' && i+1 < len(text) && (text[i+1] == '/' || text[i+1] == '*'):
			end, err := commentEnd(text, i)
			if err != nil {
				return nil, err
			}
			blank(i, end)
			i = end
			continue
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			if before := bytes.TrimRight(out[:comma], " \t\r\n"); len(before) > 0 && !bytes.ContainsAny(before[len(before)-1:], "[{,:") {
				out[comma] = ' '
			}
			comma = -1
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			comma = -1
		}
		i++
	}
	var raw json.RawMessage
	if err := json.Unmarshal(out, &raw); err != nil {
		var se *json.SyntaxError
		line := 0
		if errors.As(err, &se) {
			line = lineOf(text, int(se.Offset))
		}
		return nil, &SyntaxError{Line: line, Err: err}
	}
	return out, nil
}

// stringEnd is the place after a string that begins at a place.
func stringEnd(text []byte, at int) int {
	for at++; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return len(text)
}

func commentEnd(text []byte, at int) (int, error) {
	if text[at+1] == '/' {
		if end := bytes.IndexAny(text[at:], "\r\n"); end >= 0 {
			return at + end, nil
		}
		return len(text), nil
	}
	end := bytes.Index(text[at+2:], []byte("*/"))
	if end < 0 {
		return 0, &SyntaxError{Line: lineOf(text, at), Err: errors.New("a comment is not closed")}
	}
	return at + 2 + end + 2, nil
}

// jsonMember is a member of an object in a text: where its key begins, where its value is.
type jsonMember struct {
	key            string
	at, value, end int
}

// members are those of the object that begins at a place of a plain text.
func members(plain []byte, at int) ([]jsonMember, error) {
	var out []jsonMember
	seen := map[string]bool{}
	for at = skipWhite(plain, at+1); plain[at] != '}'; {
		m := jsonMember{at: at}
		keyEnd := stringEnd(plain, at)
		if err := json.Unmarshal(plain[at:keyEnd], &m.key); err != nil {
			return nil, &SyntaxError{Line: lineOf(plain, at), Err: err}
		}
		if seen[m.key] {
			return nil, &SyntaxError{Line: lineOf(plain, at), Err: errors.New("a key is there twice; which one counts depends on who reads it")}
		}
		seen[m.key] = true
		m.value = skipWhite(plain, skipWhite(plain, keyEnd)+1) // after the colon
		m.end = valueEnd(plain, m.value)
		out = append(out, m)
		if at = skipWhite(plain, m.end); plain[at] == ',' {
			at = skipWhite(plain, at+1)
		}
	}
	return out, nil
}

func skipWhite(plain []byte, at int) int {
	for at < len(plain) && (plain[at] == ' ' || plain[at] == '\t' || plain[at] == '\r' || plain[at] == '\n') {
		at++
	}
	return at
}

// valueEnd is the place after the value that begins at a place of a plain text.
func valueEnd(plain []byte, at int) int {
	for depth := 0; at < len(plain); {
		switch plain[at] {
		case '"':
			at = stringEnd(plain, at)
		case '{', '[':
			depth++
			at++
		case '}', ']':
			depth--
			at++
		case ' ', '\t', '\r', '\n', ',', ':':
			at++
			continue // within an object or array: at depth 0 a value has ended before
		default:
			for at < len(plain) && !bytes.ContainsAny(plain[at:at+1], " \t\r\n,:]}") {
				at++
			}
		}
		if depth == 0 {
			return at
		}
	}
	return at
}

// findMember gives the member of a key.
func findMember(list []jsonMember, key string) (jsonMember, int) {
	for i, m := range list {
		if m.key == key {
			return m, i
		}
	}
	return jsonMember{}, -1
}
