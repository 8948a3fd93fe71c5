package declare

// Bounds of a table.
const (
	tableSteps = 100_000 // values looked at
	rowBytes   = 4 << 10 // of one type, roughly
	maxThrough = 4       // references and lists between an object and the one inside of it
)

// Row is a member of an object as a table shows it to people. Name, About, Default and the literals in Type are as the schema
// has them, hostile: the caller makes them safe.
type Row struct {
	Name     string
	Type     string   // on one line: string, integer[], "a" | "b"; an object is no more than object
	Values   []string // of an enum that Type shows, as JSON
	About    string   // what the schema says about the member, of any length
	Default  string   // as JSON; "" for none
	Required bool
	Depth    int // 0 for the members of the schema's own object
}

// Table lists the members of a plain object by its schema, in their order, each followed by those of the objects in it, down to
// a depth. Members beyond most rows are left out, which more says. A schema that is no plain object, but a combination, or an
// object of any names, gives ok false: a table does no justice to it.
func Table(schema Value, depth, most int) (rows []Row, more, ok bool) {
	steps := tableSteps
	t := table{writer: writer{form: &tableForm, root: schema, steps: &steps}, deepest: depth - 1, most: most}
	k, ok := t.plainObject(schema)
	if ok {
		t.members(&k, 0)
	}
	return t.rows, t.more, ok
}

type table struct {
	writer
	deepest, most int
	rows          []Row
	more          bool
}

// plainObject reads the schema of an object that has nothing but members, through references.
func (t *table) plainObject(v Value) (k keywords, ok bool) {
	for range maxThrough {
		if !v.IsObject() {
			return k, false
		}
		if k = t.read(v); !k.ref.IsString() || k.properties.Exists() {
			break
		}
		v = t.target(k.ref.Text())
	}
	object := k.typ.Text() == "object" || !k.typ.Exists() && k.properties.Exists()
	for _, other := range [...]Value{k.ref, k.allOf, k.anyOf, k.oneOf, k.enum, k.constant} {
		object = object && !other.Exists()
	}
	return k, object && k.patterns.isEmpty() && (k.properties.IsObject() || !k.properties.Exists())
}

func (t *table) members(k *keywords, depth int) {
	required := t.required(k)
	for name, p := range k.properties.Children() {
		if len(t.rows) == t.most || !t.step(1) {
			t.more = true
			return
		}
		t.rows = append(t.rows, t.row(name, p, required.has(name), depth))
		if depth == t.deepest {
			continue
		}
		// What is no plain object in turn has no members to show.
		if inner, ok := t.plainObject(t.element(p)); ok {
			t.members(&inner, depth+1)
		}
	}
}

func (t *table) row(name string, p Value, required bool, depth int) Row {
	t.bytes, t.visits = rowBytes, t.form.visits
	r := Row{Name: name, Required: required, Depth: depth}
	if !p.IsObject() {
		r.Type = t.render(p).text
		return r
	}
	k := t.read(p)
	r.Type = t.combine(&k).text
	r.Values = t.shown(k.enum)
	r.About, r.Default = k.doc().Text(), k.preset.Raw()
	return r
}

// shown lists the values of an enum, or none if one of them is not shown.
func (t *table) shown(enum Value) (values []string) {
	for _, v := range t.list(nil, enum) {
		text, _ := t.literal(v)
		if text == "" || len(values) == t.form.values {
			return nil
		}
		values = append(values, text)
	}
	return values
}

// element goes through lists to what they hold.
func (t *table) element(v Value) Value {
	for range maxThrough {
		if !v.IsObject() {
			break
		}
		k := t.read(v)
		switch {
		case k.items.IsObject() && (k.typ.Text() == "array" || !k.typ.Exists()):
			v = k.items
		case k.ref.IsString() && !k.properties.Exists():
			v = t.target(k.ref.Text())
		default:
			return v
		}
	}
	return v
}
