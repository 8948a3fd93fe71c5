package schema

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/suggest"
)

// quoteName quotes a name or a string of the data: bounded, one line, no control characters.
func quoteName(s string) string {
	return strconv.Quote(plaintext.Clip(s, maxNameText))
}

// typeOf names the JSON type of a value in the words of JSON Schema.
func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case json.Number:
		return "number"
	default:
		if isNumber(v) {
			return "number"
		}
		return "something that is not JSON"
	}
}

// literal shows a scalar as JSON, bounded; containers only by their kind.
func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case string:
		return quoteName(v)
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	default:
		if s, ok := numberText(v); ok {
			return plaintext.Clip(s, maxNameText)
		}
		return "?"
	}
}

// literals lists values for a reader: `"a", "b" or 3`, bounded.
func literals(vs []any) string {
	texts := make([]string, 0, min(len(vs), maxListedNames))
	for _, v := range vs[:min(len(vs), maxListedNames)] {
		texts = append(texts, literal(v))
	}
	if more := len(vs) - len(texts); more > 0 {
		return strings.Join(texts, ", ") + " or " + strconv.Itoa(more) + " more"
	}
	return orList(texts)
}

// names lists names for a reader: `"a", "b" and 3 more`, bounded.
func names(ns []string) string {
	texts := make([]string, 0, min(len(ns), maxListedNames))
	for _, n := range ns[:min(len(ns), maxListedNames)] {
		texts = append(texts, quoteName(n))
	}
	s := strings.Join(texts, ", ")
	if more := len(ns) - len(texts); more > 0 {
		s += " and " + strconv.Itoa(more) + " more"
	}
	return s
}

func orList(texts []string) string {
	switch len(texts) {
	case 0:
		return ""
	case 1:
		return texts[0]
	default:
		last := len(texts) - 1
		return strings.Join(texts[:last], ", ") + " or " + texts[last]
	}
}

// plural gives "1 item" or "3 items".
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// pointer appends one token to a JSON pointer. Names that no one would choose are cut, so that paths stay bounded.
func pointer(path, token string) string {
	token = plaintext.Clip(token, maxPathText)
	if strings.ContainsAny(token, "~/") {
		token = strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
	}
	return path + "/" + token
}

// Suggest returns the candidate that a writer of name most likely meant, or "" when none is near. Case, '_' and '-' do
// not count as differences; up to two typing errors do not matter in names of five letters or more, one in shorter.
func Suggest(name string, candidates []string) string {
	if len(name) > 4*maxNameText {
		return ""
	}
	want, best, bestDist := fold(name), "", math.MaxInt
	allowed := 1
	if len(name) >= 5 {
		allowed = 2
	}
	for _, c := range candidates {
		if len(c) > 4*maxNameText {
			continue
		}
		got := fold(c)
		if got == want {
			return c
		}
		if abs(len(got)-len(want)) > allowed {
			continue
		}
		d := suggest.Distance(want, got, allowed)
		if d > allowed {
			continue
		}
		if d *= 2; want == "" || got == "" || want[0] != got[0] {
			d++ // of two that are equally near, the one that begins alike
		}
		if d < bestDist {
			best, bestDist = c, d
		}
	}
	return best
}

func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(s))
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "boolean"
	case '"':
		return "string"
	case '0':
		return "number"
	case '{', '}':
		return "object"
	default:
		return "array"
	}
}

// goTypeName names what a Go type accepts, in JSON's words.
func goTypeName(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch k := t.Kind(); {
	case k == reflect.Bool:
		return "boolean"
	case k == reflect.String:
		return "string"
	case slices.Contains([]reflect.Kind{reflect.Float32, reflect.Float64}, k):
		return "number"
	case k >= reflect.Int && k <= reflect.Uintptr:
		return "integer in range"
	case k == reflect.Slice || k == reflect.Array:
		return "array"
	case k == reflect.Struct || k == reflect.Map:
		return "object"
	default:
		return "another value"
	}
}
