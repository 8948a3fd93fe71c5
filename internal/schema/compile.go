package schema

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// Schema is a compiled JSON Schema. Immutable, safe for concurrent use.
type Schema struct {
	raw  []byte
	root *node
}

// JSON gives the text the schema was compiled from. The caller must not change it.
func (s *Schema) JSON() []byte { return s.raw }

// base is the address of the document being compiled; relative references resolve against it and are refused unless
// they stay inside.
const base = "schema://self/root"

// Compile reads a schema of draft 4, 6, 7, 2019-09 or 2020-12 (the default without $schema).
//
// Errors: [*DecodeError] for text that is not JSON, [*CompileError] otherwise. Nothing is ever fetched.
func Compile(raw []byte) (*Schema, error) {
	if len(raw) > MaxSchemaBytes {
		return nil, &CompileError{Kind: ErrSchemaTooLarge, Detail: fmt.Sprintf("%d bytes are more than %d; describe less, or split the tool", len(raw), MaxSchemaBytes)}
	}
	doc, err := decode(raw, true, MaxSchemaDepth, MaxSchemaValues)
	if err != nil {
		return nil, err
	}
	switch doc.(type) {
	case map[string]any, bool:
	default:
		return nil, &CompileError{Kind: ErrInvalidSchema, Detail: "a schema is an object or a boolean, not " + article(typeOf(doc))}
	}
	if err := scanSchema(doc); err != nil {
		return nil, err
	}
	raw = bytes.Clone(raw)
	compiled, err := compile(raw)
	if err != nil {
		return nil, err
	}
	root, err := buildGraph(compiled)
	if err != nil {
		return nil, err
	}
	return &Schema{raw: raw, root: root}, nil
}

// compile runs the library. It panics on some schemas that its meta-schemas let through.
func compile(raw []byte) (s *jsonschema.Schema, err error) {
	refused := ""
	c := jsonschema.NewCompiler()
	c.LoadURL = func(u string) (io.ReadCloser, error) {
		refused = u
		return nil, ErrRemoteRef
	}
	// Content keywords are annotations here: decoding a string as JSON again would be a second, unbounded reader.
	c.Decoders["base64"] = nil
	c.MediaTypes["application/json"] = nil

	defer func() {
		if r := recover(); r != nil {
			s, err = nil, &CompileError{Kind: ErrInvalidSchema, Detail: "a keyword has a value of the wrong form"}
		}
	}()
	if err := c.AddResource(base, bytes.NewReader(raw)); err != nil {
		return nil, compileError(err)
	}
	s, err = c.Compile(base)
	switch {
	case refused != "":
		return nil, &CompileError{Kind: ErrRemoteRef, Detail: fmt.Sprintf(
			"%q is outside the schema; put the definition under $defs and refer to it as #/$defs/NAME (a $schema must name draft 4, 6, 7, 2019-09 or 2020-12)",
			plaintext.Clip(strings.TrimPrefix(refused, "schema://self/"), maxRefusedText))}
	case err != nil:
		return nil, compileError(err)
	}
	return s, nil
}

func compileError(err error) error {
	var loop jsonschema.InfiniteLoopError
	if errors.As(err, &loop) {
		return &CompileError{Kind: ErrInvalidSchema, Detail: "a reference leads back to itself without going into a property or an item"}
	}
	var ve *jsonschema.ValidationError
	if errors.As(err, &ve) {
		for len(ve.Causes) > 0 {
			ve = ve.Causes[0]
		}
		path := ve.InstanceLocation
		if p, err := url.PathUnescape(path); err == nil {
			path = p
		}
		return &CompileError{Kind: ErrInvalidSchema, Path: path, Detail: plaintext.Clip(ve.Message, maxPathText)}
	}
	text := err.Error()
	var se *jsonschema.SchemaError
	if errors.As(err, &se) && se.Err != nil {
		text = se.Err.Error()
	}
	text = strings.TrimPrefix(strings.ReplaceAll(text, base, ""), "jsonschema: ")
	return &CompileError{Kind: ErrInvalidSchema, Detail: plaintext.Clip(text, maxPathText)}
}

func article(noun string) string {
	if strings.ContainsAny(noun[:1], "aeiou") {
		return "an " + noun
	}
	return "a " + noun
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
