package transpile

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// transformSource is the transform itself, without any bound: call it in a
// worker only. Its errors are *SyntaxError, *ModuleAccessError and ErrInternal.
func transformSource(source string) (*Output, error) {
	// The mark starts with a letter that stands for nothing and goes on with
	// 26 of rand's letters and digits: an identifier nobody can foresee.
	t := &transform{source: source, lines: newLineTable(source), mark: "c" + rand.Text()}
	t.hide(nil)
	result, err := t.run(dialect{})
	if err != nil {
		return nil, err
	}
	return t.finish(result)
}

// transform is one run over one source.
type transform struct {
	source string
	lines  lineTable
	mark   string

	// The source with throws for its top-level returns, which is the source
	// itself as long as there are none.
	hidden      edits
	edited      string
	editedLines lineTable
}

func (t *transform) hide(returns edits) {
	t.hidden, t.edited, t.editedLines = returns, t.source, t.lines
	if len(returns) > 0 {
		t.edited = returns.apply(t.source)
		t.editedLines = newLineTable(t.edited)
	}
}

// run returns esbuild's result for the source, with marks for its returns.
func (t *transform) run(d dialect) (api.TransformResult, error) {
	result := runESBuild(t.source, t.mark, d)
	if len(result.Errors) == 0 {
		return result, nil
	}
	returns, other := topLevelReturns(result.Errors, t.source, t.lines)
	if other != nil {
		return t.fault(result.Errors, other, d)
	}
	hidden, ok := hideReturns(t.source, returns, t.mark)
	if !ok {
		return result, fmt.Errorf("%w: no return where esbuild saw one", ErrInternal)
	}
	t.hide(hidden)
	result = runESBuild(t.edited, t.mark, d)
	if len(result.Errors) > 0 {
		return t.fault(result.Errors, &result.Errors[0], d)
	}
	return result, nil
}

// fewErrors is how many errors a source with JSX may have: the parser gives up at
// the first ones. Many errors are dear to collect, and nobody reads them.
const fewErrors = 8

// fault turns an error of esbuild into one of ours, or finds the way around it.
func (t *transform) fault(all []api.Message, e *api.Message, d dialect) (api.TransformResult, error) {
	for _, m := range all {
		if strings.HasPrefix(m.Text, textPanic) {
			return api.TransformResult{}, ErrInternal
		}
		// Only the older decorators can stand at a parameter, so a source with
		// one of those was written for them.
		if m.Text == textParamDecorator && !d.legacy {
			d.legacy = true
			return t.run(d)
		}
	}
	if e.Location == nil {
		return api.TransformResult{}, ErrInternal
	}
	syntax := t.syntaxError(e)
	if len(t.hidden) == 0 && len(all) <= fewErrors && t.isJSX(d) {
		syntax.Message = "JSX is not supported in a cell; build the value with plain objects or strings"
	}
	return api.TransformResult{}, syntax
}

func (t *transform) syntaxError(e *api.Message) *SyntaxError {
	// What stands behind the source is ours, so a place there is its end.
	at := t.editedLines.offset(Position{Line: e.Location.Line, Column: e.Location.Column + 1})
	place := t.lines.position(newOffsets(t.hidden).back(at))
	return &SyntaxError{
		Message:  plaintext.Head(e.Text, maxMessage),
		Position: place,
		LineText: lineText(t.source, t.lines, place),
	}
}

// isJSX reports whether the source would be right if JSX were allowed. Apart
// from JSX itself TSX allows nothing that TypeScript does not.
func (t *transform) isJSX(d dialect) bool {
	d.jsx = true
	result := runESBuild(t.source, t.mark, d)
	_, other := topLevelReturns(result.Errors, t.source, t.lines)
	return other == nil
}

// finish turns the marks in the output back into returns, maps its lines and
// refuses module syntax.
func (t *transform) finish(result api.TransformResult) (*Output, error) {
	code := string(result.Code)
	generated := newColumns(code, newLineTable(code))
	raw, err := mappings(result.Map)
	if err != nil {
		return nil, err
	}
	ours := len(code) // up to here the code is esbuild's own
	if len(raw) > 0 {
		ours = generated.offset(raw[0].genLine, raw[0].genCol)
	}
	returns, ok := showReturns(code, t.mark)
	if !ok {
		return nil, fmt.Errorf("%w: a mark out of place", ErrInternal)
	}
	shown := append(helperEdits(code[:ours]), returns...)
	out := &Output{Code: shown.apply(code)}
	out.Map = t.lineMap(raw, generated, newOffsets(shown), newLineTable(out.Code))
	if err := t.refuseModules(out); err != nil {
		return nil, err
	}
	return out, nil
}

// mappings returns the segments of a source map.
func mappings(sourceMap []byte) ([]rawSegment, error) {
	var file struct {
		Mappings string `json:"mappings"`
	}
	err := json.Unmarshal(sourceMap, &file)
	var raw []rawSegment
	if err == nil {
		err = decodeMappings(file.Mappings, func(s rawSegment) { raw = append(raw, s) })
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInternal, err)
	}
	return raw, nil
}

// lineMap composes the segments of esbuild's map with the edits before and
// behind it. generated looks up places in what esbuild wrote; shown and lines
// belong to what became of that.
func (t *transform) lineMap(raw []rawSegment, generated *columns, shown offsets, lines lineTable) LineMap {
	source := newColumns(t.edited, t.editedLines)
	hidden := newOffsets(t.hidden)
	m := LineMap{mapped: true, segs: make([]segment, 0, len(raw))}
	for _, s := range raw {
		gen := lines.position(shown.forward(generated.offset(s.genLine, s.genCol)))
		src := t.lines.position(hidden.back(source.offset(s.srcLine, s.srcCol)))
		seg, ok := makeSegment(gen.Line, gen.Column, src.Line, src.Column)
		if ok && (len(m.segs) == 0 || m.segs[len(m.segs)-1].compare(seg) < 0) {
			m.segs = append(m.segs, seg)
		}
	}
	return m
}

// refuseModules returns a *ModuleAccessError if the output has module syntax, or
// what esbuild made of some.
func (t *transform) refuseModules(out *Output) error {
	if place, found := t.exportEquals(out); found {
		return &ModuleAccessError{Syntax: syntaxExport, Position: place}
	}
	if !mayHaveModuleSyntax(out.Code) {
		return nil
	}
	syntax, at, ok := probeModuleSyntax(out.Code)
	if !ok {
		return fmt.Errorf("%w: the output is no function body", ErrInternal)
	}
	if syntax == "" {
		return nil
	}
	place, _ := out.Map.Source(at.Line, at.Column) // a statement of the source always has a place in it
	return &ModuleAccessError{Syntax: syntax, Position: place}
}

// exportEquals finds TypeScript's `export = x`. esbuild has made an assignment
// to module.exports of it, perhaps with a longer name for the module; an
// assignment that the source itself holds comes from another place in it.
func (t *transform) exportEquals(out *Output) (Position, bool) {
	const assignment = "module.exports = "
	var lines lineTable
	for from := 0; ; {
		i := strings.Index(out.Code[from:], assignment)
		if i < 0 {
			return Position{}, false
		}
		if from == 0 {
			lines = newLineTable(out.Code)
		}
		at := lines.position(from + i)
		place, ok := out.Map.Source(at.Line, at.Column)
		if rest, found := strings.CutPrefix(t.source[t.lines.offset(place):], syntaxExport); ok && found {
			if rest = skipSpace(rest); strings.HasPrefix(rest, "=") {
				return place, true
			}
		}
		from += i + len(assignment)
	}
}
