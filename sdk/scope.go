package sdk

import (
	"encoding/json"

	"github.com/cloister-wasm/cloister/guestabi"
)

// Marker is a call marker in a computed scope: where it stands, cells find a function that calls a tool. Without Args and
// MapInput the first argument of a call is the tool's input.
type Marker struct {
	// Tool is one of the namespace's requiredToolNames.
	Tool string `json:"$tool"`
	// Args name the arguments: the first is the input's member of the first name, and so on.
	Args []string `json:"args,omitempty"`
	// MapInput has the function given to [MapInput] make the input of the arguments.
	MapInput bool `json:"mapInput,omitempty"`
}

var (
	scopes = map[string]func(guestabi.ScopeContext) (any, error){}
	maps   = map[string]func([]string, []json.RawMessage) (any, error){}
)

// Scope registers the function that computes the scope of a namespace, given its id in the manifest, whose entry has
// scopeExport true. It runs once for each run of a cell. The result is an object of data and [Marker] values, such as a
// map[string]any. Scope panics on an id that is taken and on a nil function.
func Scope(namespaceID string, fn func(guestabi.ScopeContext) (any, error)) {
	if fn == nil || scopes[namespaceID] != nil {
		panic("sdk.Scope: " + namespaceID + " has no function, or two")
	}
	scopes[namespaceID] = fn
}

// MapInput registers the function that makes a tool's input of the arguments of a call in a namespace, for markers with
// mapInput. path leads to the marker in the scope: {"list"} for Issues.list. args are the arguments as the cell gave
// them; [Arg] reads one. The result is the tool's input, which the host checks against its schema. MapInput panics on an
// id that is taken and on a nil function.
func MapInput(namespaceID string, fn func(path []string, args []json.RawMessage) (any, error)) {
	if fn == nil || maps[namespaceID] != nil {
		panic("sdk.MapInput: " + namespaceID + " has no function, or two")
	}
	maps[namespaceID] = fn
}

// Arg reads the argument at index i, counted from 0, into v. It is false, and v as before, where the argument is missing
// or null; an argument that does not fit v is an error that names it.
func Arg(args []json.RawMessage, i int, name string, v any) (bool, error) {
	if i < 0 || i >= len(args) || len(args[i]) == 0 || string(args[i]) == "null" {
		return false, nil
	}
	if err := json.Unmarshal(args[i], v); err != nil {
		return false, Fail("invalid_input", "argument %d, %s, does not fit: %w", i+1, name, err)
	}
	return true, nil
}

func computeScope(r *guestabi.ScopeRequest) (out []byte, err error) {
	fn := scopes[r.Namespace]
	if fn == nil {
		return nil, Fail("unknown_namespace", "the plugin computes no scope for the namespace %q", r.Namespace)
	}
	defer recovered("the scope of "+r.Namespace, &err)
	v, err := fn(r.Context)
	if err != nil {
		return nil, err
	}
	return encode(v)
}

func mapInput(r *guestabi.MapInputRequest) (out []byte, err error) {
	fn := maps[r.Namespace]
	if fn == nil {
		return nil, Fail("unknown_namespace", "the plugin maps no arguments for the namespace %q", r.Namespace)
	}
	defer recovered("mapping the arguments of "+r.Namespace, &err)
	v, err := fn(r.Path, r.Args)
	if err != nil {
		return nil, err
	}
	return encode(v)
}
