package declare

import (
	"slices"
	"strings"
)

// Bounds of one reference.
const (
	maxRef      = 4096 // bytes
	maxRefSteps = 16
)

// reference renders what a reference leads to. One that leads into what is being rendered already is unknown.
func (w *writer) reference(ref string) typ {
	target := w.target(ref)
	if slices.Contains(w.open, target) {
		return w.leaveOut()
	}
	if !target.Exists() {
		return w.any()
	}
	w.open = append(w.open, target)
	t := w.render(target)
	w.open = w.open[:len(w.open)-1]
	return t
}

// target finds what a reference leads to, and looks for it once.
func (w *writer) target(ref string) Value {
	target, known := w.refs[ref]
	if !known {
		if w.refs == nil {
			w.refs = map[string]Value{}
		}
		target = w.resolve(ref)
		w.refs[ref] = target
	}
	return target
}

// resolve finds "#" or "#/$defs/name" in the document. Nothing is ever loaded.
func (w *writer) resolve(ref string) Value {
	if ref == "#" {
		return w.root
	}
	pointer, ok := strings.CutPrefix(ref, "#/")
	if !ok || len(ref) > maxRef {
		return Value{}
	}
	segments := strings.SplitN(pointer, "/", maxRefSteps+1)
	if len(segments) > maxRefSteps {
		return Value{}
	}
	v := w.root
	for _, segment := range segments {
		if v = w.member(v, pointerReplacer.Replace(segment)); !v.Exists() {
			return v
		}
	}
	return v
}

// member is Member where each name costs a step.
func (w *writer) member(v Value, name string) Value {
	if !v.IsObject() {
		return Value{}
	}
	for key, c := range v.Children() {
		if !w.step(1) {
			break
		}
		if key == name {
			return c
		}
	}
	return Value{}
}

var pointerReplacer = strings.NewReplacer("~1", "/", "~0", "~")
