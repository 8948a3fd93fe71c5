package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sort"
	"strings"
)

// tool is one registered function.
type tool struct {
	name, description string
	in, out           reflect.Type
	run               func(input []byte) ([]byte, error)
}

// tools has the registered ones by name, and order their names as registered.
var (
	tools = map[string]*tool{}
	order []string
)

// Tool registers a function as a tool. Call it from init. The name and, where the manifest has none, the description
// are those that models see. In is a struct, a pointer to one, or a map with string keys; Out is anything that
// encoding/json can write.
//
// Tool panics on a name that is empty or taken, and on a nil function. Types that have no JSON Schema are found by
// [Describe].
func Tool[In, Out any](name, description string, fn func(In) (Out, error)) {
	switch {
	case name == "":
		panic("sdk.Tool: a tool needs a name")
	case tools[name] != nil:
		panic("sdk.Tool: " + name + " is registered twice")
	case fn == nil:
		panic("sdk.Tool: " + name + " has no function")
	}
	t := &tool{name: name, description: description, in: reflect.TypeFor[In](), out: reflect.TypeFor[Out]()}
	t.run = func(input []byte) ([]byte, error) {
		var in In
		if err := decodeInput(input, &in, t.in); err != nil {
			return nil, err
		}
		out, err := fn(in)
		if err != nil {
			return nil, err
		}
		return encode(out)
	}
	tools[name] = t
	order = append(order, name)
}

// call runs a tool. A panic of it becomes a failure.
func call(name string, input []byte) (out []byte, err error) {
	t := tools[name]
	if t == nil {
		known := append([]string(nil), order...)
		sort.Strings(known)
		return nil, Fail("unknown_tool", "the plugin has no tool %q; it has %s", name, strings.Join(known, ", "))
	}
	defer recovered("the tool "+name, &err)
	return t.run(input)
}

// recovered turns a panic of the author's code into an error.
func recovered(what string, err *error) {
	if r := recover(); r != nil {
		*err = &Failure{Name: "PluginPanic", Code: "plugin_panic", Message: fmt.Sprintf("%s panicked: %v", what, r)}
	}
}

// decodeInput fills a tool's input.
func decodeInput(data []byte, v any, t reflect.Type) error {
	err := json.Unmarshal(data, v)
	if err == nil {
		err = checkCase(data, t)
	}
	if err == nil {
		return nil
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return Fail("invalid_input", "%s must be %s, not %s", wrong.Field, typeInWords(wrong.Type), wrong.Value)
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return &Failure{Code: "invalid_input", Message: "the input cannot be read: " + err.Error(), cause: errNotJSON}
	}
	return Fail("invalid_input", "the input cannot be read: %w", err)
}

// errNotJSON says that an input is not one JSON value. It comes from before the tool's function only.
var errNotJSON = errors.New("the input is not JSON")

func typeInWords(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number in range"
	}
	return "a " + t.String()
}

// encode writes a result. json.Marshal would write < as six bytes.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, Fail("invalid_output", "the result cannot be written as JSON: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
