package host

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/plainjson"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// The builders below write the array of tools for a request of one provider, from
// Surface: exec and wait if code mode is active, else every tool. The bytes are
// the same for the same surface, so that prompt caches hold. Put them into the
// request as they are, and check the whole request with EnforceSurface before it
// is sent. A run without tools gives an empty array, which some providers refuse:
// leave tools out then.

// OpenAIChatTools is the member tools of a request to OpenAI's chat completions,
// and of the many services that take the same form.
func (r *Run) OpenAIChatTools() json.RawMessage {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	type tool struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	return toolList(r, func(d api.ToolDefinition) tool {
		return tool{"function", function{d.Name, d.Description, objectSchema(d.Parameters, true)}}
	})
}

// OpenAIResponsesTools is the member tools of a request to OpenAI's responses. It
// turns strict off, which is on there by default and takes few schemas.
func (r *Run) OpenAIResponsesTools() json.RawMessage {
	type tool struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      bool            `json:"strict"`
	}
	return toolList(r, func(d api.ToolDefinition) tool {
		return tool{"function", d.Name, d.Description, objectSchema(d.Parameters, true), false}
	})
}

// AnthropicTools is the member tools of a request to Anthropic's messages.
func (r *Run) AnthropicTools() json.RawMessage {
	type tool struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		InputSchema json.RawMessage `json:"input_schema"`
	}
	return toolList(r, func(d api.ToolDefinition) tool {
		return tool{d.Name, d.Description, objectSchema(d.Parameters, false)}
	})
}

// GeminiTools is the member tools of a request to Gemini's generateContent: one
// group of function declarations, with JSON Schemas (parametersJsonSchema) instead
// of the smaller dialect of its own.
func (r *Run) GeminiTools() json.RawMessage {
	type tool struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parametersJsonSchema"`
	}
	list := toolList(r, func(d api.ToolDefinition) tool {
		return tool{d.Name, d.Description, objectSchema(d.Parameters, false)}
	})
	if string(list) == "[]" {
		return list
	}
	return slices.Concat(json.RawMessage(`[{"functionDeclarations":`), list, json.RawMessage(`}]`))
}

// MCPTools is the member tools of the result of MCP tools/list. Titles and hints
// are the authors' own words. outputSchema is there if a tool declares that it
// gives an object, as the protocol wants.
func (r *Run) MCPTools() json.RawMessage {
	type tool struct {
		Name         string               `json:"name"`
		Title        string               `json:"title,omitempty"`
		Description  string               `json:"description,omitempty"`
		InputSchema  json.RawMessage      `json:"inputSchema"`
		OutputSchema json.RawMessage      `json:"outputSchema,omitempty"`
		Annotations  *api.ToolAnnotations `json:"annotations,omitempty"`
	}
	return toolList(r, func(d api.ToolDefinition) tool {
		t := tool{Name: d.Name, Title: d.Label, Description: d.Description, InputSchema: objectSchema(d.Parameters, false)}
		if d.Annotations != (api.ToolAnnotations{}) {
			t.Annotations = &d.Annotations
		}
		if rootType(d.Returns) == `"object"` {
			t.OutputSchema = d.Returns
		}
		return t
	})
}

// toolList writes the surface in a provider's form.
func toolList[T any](r *Run, form func(api.ToolDefinition) T) json.RawMessage {
	out := []T{}
	for _, d := range r.Surface() {
		out = append(out, form(d))
	}
	return encode(out)
}

// encode is schema.Encode for what was checked before.
func encode(v any) json.RawMessage {
	text, err := plainjson.Encode(v)
	if err != nil {
		return nil // cannot be: schemas were compiled. EnforceSurface refuses a payload without tools
	}
	return text
}

// rootType gives the JSON of a schema's type, "" if it has none.
func rootType(schema json.RawMessage) string {
	var root map[string]json.RawMessage // a struct would take "Type" too
	if json.Unmarshal(schema, &root) != nil {
		return ""
	}
	return string(root["type"])
}

// objectSchema gives a schema of an input with the type that providers want to
// see, and with properties, which OpenAI misses otherwise. Inputs are always objects,
// so that this refuses nothing that the schema takes.
func objectSchema(schema json.RawMessage, properties bool) json.RawMessage {
	var root map[string]json.RawMessage
	if json.Unmarshal(schema, &root) != nil || root == nil {
		root = map[string]json.RawMessage{}
		schema = json.RawMessage("{}")
	}
	var missing []byte
	if properties && root["properties"] == nil {
		missing = append(missing, `"properties":{},`...)
	}
	switch t := root["type"]; {
	case t == nil:
		missing = append([]byte(`"type":"object",`), missing...)
	case string(t) != `"object"`: // a list of types, most likely
		root["type"] = json.RawMessage(`"object"`)
		schema = encode(root)
	}
	if len(missing) == 0 {
		return schema
	}
	rest := strings.TrimLeft(string(schema), " \t\r\n")[1:]
	if len(root) == 0 {
		missing = missing[:len(missing)-1]
	}
	return slices.Concat(json.RawMessage("{"), missing, json.RawMessage(rest))
}

// Answer makes a model's call: exec and wait if code mode is active, else the tool
// of that name. Whatever is wrong with the call is an answer for the model. The error
// is for a broken or closed host, or a ctx that ended.
func (r *Run) Answer(ctx context.Context, call api.ModelCall) (*api.ModelAnswer, error) {
	if len(call.Arguments) == 0 {
		call.Arguments = json.RawMessage("{}")
	}
	if r.Active() {
		return answerControl(ctx, r, call)
	}
	surface := r.Surface()
	i := slices.IndexFunc(surface, func(d api.ToolDefinition) bool { return d.Name == call.Name })
	if i < 0 {
		return noSuchTool(call.Name), nil
	}
	res, err := r.CallTool(ctx, api.CallInput{ID: surface[i].ID, Input: call.Arguments, CallID: call.ID})
	var te *api.ToolError
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &te):
		return failedCall(te), nil
	case err != nil:
		return nil, err
	}
	return &api.ModelAnswer{JSON: res.Value, Attachments: res.Attachments}, nil
}

func answerControl(ctx context.Context, r *Run, call api.ModelCall) (*api.ModelAnswer, error) {
	var res *api.Result
	var err error
	switch call.Name {
	case "exec":
		var in api.ExecInput
		if in, res = r.ParseExec(call.Arguments); res == nil {
			in.CallID = call.ID
			res, err = r.Exec(ctx, in)
		}
	case "wait":
		var in api.WaitInput
		if in, res = r.ParseWait(call.Arguments); res == nil {
			in.CallID = call.ID
			res, err = r.Wait(ctx, in)
		}
	default:
		return noSuchTool(call.Name), nil
	}
	if err != nil {
		return nil, err
	}
	text, err := plainjson.Encode(res)
	if err != nil {
		return nil, err
	}
	return &api.ModelAnswer{JSON: text, IsError: res.Status == guestabi.StatusFailed, Attachments: res.Attachments}, nil
}

func noSuchTool(name string) *api.ModelAnswer {
	return failedCall(&api.ToolError{Message: "there is no tool named " + plaintext.Clip(name, 200), Code: "unknown_tool"})
}

func failedCall(te *api.ToolError) *api.ModelAnswer {
	type failure struct {
		Name    string `json:"name"`
		Message string `json:"message"`
		Code    string `json:"code,omitempty"`
	}
	name := te.Name
	if name == "" {
		name = "Error"
	}
	return &api.ModelAnswer{JSON: encode(map[string]failure{"error": {name, te.Message, string(te.Code)}}), IsError: true}
}
