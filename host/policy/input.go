package policy

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/cedar-policy/cedar-go/types"

	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// convertInput gives the arguments of a call as Cedar records: input, and the same
// with decimals for numbers. problem says why there are none: no policy that looks at
// the arguments may then decide.
func convertInput(text json.RawMessage, looks view) (input, decimals types.Record, problem string) {
	if len(text) > MaxInputBytes {
		return input, decimals, fmt.Sprintf("the arguments have %d bytes, more than the %d that policies look at", len(text), MaxInputBytes)
	}
	tree, err := schema.Decode(text)
	if err != nil {
		return input, decimals, "the arguments are not strict JSON: " + err.Error()
	}
	object, ok := tree.(map[string]any)
	if !ok {
		return input, decimals, "the arguments are no object"
	}
	if looks&looksAtInput != 0 {
		if input, problem = convertObject(object, false); problem != "" {
			return input, decimals, problem
		}
	}
	if looks&looksAtDecimals != 0 {
		decimals, problem = convertObject(object, true)
	}
	return input, decimals, problem
}

func convertObject(object map[string]any, decimals bool) (types.Record, string) {
	c := &converter{decimals: decimals, left: MaxInputValues}
	v := c.object(object, nil)
	return v, c.problem
}

// converter turns decoded JSON into Cedar values. It stops at the first problem.
type converter struct {
	decimals bool
	left     int // values that may still come
	problem  string
}

// path is the place of an object or an array.
type path struct {
	up    *path
	key   string
	depth int
}

func (p *path) below(key string) *path {
	if p == nil {
		return &path{key: key, depth: 1}
	}
	return &path{up: p, key: key, depth: p.depth + 1}
}

// pointer is the JSON pointer of the place (RFC 6901).
func (p *path) pointer() string {
	if p == nil {
		return ""
	}
	return p.up.pointer() + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(p.key)
}

func (c *converter) fail(at *path, problem string) types.Value {
	if c.problem == "" {
		c.problem = "at " + strconv.Quote(plaintext.Clip(at.pointer(), maxShown)) + ": " + problem
	}
	return nullElement
}

// value converts the value at a key of up.
func (c *converter) value(v any, up *path, key string) types.Value {
	if c.problem != "" {
		return nullElement
	}
	if c.left--; c.left < 0 {
		return c.fail(up, fmt.Sprintf("the arguments have more than the %d values that policies look at", MaxInputValues))
	}
	switch v := v.(type) {
	case bool:
		return types.Boolean(v)
	case string:
		return types.String(v)
	case json.Number:
		n, problem := number(string(v))
		if problem != "" {
			return c.fail(up.below(key), problem)
		}
		if c.decimals {
			return asDecimal(n)
		}
		return n
	case []any:
		return c.inside(up.below(key), func(at *path) types.Value { return c.array(v, at) })
	case map[string]any:
		return c.inside(up.below(key), func(at *path) types.Value { return c.object(v, at) })
	}
	return nullElement
}

// inside bounds the depth.
func (c *converter) inside(at *path, convert func(*path) types.Value) types.Value {
	if at.depth > MaxInputDepth {
		return c.fail(at, fmt.Sprintf("the arguments are nested deeper than the %d levels that policies look at", MaxInputDepth))
	}
	return convert(at)
}

// object leaves members that are null out.
func (c *converter) object(v map[string]any, at *path) types.Record {
	m := make(types.RecordMap, len(v))
	for key, member := range v {
		if c.problem != "" {
			break
		}
		if member != nil {
			m[types.String(key)] = c.value(member, at, key)
		}
	}
	return types.NewRecord(m)
}

// array gives a set, or an entity of the type Cloister::Large in its place, which
// equals nothing else and has none of a set's operations.
func (c *converter) array(v []any, at *path) types.Value {
	if len(v) > MaxElements {
		if v = distinct(v); v == nil {
			return types.NewEntityUID(typeLarge, types.String(at.pointer()))
		}
	}
	set := make([]types.Value, 0, len(v))
	for i, element := range v {
		if c.problem != "" {
			break
		}
		set = append(set, c.value(element, at, strconv.Itoa(i)))
	}
	if c.problem != "" {
		return nullElement
	}
	return types.NewSet(set...)
}

// distinct drops elements that appear again, or gives nil if there are more than
// MaxElements even then. Arrays and objects all count.
func distinct(v []any) []any {
	seen := map[any]bool{}
	var out []any
	for _, element := range v {
		switch element.(type) {
		case map[string]any, []any:
		default:
			if seen[element] {
				continue
			}
			seen[element] = true
		}
		if out = append(out, element); len(out) > MaxElements {
			return nil
		}
	}
	return out
}
