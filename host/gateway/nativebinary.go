package gateway

import (
	"encoding/json"
	"fmt"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// contentsOf gives the contents of a resource with their binaries.
func contentsOf(items []host.MCPContent) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, 0, len(items))
	for i := range items {
		var item struct {
			Resource json.RawMessage `json:"resource"`
		}
		if err := json.Unmarshal(items[i].JSON, &item); err != nil || item.Resource == nil {
			return nil, fmt.Errorf("an item of a resource has no contents: %w", err)
		}
		if items[i].Data != nil {
			var err error
			if item.Resource, err = withBinary(item.Resource, "blob", items[i].Data); err != nil {
				return nil, err
			}
		}
		out = append(out, item.Resource)
	}
	return out, nil
}

// withBinary puts a binary where its handle, or nothing, stands for it.
func withBinary(raw json.RawMessage, member string, data []byte) (json.RawMessage, error) {
	var item map[string]json.RawMessage
	if err := json.Unmarshal(raw, &item); err != nil || item == nil {
		return nil, fmt.Errorf("a content item is no object: %w", err)
	}
	text, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("writing a binary: %w", err)
	}
	delete(item, "handle")
	delete(item, "bytes")
	item[member] = text
	return json.Marshal(item)
}

// fill reads what prompts/get gave.
func (r *promptReply) fill(res *host.CallResult) error {
	var got struct {
		Description string          `json:"description"`
		Messages    []promptMessage `json:"messages"`
	}
	if err := schema.DecodeInto(res.Value, &got, &schema.DecodeOptions{Checked: true}); err != nil {
		return fmt.Errorf("reading a prompt: %w", err)
	}
	byHandle := make(map[string]*host.Attachment, len(res.Attachments))
	for i := range res.Attachments {
		byHandle[res.Attachments[i].Handle] = &res.Attachments[i]
	}
	r.Description, r.Messages = listedText(got.Description), make([]promptMessage, len(got.Messages))
	for i, m := range got.Messages {
		content, err := resolved(m.Content, byHandle)
		if err != nil {
			return err
		}
		r.Messages[i] = promptMessage{m.Role, content}
	}
	return nil
}

// resolved gives a content item with its binary. One that was over the host's bounds
// becomes the text that says so: without its binary it is no item of the protocol.
func resolved(raw json.RawMessage, byHandle map[string]*host.Attachment) (json.RawMessage, error) {
	type place struct {
		Handle string          `json:"handle"`
		Note   string          `json:"note"`
		Blob   json.RawMessage `json:"blob"`
		Text   json.RawMessage `json:"text"`
	}
	var item struct {
		Type     string          `json:"type"`
		Data     json.RawMessage `json:"data"`
		Resource json.RawMessage `json:"resource"`
		place
	}
	if err := json.Unmarshal(raw, &item); err != nil {
		return raw, nil // what it is not to this reader has no binary of ours
	}
	at, member, target := item.place, "data", raw
	switch item.Type {
	case "image", "audio":
		if item.Data != nil {
			return raw, nil
		}
	case "resource":
		if err := json.Unmarshal(item.Resource, &at); err != nil || at.Blob != nil || at.Text != nil {
			return raw, nil
		}
		member, target = "blob", item.Resource
	default:
		return raw, nil
	}
	a := byHandle[at.Handle]
	if a == nil {
		return json.Marshal(map[string]string{"type": "text", "text": "[" + item.Type + " " + plaintext.Line(at.Note, 300) + "]"})
	}
	filled, err := withBinary(target, member, a.Data)
	if err != nil || member == "data" {
		return filled, err
	}
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(raw, &whole); err != nil {
		return nil, fmt.Errorf("a content item is no object: %w", err)
	}
	whole["resource"] = filled
	return json.Marshal(whole)
}
