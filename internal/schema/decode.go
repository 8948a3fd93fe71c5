package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// Decode reads one JSON value strictly: map[string]any, []any, string, json.Number, bool or nil.
//
// Refused, with a [*DecodeError]: duplicate keys, invalid UTF-8 and lone surrogates, trailing data, more than [MaxDepth]
// levels, more than [MaxDecodeValues] values, more than [MaxDecodeBytes] bytes, numbers beyond [MaxNumberBytes] or
// [MaxExponent]. Safe for concurrent use; the result shares no memory with data.
func Decode(data []byte) (any, error) {
	return decode(data, true, MaxDepth, MaxDecodeValues)
}

// Check applies the rules of [Decode] without building the value.
func Check(data []byte) error {
	_, err := decode(data, false, MaxDepth, MaxDecodeValues)
	return err
}

// DecodeOptions are the choices of [DecodeInto].
type DecodeOptions struct {
	// AllowUnknown lets members pass that the type has no field for. They are refused otherwise.
	AllowUnknown bool
	// Checked says that the text has passed [Decode] or [Check] already, so that its bounds are not checked twice.
	Checked bool
}

// DecodeInto fills dst under the rules of [Decode]: names match exactly, a wrong type is an error, unknown members are
// refused unless opts says otherwise. Nil opts is the zero value. Fields of type any hold float64 for numbers: use
// json.RawMessage and Decode where integers matter. What dst holds after an error is unspecified.
func DecodeInto[T any](data []byte, dst *T, opts *DecodeOptions) error {
	if opts == nil || !opts.Checked {
		if err := Check(data); err != nil {
			return err
		}
	}
	reject := opts == nil || !opts.AllowUnknown
	if err := jsonv2.Unmarshal(data, dst, jsonv2.RejectUnknownMembers(reject)); err != nil {
		return decodeError(err)
	}
	return nil
}

var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

func decode(data []byte, build bool, depth, values int) (any, error) {
	if len(data) > MaxDecodeBytes {
		return nil, &DecodeError{Offset: -1, Detail: fmt.Sprintf("%d bytes are more than the %d that are read", len(data), MaxDecodeBytes)}
	}
	d := reader{dec: decoders.Get().(*jsontext.Decoder), build: build, depth: depth, values: values}
	// Duplicate names are found while the maps are built; the decoder's own check would pay for it twice.
	d.dec.Reset(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(build))
	v, err := d.value(0)
	if err == nil {
		err = d.end()
	}
	d.dec.Reset(eof{}) // keep no reference to data in the pool
	decoders.Put(d.dec)
	if err != nil {
		return nil, decodeError(err)
	}
	return v, nil
}

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

// reader reads one value by recursion, no deeper than its bound.
type reader struct {
	dec    *jsontext.Decoder
	build  bool
	depth  int
	values int
}

func (d *reader) end() error {
	_, err := d.dec.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	default:
		return d.fault("there is more text after the value")
	}
}

func (d *reader) fault(format string, args ...any) error {
	return &DecodeError{
		Offset: d.dec.InputOffset(),
		Path:   string(d.dec.StackPointer()),
		Detail: fmt.Sprintf(format, args...),
	}
}

func (d *reader) value(level int) (any, error) {
	if d.values--; d.values < 0 {
		return nil, d.fault("there are too many values")
	}
	tok, err := d.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch tok.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return tok.Bool(), nil
	case '"':
		if !d.build {
			return nil, nil
		}
		return tok.String(), nil
	case '0':
		return d.number(tok)
	case '{', '[':
		if level >= d.depth {
			return nil, d.fault("the value is nested deeper than %d levels", d.depth)
		}
		if tok.Kind() == '{' {
			return d.object(level)
		}
		return d.array(level)
	default:
		return nil, d.fault("a value is missing")
	}
}

func (d *reader) object(level int) (any, error) {
	var m map[string]any
	if d.build {
		m = map[string]any{}
	}
	for d.dec.PeekKind() != '}' {
		tok, err := d.dec.ReadToken()
		if err != nil {
			return nil, err
		}
		var name string
		if d.build {
			name = tok.String()
			if _, dup := m[name]; dup {
				return nil, d.fault("the key %s appears twice", quoteName(name))
			}
		}
		v, err := d.value(level + 1)
		if err != nil {
			return nil, err
		}
		if d.build {
			m[name] = v
		}
	}
	_, err := d.dec.ReadToken()
	return m, err
}

func (d *reader) array(level int) (any, error) {
	a := []any{}
	for d.dec.PeekKind() != ']' {
		v, err := d.value(level + 1)
		if err != nil {
			return nil, err
		}
		if d.build {
			a = append(a, v)
		}
	}
	_, err := d.dec.ReadToken()
	return a, err
}

func (d *reader) number(tok jsontext.Token) (any, error) {
	lit := tok.String()
	if why := numberFault(lit); why != "" {
		return nil, d.fault("%s", why)
	}
	return json.Number(lit), nil
}

// numberFault says why a JSON number literal is outside the bounds, or "".
func numberFault(lit string) string {
	if len(lit) > MaxNumberBytes {
		return fmt.Sprintf("the number is longer than %d characters", MaxNumberBytes)
	}
	if i := strings.IndexAny(lit, "eE"); i >= 0 {
		if exp, err := strconv.Atoi(lit[i+1:]); err != nil || exp > MaxExponent || exp < -MaxExponent {
			return fmt.Sprintf("the number's exponent is beyond ±%d", MaxExponent)
		}
	}
	return ""
}

// decodeError turns the library's errors into ours: same place, no Go type names.
func decodeError(err error) error {
	var ours *DecodeError
	if errors.As(err, &ours) {
		return ours
	}
	var sem *jsonv2.SemanticError
	if errors.As(err, &sem) {
		return &DecodeError{Offset: -1, Path: string(sem.JSONPointer), Detail: semanticDetail(sem)}
	}
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) {
		return &DecodeError{Offset: syn.ByteOffset, Path: string(syn.JSONPointer), Detail: syntaxDetail(syn)}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &DecodeError{Offset: -1, Detail: "the text ends before the value does"}
	}
	return &DecodeError{Offset: -1, Detail: plaintext.Clip(err.Error(), maxPathText)}
}

func syntaxDetail(syn *jsontext.SyntacticError) string {
	switch {
	case errors.Is(syn.Err, jsontext.ErrDuplicateName):
		return "the key " + quoteName(syn.JSONPointer.LastToken()) + " appears twice"
	case errors.Is(syn.Err, io.ErrUnexpectedEOF), errors.Is(syn.Err, io.EOF):
		return "the text ends before the value does"
	case syn.Err == nil:
		return "the text is malformed"
	default:
		return plaintext.Clip(syn.Err.Error(), maxPathText)
	}
}

func semanticDetail(sem *jsonv2.SemanticError) string {
	switch {
	case errors.Is(sem.Err, jsonv2.ErrUnknownName):
		return "unknown property " + quoteName(sem.JSONPointer.LastToken())
	case sem.GoType != nil && sem.JSONKind != 0:
		return "expected " + goTypeName(sem.GoType) + ", got " + kindName(sem.JSONKind)
	case sem.GoType != nil:
		return "expected " + goTypeName(sem.GoType)
	default:
		return "the value has the wrong form"
	}
}
