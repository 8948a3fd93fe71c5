package schema

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// scan bounds what a schema's text stands for, before the library compiles it. It walks the whole text, not only the
// places where a keyword has a meaning: a $ref can make a schema of any place.
type scan struct {
	draft    int
	idKey    string
	refs     map[string]struct{} // distinct references
	refCount int
	ids      int // embedded resources
	program  int // instructions of all regular expressions
}

// scanSchema refuses regular expressions and references that would cost too much.
//
// References matter because the library treats each distinct spelling of a place that is no standard subschema location
// as a new copy of everything below it (`#/x`, `#/%78`, …), and its work is quadratic in the sum.
func scanSchema(doc any) error {
	s := scan{draft: draftOf(doc), idKey: "$id", refs: map[string]struct{}{}}
	if s.draft == 4 {
		s.idKey = "id"
	}
	if err := s.walk("", doc, false); err != nil {
		return err
	}
	return s.boundCopies(doc)
}

func (s *scan) walk(path string, v any, data bool) error {
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			if err := s.walk(path+"/"+strconv.Itoa(i), item, data); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, k := range sortedKeys(v) {
			if err := s.member(path, k, v[k], data); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *scan) member(path, key string, v any, data bool) error {
	at := pointer(path, key)
	text, isText := v.(string)
	switch key {
	case "$ref", "$dynamicRef", "$recursiveRef":
		if isText {
			s.refs[text] = struct{}{}
			s.refCount++
		}
		if s.refCount > MaxSchemaRefs {
			return &CompileError{Kind: ErrSchemaTooLarge, Path: at, Detail: fmt.Sprintf("more than %d references", MaxSchemaRefs)}
		}
	case s.idKey:
		if isText && path != "" {
			s.ids++
		}
	case "pattern":
		if isText {
			return s.pattern(at, text, data)
		}
	case "patternProperties":
		if m, ok := v.(map[string]any); ok {
			for _, p := range sortedKeys(m) {
				if err := s.pattern(pointer(at, p), p, data); err != nil {
					return err
				}
			}
		}
	case "const", "enum", "default", "example", "examples":
		data = true // text in here is data: a pattern in it need not parse
	}
	return s.walk(at, v, data)
}

// boundCopies adds up what references copy.
func (s *scan) boundCopies(doc any) error {
	size := countValues(doc)
	total := size
	for ref := range s.refs {
		base, frag, _ := strings.Cut(ref, "#")
		if !strings.HasPrefix(frag, "/") {
			continue
		}
		if base != "" || s.ids > 0 {
			// Relative to an embedded resource: which one is the library's business, so take the worst.
			total += size * (1 + s.ids)
			continue
		}
		if target, standard := s.resolve(doc, frag); !standard {
			total += countValues(target)
		}
	}
	if total > MaxSchemaValues {
		return &CompileError{Kind: ErrSchemaTooLarge, Detail: fmt.Sprintf(
			"its text and what it refers to hold more than %d values; put definitions under $defs (definitions up to draft 7) and refer to them there", MaxSchemaValues)}
	}
	return nil
}

// resolve finds what a JSON pointer fragment names (nil if nothing) and whether the place is a standard location of a
// subschema in canonical spelling, which costs nothing more.
func (s *scan) resolve(doc any, frag string) (target any, standard bool) {
	standard = true
	next := placeSchema
	for _, raw := range strings.Split(frag[1:], "/") {
		token := strings.NewReplacer("~1", "/", "~0", "~").Replace(raw)
		token, err := url.PathUnescape(token)
		if err != nil {
			return nil, false
		}
		canonical := url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(token))
		standard = standard && raw == canonical
		switch d := doc.(type) {
		case map[string]any:
			doc = d[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(d) {
				return nil, false
			}
			doc = d[i]
		default:
			return nil, false
		}
		next = s.step(next, token, doc)
	}
	return doc, standard && next == placeSchema
}

// places in a schema's text.
type placeKind int

const (
	placeOther  placeKind = iota
	placeSchema           // a subschema
	placeMap              // an object whose members are subschemas
	placeList             // an array whose items are subschemas
)

// step follows one token from a place to the next.
func (s *scan) step(at placeKind, token string, v any) placeKind {
	switch at {
	case placeMap, placeList:
		return placeSchema
	case placeSchema:
		kw, ok := subschemaKeywords[token]
		if !ok || s.draft < kw.since {
			return placeOther
		}
		if _, isList := v.([]any); isList && kw.orList {
			return placeList
		}
		return kw.place
	}
	return placeOther
}

// subschemaKeywords are the standard locations, by the draft that introduced them.
var subschemaKeywords = map[string]struct {
	place  placeKind
	orList bool
	since  int
}{
	"definitions":           {placeMap, false, 4},
	"not":                   {placeSchema, false, 4},
	"allOf":                 {placeList, true, 4},
	"anyOf":                 {placeList, true, 4},
	"oneOf":                 {placeList, true, 4},
	"properties":            {placeMap, false, 4},
	"additionalProperties":  {placeSchema, false, 4},
	"patternProperties":     {placeMap, false, 4},
	"items":                 {placeSchema, true, 4},
	"additionalItems":       {placeSchema, false, 4},
	"dependencies":          {placeMap, false, 4},
	"propertyNames":         {placeSchema, false, 6},
	"contains":              {placeSchema, false, 6},
	"if":                    {placeSchema, false, 7},
	"then":                  {placeSchema, false, 7},
	"else":                  {placeSchema, false, 7},
	"$defs":                 {placeMap, false, 2019},
	"dependentSchemas":      {placeMap, false, 2019},
	"unevaluatedProperties": {placeSchema, false, 2019},
	"unevaluatedItems":      {placeSchema, false, 2019},
	"contentSchema":         {placeSchema, false, 2019},
	"prefixItems":           {placeList, true, 2020},
}

// draftOf reads $schema; unknown ones are refused later, when they would have to be fetched.
func draftOf(doc any) int {
	m, _ := doc.(map[string]any)
	u, _ := m["$schema"].(string)
	u = strings.TrimPrefix(strings.TrimPrefix(u, "https:"), "http:")
	switch strings.TrimRight(u, "#/") {
	case "//json-schema.org/draft-04/schema":
		return 4
	case "//json-schema.org/draft-06/schema":
		return 6
	case "//json-schema.org/draft-07/schema":
		return 7
	case "//json-schema.org/draft/2019-09/schema":
		return 2019
	default:
		return 2020
	}
}
