package dispatch

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/limits"
)

const handlePrefix = "cloister-attachment:"

// Attachments are those of one cell. They live as long as it does.
type Attachments struct {
	budget *limits.Budget // of the host
	mu     struct {
		sync.Mutex
		items []api.Attachment
		bytes int
	}
}

// NewAttachments makes an empty set that counts in a budget.
func NewAttachments(b *limits.Budget) *Attachments { return &Attachments{budget: b} }

// Drop gives back what the host keeps of them.
func (a *Attachments) Drop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.budget.Give(a.mu.bytes)
	a.mu.items, a.mu.bytes = nil, 0
}

// add keeps a binary and says under which handle, or why not.
func (a *Attachments) add(d *Dispatcher, c *api.MCPContent) (handle, refused string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case len(a.mu.items) >= api.MaxAttachments:
		return "", fmt.Sprintf("left out: the run has %d attachments already", len(a.mu.items)), nil
	case a.mu.bytes+len(c.Data) > api.MaxAttachmentBytes:
		return "", fmt.Sprintf("left out: with its %d bytes the run's attachments would have more than %d", len(c.Data), api.MaxAttachmentBytes), nil
	case !a.budget.Take(len(c.Data)):
		return "", "left out: the host keeps too many bytes for its runs already", nil
	}
	handle, err = d.NewID(handlePrefix)
	if err != nil {
		a.budget.Give(len(c.Data))
		return "", "", err
	}
	a.mu.bytes += len(c.Data)
	a.mu.items = append(a.mu.items, api.Attachment{Handle: handle, Kind: c.Kind, MIMEType: c.MIMEType, URI: c.URI, Data: slices.Clone(c.Data)})
	return handle, "", nil
}

// named gives the attachments whose handles stand in one of the texts.
func (a *Attachments) named(texts ...[]byte) []api.Attachment {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []api.Attachment
	for _, it := range a.mu.items {
		if slices.ContainsFunc(texts, func(t []byte) bool { return bytes.Contains(t, []byte(it.Handle)) }) {
			out = append(out, it)
		}
	}
	return out
}

// OfResult gives the attachments that a result names.
func (a *Attachments) OfResult(res *api.Result) []api.Attachment {
	a.mu.Lock()
	none := len(a.mu.items) == 0
	a.mu.Unlock()
	if none {
		return nil
	}
	texts := [][]byte{res.Value}
	for _, it := range res.Output {
		texts = append(texts, it.Value, []byte(it.Text))
	}
	return a.named(texts...)
}

// contentJSON writes a content item for a guest: as the server sent it, with a
// handle in place of what is binary. placeholder is that handle, or why there is none.
func (a *Attachments) contentJSON(d *Dispatcher, c *api.MCPContent) (out json.RawMessage, placeholder string, err error) {
	if c.Data == nil {
		return c.JSON, "", nil
	}
	handle, refused, err := a.add(d, c)
	if err != nil {
		return nil, "", err
	}
	var item map[string]json.RawMessage
	if err := json.Unmarshal(c.JSON, &item); err != nil || item == nil {
		return nil, "", fmt.Errorf("a content item is no object: %w", err)
	}
	into := item
	if c.Kind == "blob" {
		into = nil // Unmarshal would merge into the item
		if err := json.Unmarshal(item["resource"], &into); err != nil || into == nil {
			return nil, "", fmt.Errorf("a resource item has no resource: %w", err)
		}
	}
	delete(into, "data")
	delete(into, "blob")
	into["bytes"] = json.RawMessage(fmt.Sprint(len(c.Data)))
	key, text := "handle", handle
	if refused != "" {
		key, text = "note", strings.ToValidUTF8(refused, "\uFFFD")
	}
	if into[key], err = json.Marshal(text); err != nil {
		return nil, "", err
	}
	if c.Kind == "blob" {
		if item["resource"], err = json.Marshal(into); err != nil {
			return nil, "", err
		}
	}
	out, err = json.Marshal(item)
	return out, text, err
}

// withoutBinaries puts into structured content, in place of each string that is the base64 of a binary of items, a placeholder
// for that binary: servers write a picture there a second time. All else stays byte for byte. It reads strings and nothing
// else, so that what is no JSON does it no harm.
func withoutBinaries(structured json.RawMessage, items []api.MCPContent, placeholders []string) json.RawMessage {
	known := map[string]string{}
	for i := range items {
		// What is shorter than what would stand for it costs little, and may be something else that looks the same.
		if n := base64.StdEncoding.EncodedLen(len(items[i].Data)); placeholders[i] == "" || n <= len(placeholders[i]) || n > len(structured) {
			continue
		}
		if text := base64.StdEncoding.EncodeToString(items[i].Data); known[text] == "" {
			known[text] = placeholders[i]
		}
	}
	if len(known) == 0 {
		return structured
	}
	var out []byte
	rest := []byte(structured)
	for {
		start := bytes.IndexByte(rest, '"')
		if start < 0 {
			return append(out, rest...)
		}
		end := stringEnd(rest, start)
		placeholder := ""
		if after := bytes.TrimLeft(rest[end:], " \t\r\n"); !bytes.HasPrefix(after, []byte(":")) { // names of members stay
			placeholder = known[base64Text(rest[start:end])]
		}
		if placeholder == "" {
			out = append(out, rest[:end]...)
		} else {
			out = strconv.AppendQuote(append(out, rest[:start]...), placeholder) // ASCII that needs no escapes
		}
		rest = rest[end:]
	}
}

// stringEnd gives the index behind a JSON string that starts at start.
func stringEnd(text []byte, start int) int {
	for i := start + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// base64Text is the value of a JSON string without the line ends that base64 may have, "" if it is none.
func base64Text(quoted []byte) string {
	if len(quoted) < 2 || !bytes.ContainsRune(quoted, '\\') {
		return string(bytes.Trim(quoted, `"`))
	}
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return ""
	}
	return strings.NewReplacer("\r", "", "\n", "").Replace(text)
}
