package settings

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/json5"
	"github.com/cloister-wasm/cloister/internal/suggest"
)

// keyReader reads the value of a key; path is the key's own, for faults.
type keyReader func(n *json5.Node, path string)

// keys are the keys of an object.
type keys map[string]keyReader

// reader walks a file and collects faults.
type reader struct {
	root   *json5.Node
	faults []Fault
	// trusting are faults of a file that nobody named: the settings that count in one
	// that the user named, only.
	trusting []Fault
}

// sorted gives the faults in the order of the file.
func sorted(faults []Fault) []Fault {
	slices.SortStableFunc(faults, func(a, b Fault) int {
		return cmp.Or(a.Line-b.Line, a.Column-b.Column)
	})
	return faults
}

// err reports the faults; nil if there are none.
func (r *reader) err() error {
	if len(r.faults) == 0 {
		return nil
	}
	return &Error{Faults: sorted(r.faults)}
}

func (r *reader) fault(pos json5.Pos, key, format string, args ...any) {
	r.faults = append(r.faults, Fault{r.root.File(), pos.Line, pos.Column, key, fmt.Sprintf(format, args...)})
}

// object reads the members of an object.
func (r *reader) object(n *json5.Node, path string, known keys) {
	if n.Kind != json5.Object {
		r.fault(n.Pos, path, "must be an object, not %s", kindOf(n))
		return
	}
	names := slices.Sorted(maps.Keys(known))
	for _, m := range n.Members {
		read, ok := known[m.Key]
		if !ok {
			r.unknown(m.KeyPos, join(path, m.Key), m.Key, names)
			continue
		}
		read(m.Value, join(path, m.Key))
	}
}

// members reads an object with keys of the user's choice. what says what it must be;
// check gives what is wrong with a key, if anything, and nil takes all. It says false
// if n is no object.
func (r *reader) members(n *json5.Node, path, what string, check func(string) string, read func(key string, v *json5.Node, path string)) bool {
	if n.Kind != json5.Object {
		r.fault(n.Pos, path, "must be %s, not %s", what, kindOf(n))
		return false
	}
	for _, m := range n.Members {
		at := join(path, m.Key)
		if check != nil {
			if wrong := check(m.Key); wrong != "" {
				r.fault(m.KeyPos, at, "%s", wrong)
				continue
			}
		}
		read(m.Key, m.Value, at)
	}
	return true
}

func (r *reader) unknown(pos json5.Pos, path, key string, known []string) {
	if near := suggest.Closest(key, known); near != "" {
		r.fault(pos, path, "unknown key; did you mean %s?", near)
		return
	}
	r.fault(pos, path, "unknown key; known here: %s", strings.Join(known, ", "))
}

func (r *reader) section(known keys) keyReader {
	return func(n *json5.Node, path string) { r.object(n, path, known) }
}

// notJSON reports a number that JSON lacks at its own place.
func (r *reader) notJSON(n *json5.Node, path string, err error) {
	var nj *json5.NotJSONError
	if errors.As(err, &nj) {
		for _, m := range n.Members {
			if m.Value.Pos == nj.Pos {
				path = join(path, m.Key)
			}
		}
		r.fault(nj.Pos, path, "%s is no number that a setting can have; write a finite one", nj.Literal)
		return
	}
	r.fault(r.root.Pos, path, "%v", err)
}

// hostFaults gives the library's faults their places in the file.
func (r *reader) hostFaults(n *json5.Node, path string, err error) {
	var ce *host.ConfigError
	if !errors.As(err, &ce) {
		r.fault(n.Pos, path, "%v", err)
		return
	}
	for _, f := range ce.Faults {
		steps := strings.FieldsFunc(strings.TrimPrefix(f.Key, path), func(c rune) bool { return strings.ContainsRune(".[]", c) })
		pos := n.Pos
		if v := n.Lookup(steps...); v != nil {
			pos = v.Pos
		}
		if m := n.Member(strings.TrimPrefix(f.Key, path+".")); m != nil && f.Message == "unknown key" {
			r.unknown(m.KeyPos, join(path, m.Key), m.Key, codeModeKeys())
			continue
		}
		r.fault(pos, f.Key, "%s", f.Message)
	}
}

// codeModeKeys are the settings of tools.codeMode, as the library declares them.
func codeModeKeys() []string {
	var names []string
	for f := range reflect.TypeFor[host.CodeModeConfig]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// join writes the path of a key; a key that is no plain name is quoted.
func join(path, key string) string {
	plain := func(c rune) bool { return c == '_' || c == '$' || unicode.IsLetter(c) || unicode.IsDigit(c) }
	if key == "" || strings.ContainsFunc(key, func(c rune) bool { return !plain(c) }) {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// kindOf names what stands there instead.
func kindOf(n *json5.Node) string {
	switch n.Kind {
	case json5.Null:
		return "null"
	case json5.Object, json5.Array:
		return "an " + n.Kind.String()
	}
	return "a " + n.Kind.String()
}
