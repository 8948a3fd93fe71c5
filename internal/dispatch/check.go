package dispatch

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// checkInput checks a call's input: an object, also where there is no schema.
func checkInput(ref *Tool, e *catalog.Entry, input json.RawMessage) error {
	v, err := decodeJSON(ref.Params, input, "input of "+e.ID, api.CodeInvalidInput)
	if err != nil {
		return err
	}
	if ref.Params != nil {
		if err := ref.Params.CheckCase(v); err != nil {
			return &api.ToolError{Name: "TypeError", Message: "input of " + e.ID + ": " + err.Error(), Code: api.CodeInvalidInput}
		}
	}
	if ref.Params == nil && !bytes.HasPrefix(bytes.TrimLeft(input, " \t\r\n"), []byte("{")) {
		return &api.ToolError{Name: "TypeError", Message: "input of " + e.ID + ": expected an object", Code: api.CodeInvalidInput}
	}
	return nil
}

// checkJSON checks that a result is strict JSON and fits the schema. What is not
// checked strictly may mean one thing to the schema and another to the tool.
func checkJSON(s *schema.Schema, text json.RawMessage, what string) error {
	_, err := decodeJSON(s, text, what, api.CodeInvalidToolResult)
	return err
}

// decodeJSON is checkJSON with the value, nil without a schema.
func decodeJSON(s *schema.Schema, text json.RawMessage, what string, code api.ToolErrorCode) (v any, err error) {
	if s == nil {
		err = schema.Check(text)
	} else if v, err = schema.Decode(text); err == nil {
		err = s.Validate(v)
	}
	if err != nil {
		return nil, &api.ToolError{Name: "TypeError", Message: what + ": " + err.Error(), Code: code}
	}
	return v, nil
}

func refusal(message string, code api.ToolErrorCode) *api.ToolError {
	return &api.ToolError{Name: "PermissionError", Message: message, Code: code}
}

// TraceDenied traces a call of an id that is not in the catalog, with the rule that hides it, if one does.
func (r *Run) TraceDenied(tc *api.ToolCall) {
	shown := *tc
	shown.Tool = r.o.View.KnownID(tc.Tool)
	r.Emit(&shown, api.TraceEvent{Event: api.EventCallDenied, Rule: r.o.View.RuleAgainst(tc.Tool)})
}

// word matches what stands between white space, quotes and brackets.
var word = regexp.MustCompile("[^\\s\"'`“”‘’<>\\[\\](){},;|]+")

// rooted matches a separator at the start of a word, or where a path may begin
// inside of one.
var rooted = regexp.MustCompile(`(^|[=:@~.])[\\/]`)

// HidePaths replaces what looks like a path of the host's file system: words with
// two separators, or with one where a path begins. Addresses of the web stay.
func HidePaths(s string) string {
	return word.ReplaceAllStringFunc(s, func(w string) string {
		if strings.HasPrefix(w, "https://") || strings.HasPrefix(w, "http://") {
			return w
		}
		if len(w) < 2 || strings.Count(w, "/")+strings.Count(w, `\`) < 2 && !rooted.MatchString(w) {
			return w
		}
		if strings.HasSuffix(w, ":") {
			return "(path):"
		}
		return "(path)"
	})
}
