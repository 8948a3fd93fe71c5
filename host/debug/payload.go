package debug

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/internal/schema"
)

// maxCapture is how much of a payload is kept to look at.
const maxCapture = 8 << 20

// capture keeps the first bytes of a payload.
type capture struct {
	data  []byte
	total int64
}

func (c *capture) write(p []byte) {
	c.total += int64(len(p))
	if room := maxCapture - len(c.data); room > 0 {
		c.data = append(c.data, p[:min(room, len(p))]...)
	}
}

// whole says whether nothing is missing.
func (c *capture) whole() bool { return c.total == int64(len(c.data)) }

// payload gives what is logged of a payload, as attributes.
func (d *Debug) payload(c *capture) []any {
	switch d.on.Payload {
	case PayloadFullRedacted:
		return []any{"payload", d.redactor.JSON(c.data, d.maxPayload)}
	case PayloadTools:
		return d.shape(c)
	}
	return nil
}

// shape says what a payload is made of.
func (d *Debug) shape(c *capture) []any {
	if !c.whole() {
		return []any{"shape", "larger than what is looked at"}
	}
	v, err := schema.Decode(c.data)
	obj, ok := v.(map[string]any)
	if err != nil || !ok {
		return []any{"shape", "no JSON object"}
	}
	for _, inner := range []string{"params", "result"} { // a message of JSON-RPC
		if o, ok := obj[inner].(map[string]any); ok && obj["jsonrpc"] != nil {
			obj = o
		}
	}
	var members, names []string
	for k := range obj {
		members = append(members, d.text(k))
	}
	slices.Sort(members)
	for _, key := range []string{"tools", "functions"} {
		names = append(names, d.toolNames(obj[key], 0)...)
	}
	attrs := []any{"members", clipList(members), "tools", clipList(names), "toolCount", len(names)}
	for _, key := range []string{"model", "stream"} {
		switch v := obj[key].(type) {
		case string:
			attrs = append(attrs, key, d.text(v))
		case bool:
			attrs = append(attrs, key, v)
		}
	}
	for _, key := range []string{"messages", "input", "contents"} {
		if list, ok := obj[key].([]any); ok {
			attrs = append(attrs, slog.Int(key, len(list)))
		}
	}
	return attrs
}

// maxListed bounds the names that are logged of one payload.
const maxListed = 200

func clipList(list []string) []string {
	if len(list) > maxListed {
		return append(list[:maxListed:maxListed], "…")
	}
	return list
}

// toolNames gives the names in a provider's list of tools: as they are, or in the
// member that their type names, or in Gemini's groups. A tool of the provider
// itself is its type.
func (d *Debug) toolNames(v any, depth int) []string {
	list, ok := v.([]any)
	if !ok || depth > 1 {
		return nil
	}
	var names []string
	for _, item := range list {
		obj, ok := item.(map[string]any)
		if !ok {
			names = append(names, "(no object)")
			continue
		}
		grouped := false
		for _, key := range []string{"functionDeclarations", "function_declarations"} {
			if inner, ok := obj[key].([]any); ok {
				names, grouped = append(names, d.toolNames(inner, depth+1)...), true
			}
		}
		if grouped {
			continue
		}
		names = append(names, d.toolName(obj))
	}
	return names
}

func (d *Debug) toolName(obj map[string]any) string {
	kind, _ := obj["type"].(string)
	if inner, ok := obj[kind].(map[string]any); ok && kind != "" { // OpenAI chat
		obj = inner
	}
	name, _ := obj["name"].(string)
	switch {
	case name == "" && kind == "":
		return "(no name)"
	case name == "":
		return d.text("(" + kind + ")")
	case kind == "" || kind == "function" || kind == "custom" || strings.EqualFold(kind, name):
		return d.text(name)
	}
	return d.text(name + " (" + kind + ")")
}
