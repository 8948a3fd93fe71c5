package declare

const declarationSteps = 100_000

// Options say how much of a schema a declaration shows and what it may cost.
type Options struct {
	Shape
	// Level is the indentation of the line on which the type begins.
	Level int
	// Bytes bounds the type roughly: where that much is written, the rest is unknown. A caller with an exact bound tries a smaller
	// Shape where the text is longer.
	Bytes int
	// Steps is the number of values of schemas that may be looked at. Each call counts it down, so that several can share it; at 0
	// all is unknown. nil stands for 100,000.
	Steps *int
}

// Type is a type in TypeScript.
type Type struct {
	// Text is the type, of one line or more. It is ASCII but for comments, its brackets are balanced, and no text of the schema
	// stands outside of a comment or a string but for names of members that are plain identifiers.
	Text string
	// Cut says that parts of the type are left out, Short that texts about members are not whole.
	Cut, Short bool
}

// Parameter is the input of a function in TypeScript.
type Parameter struct {
	Type
	// None says that the schema declares no parameters and does not ask for others: Text is "".
	None bool
	// Optional says that a call without it is possible.
	Optional bool
	// Docs are the texts about the members of the outermost object. The ones of other objects are comments in Text.
	Docs []Param
}

// Output writes the type of a schema.
func Output(schema Value, o Options) Type {
	w := o.writer(schema)
	t := w.render(schema)
	return Type{Text: t.text, Cut: w.cut, Short: w.short}
}

// Input writes the type of the argument that a function takes by its schema. It is an object, of any kind where the schema is none.
func Input(schema Value, o Options) Parameter {
	if !schema.IsObject() {
		return Parameter{Type: Type{Text: AnyObject}}
	}
	var p Parameter
	w := o.writer(schema)
	w.params = &p.Docs
	k := w.read(schema)
	if emptyInput(&k) {
		return Parameter{None: true}
	}
	p.Text = w.combine(&k).text
	if p.Text == Anything {
		p.Text = AnyObject
	}
	p.Cut, p.Short = w.cut, w.short
	p.Optional = k.required.Size() <= len("[]") && !k.ref.Exists() && !k.allOf.Exists() && !k.anyOf.Exists() && !k.oneOf.Exists()
	return p
}

func (o *Options) writer(root Value) *writer {
	steps := o.Steps
	if steps == nil {
		own := declarationSteps
		steps = &own
	}
	return &writer{form: &fullForm, Shape: o.Shape, root: root, steps: steps, bytes: o.Bytes, visits: fullForm.visits, level: o.Level, base: o.Level, open: []Value{root}}
}

// emptyInput reports a schema that declares no parameters and does not ask for others.
func emptyInput(k *keywords) bool {
	for _, v := range []Value{k.properties, k.patterns, k.required, k.ref, k.allOf, k.anyOf, k.oneOf, k.enum, k.constant} {
		if v.Size() > len("{}") {
			return false
		}
	}
	return !k.additional.IsTrue() && (k.additional.IsFalse() || k.additional.Size() <= len("{}"))
}
