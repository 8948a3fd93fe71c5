package mcpapi

import (
	"strings"

	"github.com/cloister-wasm/cloister/internal/catalog"
)

// reference renders what a reference leads to. One that leads into what is being rendered already is unknown.
func (w *writer) reference(ref string) typ {
	target, known := w.refs[ref]
	if !known {
		target = w.resolve(ref)
		w.refs[ref] = target
	}
	for _, v := range w.open {
		if v == target {
			return w.leaveOut()
		}
	}
	if !target.Exists() {
		return typ{text: anything}
	}
	w.open = append(w.open, target)
	t := w.render(target)
	w.open = w.open[:len(w.open)-1]
	return t
}

// resolve finds "#" or "#/$defs/name" in the document. Nothing is ever loaded.
func (w *writer) resolve(ref string) catalog.Value {
	if ref == "#" {
		return w.root
	}
	pointer, ok := strings.CutPrefix(ref, "#/")
	if !ok || len(ref) > maxNameRead {
		return catalog.Value{}
	}
	segments := strings.SplitN(pointer, "/", maxRefs+1)
	if len(segments) > maxRefs {
		return catalog.Value{}
	}
	v := w.root
	for _, segment := range segments {
		if v = w.member(v, pointerReplacer.Replace(segment)); !v.Exists() {
			return v
		}
	}
	return v
}

func (w *writer) member(v catalog.Value, name string) catalog.Value {
	for key, c := range v.Children() {
		if !w.step(1) {
			break
		}
		if key == name {
			return c
		}
	}
	return catalog.Value{}
}

var pointerReplacer = strings.NewReplacer("~1", "/", "~0", "~")
