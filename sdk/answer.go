package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"

	"github.com/cloister-wasm/cloister/guestabi"
)

// Describe says what is registered: the answer of the export cloister_describe. It fails where a type has no JSON Schema;
// call it in a test to know before the build does.
func Describe() (*guestabi.Description, error) {
	d := &guestabi.Description{Tools: []guestabi.DescribedTool{}}
	for _, name := range order {
		t := tools[name]
		in := t.in
		for in.Kind() == reflect.Pointer {
			in = in.Elem()
		}
		if k := in.Kind(); k != reflect.Struct && k != reflect.Map {
			return nil, Fail("invalid_type", "the input of %s is a %s; take a struct, since a tool's input is an object", name, t.in)
		}
		parameters, err := schemaOf(in)
		if err != nil {
			return nil, Fail("invalid_type", "the input of %s: %w", name, err)
		}
		returns, err := schemaOf(t.out)
		if err != nil {
			return nil, Fail("invalid_type", "the result of %s: %w", name, err)
		}
		d.Tools = append(d.Tools, guestabi.DescribedTool{Name: name, Description: t.description, Parameters: parameters, Returns: returns})
	}
	return d, nil
}

// Run calls a registered tool the way the host does, for tests: input is what encoding/json makes of it, and the result
// is the tool's. A failure of the tool, a panic included, is a *[Failure] or the tool's own error.
func Run(tool string, input any) (json.RawMessage, error) {
	raw, err := encode(input)
	if err != nil {
		return nil, err
	}
	return call(tool, raw)
}

// answer runs one export: request in, guestabi.PluginResponse out.
func answer(export string, request []byte) []byte {
	value, err := dispatch(export, request)
	if err != nil {
		failure, ferr := json.Marshal(guestabi.PluginResponse{ABI: guestabi.PluginABI, Error: asData(err)})
		if ferr != nil {
			panic(ferr) // three strings can be written
		}
		return failure
	}
	b := make([]byte, 0, len(value)+32)
	b = append(b, `{"abi":`+strconv.Itoa(guestabi.PluginABI)+`,"value":`...)
	b = append(b, value...)
	return append(b, '}')
}

func dispatch(export string, request []byte) ([]byte, error) {
	switch export {
	case guestabi.ExportCall:
		if tool, input, ok := plainCall(request); ok {
			out, err := call(tool, input)
			if !errors.Is(err, errNotJSON) {
				return out, err
			}
			// The request has members behind the input; nothing has run yet.
		}
		var r guestabi.CallRequest
		if err := open(request, &r, &r.ABI); err != nil {
			return nil, err
		}
		return call(r.Tool, r.Input)
	case guestabi.ExportScope:
		var r guestabi.ScopeRequest
		if err := open(request, &r, &r.ABI); err != nil {
			return nil, err
		}
		return computeScope(&r)
	case guestabi.ExportMapInput:
		var r guestabi.MapInputRequest
		if err := open(request, &r, &r.ABI); err != nil {
			return nil, err
		}
		return mapInput(&r)
	default:
		d, err := Describe()
		if err != nil {
			return nil, err
		}
		return encode(d)
	}
}

// callStart is how hosts begin a CallRequest of this version.
var callStart = []byte(`{"abi":` + strconv.Itoa(guestabi.PluginABI) + `,"tool":"`)

// plainCall takes a CallRequest apart that is written the way hosts do, without reading the input: that is half of what a
// call costs. Whether the input is one JSON value is found when it is decoded. Anything else is for [open].
func plainCall(request []byte) (tool string, input []byte, ok bool) {
	rest, ok := bytes.CutPrefix(request, callStart)
	if !ok {
		return "", nil, false
	}
	name, rest, ok := bytes.Cut(rest, []byte(`"`))
	if !ok || bytes.IndexByte(name, '\\') >= 0 {
		return "", nil, false
	}
	input, ok = bytes.CutPrefix(rest, []byte(`,"input":`))
	if !ok || !bytes.HasSuffix(input, []byte("}")) {
		return "", nil, false
	}
	return string(name), input[:len(input)-1], true
}

// open reads a request and checks its version first: one of a newer version may look like anything.
func open(request []byte, v any, abi *int) error {
	err := json.Unmarshal(request, v)
	if *abi > guestabi.PluginABI {
		return Fail("unsupported_abi", "the host speaks version %d of the messages, this plugin version %d; build it with a newer SDK", *abi, guestabi.PluginABI)
	}
	if err != nil {
		return Fail("invalid_request", "the host's request cannot be read: %w", err)
	}
	if *abi != guestabi.PluginABI {
		return Fail("invalid_request", "the host's request has no abi %d", guestabi.PluginABI)
	}
	return nil
}
