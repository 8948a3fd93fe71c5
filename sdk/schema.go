package sdk

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

var (
	timeType       = reflect.TypeFor[time.Time]()
	rawType        = reflect.TypeFor[json.RawMessage]()
	numberType     = reflect.TypeFor[json.Number]()
	jsonMarshaler  = reflect.TypeFor[json.Marshaler]()
	jsonUnmarsh    = reflect.TypeFor[json.Unmarshaler]()
	textMarshaler  = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshals = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// schemaOf derives the JSON Schema of a type. The same type gives the same bytes, with members in the order of their
// declaration.
func schemaOf(t reflect.Type) (json.RawMessage, error) {
	d := deriver{inside: map[reflect.Type]bool{}}
	if err := d.value(t, "", "", false); err != nil {
		return nil, err
	}
	return d.out.Bytes(), nil
}

type deriver struct {
	out    bytes.Buffer
	inside map[reflect.Type]bool // types that are being written, for recursion
}

// value writes the schema of one value. path is for errors.
func (d *deriver) value(t reflect.Type, path, doc string, quoted bool) error {
	null := false
	for t.Kind() == reflect.Pointer {
		null, t = true, t.Elem()
	}
	if t.Name() != "" {
		if d.inside[t] {
			return at(path, fmt.Errorf("the type %s contains itself, which a tool's schema cannot say; use json.RawMessage there, and write the schema in the manifest", t))
		}
		d.inside[t] = true
		defer delete(d.inside, t)
	}
	d.out.WriteByte('{')
	if err := d.members(t, path, null, quoted); err != nil {
		return err
	}
	if doc != "" {
		d.key("description")
		d.text(doc)
	}
	d.out.WriteByte('}')
	return nil
}

func (d *deriver) members(t reflect.Type, path string, null, quoted bool) error {
	switch {
	case t == rawType:
		return nil // any JSON
	case t == numberType:
		d.types(null, "number")
		return nil
	case t == timeType:
		d.types(null, "string")
		return nil
	case implements(t, jsonMarshaler) || implements(t, jsonUnmarsh):
		return nil // only its author knows
	case implements(t, textMarshaler) || implements(t, textUnmarshals):
		d.types(null, "string")
		return nil
	}
	switch kind := t.Kind(); kind {
	case reflect.Bool:
		d.types(null, quotedOr(quoted, "boolean"))
	case reflect.String:
		d.types(null, "string")
	case reflect.Float32, reflect.Float64:
		d.types(null, quotedOr(quoted, "number"))
	case reflect.Interface:
	case reflect.Map:
		return d.mapping(t, path, null)
	case reflect.Slice, reflect.Array:
		return d.list(t, path, null)
	case reflect.Struct:
		return d.object(t, path, null)
	default:
		low, high, ok := bounds(kind)
		if !ok {
			return at(path, fmt.Errorf("the type %s has no JSON form", t))
		}
		d.types(null, quotedOr(quoted, "integer"))
		if !quoted {
			d.out.WriteString(low + high)
		}
	}
	return nil
}

func quotedOr(quoted bool, name string) string {
	if quoted {
		return "string"
	}
	return name
}

// bounds are the members that bound a kind of integer.
func bounds(k reflect.Kind) (low, high string, ok bool) {
	minimum := func(v int64) string { return `,"minimum":` + strconv.FormatInt(v, 10) }
	maximum := func(v int64) string { return `,"maximum":` + strconv.FormatInt(v, 10) }
	switch k {
	case reflect.Int, reflect.Int64:
		return "", "", true
	case reflect.Uint, reflect.Uint64, reflect.Uintptr:
		return minimum(0), "", true
	case reflect.Int8:
		return minimum(math.MinInt8), maximum(math.MaxInt8), true
	case reflect.Int16:
		return minimum(math.MinInt16), maximum(math.MaxInt16), true
	case reflect.Int32:
		return minimum(math.MinInt32), maximum(math.MaxInt32), true
	case reflect.Uint8:
		return minimum(0), maximum(math.MaxUint8), true
	case reflect.Uint16:
		return minimum(0), maximum(math.MaxUint16), true
	case reflect.Uint32:
		return minimum(0), maximum(math.MaxUint32), true
	}
	return "", "", false
}

func (d *deriver) mapping(t reflect.Type, path string, null bool) error {
	if t.Key().Kind() != reflect.String && !implements(t.Key(), textMarshaler) {
		return at(path, fmt.Errorf("the keys of %s are not strings", t))
	}
	d.types(null, "object")
	d.key("additionalProperties")
	return d.value(t.Elem(), path+".*", "", false)
}

func (d *deriver) list(t reflect.Type, path string, null bool) error {
	if t.Kind() == reflect.Slice {
		null = true // encoding/json writes a nil slice as null
		if t.Elem().Kind() == reflect.Uint8 && !implements(t.Elem(), jsonMarshaler) && !implements(t.Elem(), textMarshaler) {
			d.types(null, "string")
			d.key("contentEncoding")
			d.text("base64")
			return nil
		}
	}
	d.types(null, "array")
	d.key("items")
	if err := d.value(t.Elem(), path+"[]", "", false); err != nil {
		return err
	}
	if t.Kind() == reflect.Array {
		n := strconv.Itoa(t.Len())
		d.out.WriteString(`,"minItems":` + n + `,"maxItems":` + n)
	}
	return nil
}

func (d *deriver) object(t reflect.Type, path string, null bool) error {
	d.types(null, "object")
	fields := fieldsOf(t)
	var required []string
	if len(fields) > 0 {
		d.key("properties")
		d.out.WriteByte('{')
	}
	for _, f := range fields {
		name := strings.TrimPrefix(path+"."+f.name, ".")
		if f.hasDoc {
			if err := checkDoc(f.doc); err != nil {
				return at(name, err)
			}
		}
		d.key(f.name)
		if err := d.value(f.typ, name, f.doc, f.quoted); err != nil {
			return err
		}
		if !f.optional {
			required = append(required, f.name)
		}
	}
	if len(fields) > 0 {
		d.out.WriteByte('}')
	}
	if len(required) > 0 {
		d.key("required")
		for i, name := range required {
			d.out.WriteByte("[,"[min(i, 1)])
			d.text(name)
		}
		d.out.WriteByte(']')
	}
	d.key("additionalProperties")
	d.out.WriteString("false")
	return nil
}

// checkDoc refuses what other libraries reserve in jsonschema tags.
func checkDoc(doc string) error {
	if doc == "" {
		return errors.New("its jsonschema tag is empty; write a description, or leave it out")
	}
	if i := strings.IndexAny(doc, " \t\n="); i >= 0 && doc[i] == '=' {
		return fmt.Errorf("its jsonschema tag %q looks like an option; the tag is the description, options are written in the manifest", doc)
	}
	return nil
}

func (d *deriver) types(null bool, name string) {
	d.key("type")
	if null {
		d.out.WriteString(`["null","` + name + `"]`)
	} else {
		d.text(name)
	}
}

// key starts a member.
func (d *deriver) key(name string) {
	if b := d.out.Bytes(); b[len(b)-1] != '{' {
		d.out.WriteByte(',')
	}
	d.text(name)
	d.out.WriteByte(':')
}

func (d *deriver) text(s string) {
	b, err := encode(s)
	if err != nil {
		panic(err) // a string can be written
	}
	d.out.Write(b)
}

func implements(t, iface reflect.Type) bool {
	return t.Implements(iface) || t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface && reflect.PointerTo(t).Implements(iface)
}

func at(path string, err error) error {
	if path == "" {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}
