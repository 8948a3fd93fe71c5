package gateway

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/yosida95/uritemplate/v3"

	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// Bounds on what servers list.
const (
	maxListed        = 10_000   // items of one kind, of all servers together
	maxListedItem    = 16 << 10 // bytes of one, as its server wrote it
	maxListedBytes   = 8 << 20  // of all items of one kind
	maxURI           = 4 << 10  // bytes
	maxTemplate      = 256      // bytes
	maxTemplates     = 1000     // of all servers together
	maxPromptName    = 256      // bytes
	maxPromptArgs    = 100
	maxListedName    = 200  // characters, of names and titles that are shown only
	maxListedText    = 4000 // characters, of a description
	maxMatched       = 32   // templates that one URI is compared with
	maxListedMessage = 1000 // characters of a failure's text
)

// listedItem are the members of a resource, a template or a prompt that are handed
// on. Icons and _meta are not: they address the programs of a server's own clients.
type listedItem struct {
	URI         string            `json:"uri"`
	URITemplate string            `json:"uriTemplate"`
	Name        string            `json:"name"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	MIMEType    string            `json:"mimeType"`
	Size        json.RawMessage   `json:"size"`
	Annotations json.RawMessage   `json:"annotations"`
	Arguments   []json.RawMessage `json:"arguments"`
}

// readItem reads an item that a server listed. Its text is strict JSON already.
func readItem(raw json.RawMessage) (*listedItem, bool) {
	var it listedItem
	if len(raw) > maxListedItem || schema.DecodeInto(raw, &it, &schema.DecodeOptions{Checked: true, AllowUnknown: true}) != nil {
		return nil, false
	}
	it.Name, it.Title = listedName(it.Name), listedName(it.Title)
	it.Description, it.MIMEType = listedText(it.Description), listedName(it.MIMEType)
	return &it, true
}

func resourceOf(raw json.RawMessage) (*mcp.Resource, bool) {
	it, ok := readItem(raw)
	if !ok || !usableURI(it.URI) {
		return nil, false
	}
	r := &mcp.Resource{URI: it.URI, Name: it.Name, Title: it.Title, Description: it.Description, MIMEType: it.MIMEType, Annotations: annotationsOf(it.Annotations)}
	var size int64
	if json.Unmarshal(it.Size, &size) == nil && size > 0 {
		r.Size = size
	}
	return r, true
}

func templateOf(raw json.RawMessage) (*mcp.ResourceTemplate, bool) {
	it, ok := readItem(raw)
	if !ok || !usableTemplate(it.URITemplate) {
		return nil, false
	}
	return &mcp.ResourceTemplate{
		URITemplate: it.URITemplate, Name: it.Name, Title: it.Title, Description: it.Description, MIMEType: it.MIMEType, Annotations: annotationsOf(it.Annotations),
	}, true
}

// promptOf reads a prompt. The names of it and its arguments are what it is called
// by: one that would have to be cleaned is not taken.
func promptOf(raw json.RawMessage) (*mcp.Prompt, bool) {
	it, ok := readItem(raw)
	var name struct {
		Name string `json:"name"`
	}
	if !ok || json.Unmarshal(raw, &name) != nil || name.Name == "" || len(name.Name) > maxPromptName || !plaintext.Plain(name.Name) || len(it.Arguments) > maxPromptArgs {
		return nil, false
	}
	p := &mcp.Prompt{Name: name.Name, Title: it.Title, Description: it.Description}
	for _, raw := range it.Arguments {
		var a struct {
			Name        string `json:"name"`
			Title       string `json:"title"`
			Description string `json:"description"`
			Required    bool   `json:"required"`
		}
		if schema.DecodeInto(raw, &a, &schema.DecodeOptions{Checked: true, AllowUnknown: true}) != nil || a.Name == "" || len(a.Name) > maxListedName || !plaintext.Plain(a.Name) {
			return nil, false
		}
		p.Arguments = append(p.Arguments, &mcp.PromptArgument{
			Name: a.Name, Title: listedName(a.Title), Description: listedText(a.Description), Required: a.Required,
		})
	}
	return p, true
}

// annotationsOf reads annotations; nil if they are none of the protocol's.
func annotationsOf(raw json.RawMessage) *mcp.Annotations {
	var a struct {
		Audience     []string `json:"audience"`
		LastModified string   `json:"lastModified"`
		Priority     float64  `json:"priority"`
	}
	if raw == nil || bytes.Equal(raw, []byte("null")) || schema.DecodeInto(raw, &a, &schema.DecodeOptions{Checked: true, AllowUnknown: true}) != nil {
		return nil
	}
	out := &mcp.Annotations{LastModified: plaintext.Line(a.LastModified, 40)}
	for _, role := range a.Audience {
		if (role == "user" || role == "assistant") && len(out.Audience) < 2 {
			out.Audience = append(out.Audience, mcp.Role(role))
		}
	}
	if a.Priority >= 0 && a.Priority <= 1 {
		out.Priority = a.Priority
	}
	return out
}

// listedName is a name or a title that a client shows.
func listedName(s string) string {
	return plaintext.Characters(plaintext.Prompt(s, plaintext.Whole), maxListedName)
}

// listedText is a description that a client shows, or a model reads.
func listedText(s string) string {
	return plaintext.Characters(plaintext.PromptLines(s, plaintext.Whole), maxListedText)
}

// usableURI says whether a text can be the URI of a resource: absolute, and nothing in
// it that cannot be seen.
func usableURI(uri string) bool {
	if uri == "" || len(uri) > maxURI || !plaintext.Plain(uri) {
		return false
	}
	u, err := url.Parse(uri)
	return err == nil && u.Scheme != ""
}

// usableTemplate says whether a text is a URI template (RFC 6570) that has at least
// its scheme written out: one that has not would take the URIs of all other servers.
func usableTemplate(text string) bool {
	if len(text) > maxTemplate || !plaintext.Plain(text) {
		return false
	}
	scheme, _, ok := strings.Cut(literal(text), ":")
	if !ok || scheme == "" || strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz0123456789+-.") != "" {
		return false
	}
	_, err := uritemplate.New(text)
	return err == nil
}

// literal is what a template begins with before its first expression.
func literal(template string) string {
	before, _, _ := strings.Cut(template, "{")
	return before
}

// matchesTemplate says whether a URI is one of a template. Expressions are compiled
// for the one comparison, since what hostile servers write would add up if kept.
func matchesTemplate(template, uri string) (matches bool) {
	defer func() {
		if recover() != nil { // the library's regular expression did not compile
			matches = false
		}
	}()
	t, err := uritemplate.New(template)
	return err == nil && t.Regexp().MatchString(uri)
}
