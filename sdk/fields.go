package sdk

import (
	"reflect"
	"strings"
)

// field is a member of a struct as encoding/json sees it.
type field struct {
	name     string // in JSON
	goName   string
	typ      reflect.Type
	doc      string // the jsonschema tag
	hasDoc   bool
	optional bool
	quoted   bool // the string option
	tagged   bool
	depth    int
}

var fieldCache = map[reflect.Type][]field{}

// fieldsOf lists the members of a struct in the order of their declaration. Embedded structs without a name are part of
// it; of members with one name the least embedded counts, then the one with a tag, and otherwise none.
func fieldsOf(t reflect.Type) []field {
	if known, ok := fieldCache[t]; ok {
		return known
	}
	var all []field
	collectFields(t, 0, map[reflect.Type]bool{}, &all)
	best := map[string]int{} // by name: the index, in the end -1 where none counts
	for i, f := range all {
		j, seen := best[f.name]
		if !seen || dominates(f, all[j]) {
			best[f.name] = i
		}
	}
	for i, f := range all {
		if j := best[f.name]; j >= 0 && j != i && !dominates(all[j], f) {
			best[f.name] = -1
		}
	}
	var out []field
	for i, f := range all {
		if best[f.name] == i {
			out = append(out, f)
		}
	}
	fieldCache[t] = out
	return out
}

func dominates(a, b field) bool {
	return a.depth < b.depth || a.depth == b.depth && a.tagged && !b.tagged
}

func collectFields(t reflect.Type, depth int, inside map[reflect.Type]bool, all *[]field) {
	if inside[t] {
		return // a struct that embeds a pointer to itself adds nothing new
	}
	inside[t] = true
	defer delete(inside, t)
	for i := 0; i < t.NumField(); i++ {
		sf := t.Field(i)
		tag, hasTag := sf.Tag.Lookup("json")
		if tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if sf.Anonymous && name == "" {
			inner := sf.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Struct {
				collectFields(inner, depth+1, inside, all)
				continue
			}
		}
		if !sf.IsExported() {
			continue
		}
		f := field{name: name, goName: sf.Name, typ: sf.Type, tagged: hasTag && name != "", depth: depth}
		if name == "" {
			f.name = sf.Name
		}
		for options != "" {
			var option string
			option, options, _ = strings.Cut(options, ",")
			f.optional = f.optional || option == "omitempty" || option == "omitzero"
			f.quoted = f.quoted || option == "string"
		}
		f.doc, f.hasDoc = sf.Tag.Lookup("jsonschema")
		*all = append(*all, f)
	}
}
