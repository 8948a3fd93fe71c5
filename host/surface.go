package host

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// The schemas of the two control tools. They are flat, since some providers
// refuse unions.
var (
	execParameters = json.RawMessage(`{"type":"object","properties":{"code":{"type":"string","description":"The program: the body of an async function."},"language":{"type":"string","enum":["javascript","typescript"],"description":"The language of the program. Default javascript."}},"required":["code"],"additionalProperties":false}`)
	waitParameters = json.RawMessage(`{"type":"object","properties":{"runId":{"type":"string","description":"The runId of a waiting result."},"timeoutMs":{"type":"integer","minimum":100,"description":"How long to wait at most, in milliseconds."}},"required":["runId"],"additionalProperties":false}`)
)

const waitDescription = `Continue a program that exec or wait left with status "waiting". Give its runId. The call waits until the program ends or its time is up, and gives the same kind of result as exec. Output is that of the whole run so far.`

// Surface is what the model sees of this run: exactly exec and wait if code mode
// is active, else every tool of the catalog.
func (r *Run) Surface() []api.ToolDefinition {
	if r.Active() {
		return []api.ToolDefinition{
			{Name: "exec", Description: r.view.Description(), Parameters: execParameters},
			{Name: "wait", Description: waitDescription, Parameters: waitParameters},
		}
	}
	return slices.Clone(r.view.Direct())
}

// EnforceSurface checks the final payload of a model request and fails closed: it
// gives ErrSurface unless the payload's tools are exactly exec and wait, each
// once. It understands OpenAI chat completions and responses, Anthropic messages,
// Gemini generateContent and the result of MCP tools/list. For a run without code
// mode it checks nothing.
func (r *Run) EnforceSurface(payload []byte) error {
	if !r.Active() {
		return nil
	}
	v, err := schema.Decode(payload)
	if err != nil {
		return fmt.Errorf("%w: the payload cannot be read: %w", api.ErrSurface, err)
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%w: the payload is no object", api.ErrSurface)
	}
	if res, ok := obj["result"].(map[string]any); ok && len(otherKeys(obj, "jsonrpc", "id", "result")) == 0 {
		obj = res // a JSON-RPC response to tools/list
	}
	if err := noOtherTools(obj); err != nil {
		return err
	}
	names, err := toolNames(obj["tools"], true)
	if err != nil {
		return err
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"exec", "wait"}) {
		return fmt.Errorf("%w: the payload shows %s", api.ErrSurface, plaintext.Clip(strings.Join(names, ", "), 300))
	}
	return nil
}

// elsewhere lists members of a payload by which a model gets tools that its array
// of tools does not show: OpenAI's functions and searching models, Anthropic's MCP
// connector, OpenRouter's plugins, Gemini's cached contents, SDKs' extra bodies,
// further pages of an MCP list. Case and underscores are left out, since readers
// differ in them.
var elsewhere = []string{"functions", "mcpservers", "websearchoptions", "plugins", "cachedcontent", "extrabody", "nextcursor"}

func foldKey(key string) string { return strings.ToLower(strings.ReplaceAll(key, "_", "")) }

// noOtherTools refuses payloads that bring tools by another way than the array.
func noOtherTools(obj map[string]any) error {
	for key, v := range obj {
		folded := foldKey(key)
		inner, ok := v.(map[string]any)
		switch {
		case v == nil:
		case slices.Contains(elsewhere, folded), folded == "tools" && key != "tools", folded == "result":
			return fmt.Errorf("%w: the payload has %q", api.ErrSurface, plaintext.Clip(key, 100))
		case !ok || key == "tool_choice": // a choice among tools only narrows
		case folded == "prompt": // OpenAI's stored prompts may hold tools
			return fmt.Errorf("%w: the payload refers to a stored prompt", api.ErrSurface)
		}
		for k := range inner {
			if f := foldKey(k); key != "tool_choice" && (f == "tools" || f == "functions" || f == "functiondeclarations") {
				return fmt.Errorf("%w: the payload has tools inside %q", api.ErrSurface, plaintext.Clip(key, 100))
			}
		}
	}
	return nil
}

// toolMembers are the members of one tool in the known payloads. A tool with any
// other is refused: it might be more than its name says.
var toolMembers = []string{
	"type", "name", "title", "description", "parameters", "parametersJsonSchema", "parameters_json_schema", "strict", "format", // OpenAI, Gemini
	"response", "responseJsonSchema", "response_json_schema", "behavior", // Gemini
	"input_schema", "cache_control", "input_examples", "defer_loading", "allowed_callers", "eager_input_streaming", // Anthropic
	"inputSchema", "outputSchema", "annotations", "icons", "execution", "_meta", // MCP
}

// toolNames lists the names in a provider's tools array. Groups are Gemini's, and
// do not hold groups.
func toolNames(v any, groups bool) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%w: the payload has no array of tools", api.ErrSurface)
	}
	var names []string
	for _, item := range list {
		obj, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%w: a tool is no object", api.ErrSurface)
		}
		if decls := firstOf(obj, "functionDeclarations", "function_declarations"); decls != nil && groups && len(obj) == 1 { // Gemini
			inner, err := toolNames(decls, false)
			if err != nil {
				return nil, err
			}
			names = append(names, inner...)
			continue
		}
		name, err := toolName(obj)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

func toolName(obj map[string]any) (string, error) {
	if t, has := obj["type"]; has && t != "function" && t != "custom" {
		return "", fmt.Errorf("%w: the payload has a provider tool of type %s", api.ErrSurface, plaintext.Clip(fmt.Sprintf("%q", t), 100))
	}
	if t, ok := obj["type"].(string); ok && len(obj) == 2 {
		if inner, ok := obj[t].(map[string]any); ok { // OpenAI chat
			obj = inner
		}
	}
	if keys := otherKeys(obj, toolMembers...); len(keys) > 0 {
		return "", fmt.Errorf("%w: a tool has the unknown member %q", api.ErrSurface, plaintext.Clip(keys[0], 100))
	}
	name, ok := obj["name"].(string)
	if !ok {
		return "", fmt.Errorf("%w: a tool has no name", api.ErrSurface)
	}
	return name, nil
}

// otherKeys lists the members of obj that are not among keys, in order.
func otherKeys(obj map[string]any, keys ...string) []string {
	var out []string
	for k := range obj {
		if !slices.Contains(keys, k) {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

func firstOf(obj map[string]any, keys ...string) any {
	for _, k := range keys {
		if obj[k] != nil {
			return obj[k]
		}
	}
	return nil
}

// ParseExec reads the arguments of an exec call as the model gave them. What does
// not fit is a failed result for the model, like any other bad input.
func (r *Run) ParseExec(arguments []byte) (api.ExecInput, *api.Result) {
	var in api.ExecInput
	if err := schema.DecodeInto(arguments, &in, nil); err != nil {
		return in, r.programs.BadArguments("exec", `{"code": "the program", "language"?: "javascript" or "typescript"}`, err)
	}
	return in, nil
}

// ParseWait reads the arguments of a wait call.
func (r *Run) ParseWait(arguments []byte) (api.WaitInput, *api.Result) {
	var in api.WaitInput
	if err := schema.DecodeInto(arguments, &in, nil); err != nil {
		return in, r.programs.BadArguments("wait", `{"runId": "that of a waiting result", "timeoutMs"?: milliseconds}`, err)
	}
	return in, nil
}
