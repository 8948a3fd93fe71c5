package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/schema"
)

func TestNativeFailingServersAreLeftOut(t *testing.T) {
	alpha, beta := twoLibraries()
	gamma := &library{name: "aaa", err: errors.New("down")}
	broken := &library{name: "aab", resources: `{"resources":{}}`, prompts: `[]`}
	huge := &library{name: "aac", resources: `{"resources":["` + strings.Repeat("x", 5<<20) + `"]}`, prompts: `{"prompts":[1,null,{"name":7},{}]}`}
	r := newLibraryRig(t, Options{}, host.Options{}, alpha.server(), beta.server(), gamma.server(), broken.server(), huge.server())
	cs := dial(t, transports["memory"](t, r), oldProtocol, nil)
	list, err := cs.ListResources(t.Context(), nil)
	if err != nil || len(list.Resources) != 3 {
		t.Errorf("%v %v", list, err)
	}
	prompts, err := cs.ListPrompts(t.Context(), nil)
	if err != nil || len(prompts.Prompts) != 3 {
		t.Errorf("%v %v", prompts, err)
	}
	if _, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "doc:b"}); err != nil {
		t.Error(err)
	}
}

// TestNativeStuckServer has a server that heeds no context: the end of a request does
// not wait for it.
func TestNativeStuckServer(t *testing.T) {
	alpha, beta := twoLibraries()
	beta.stuck = make(chan struct{})
	r := newLibraryRig(t, Options{}, host.Options{}, alpha.server(), beta.server())
	cs := dial(t, transports["memory"](t, r), oldProtocol, nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := cs.ListResources(ctx, nil)
		done <- err
	}()
	eventually(t, "alpha is listed", func() bool { return alpha.listed() > 0 })
	cancel()
	if err := <-done; err == nil {
		t.Error("a list without its end")
	}
	eventually(t, "no request is open", func() bool { return r.Sessions()[0].Requests == 0 })
	close(beta.stuck)
}

func TestNativeManyItems(t *testing.T) {
	many := func(n int, item string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, item, i)
		}
		return b.String()
	}
	greedy := &library{
		name:      "aa",
		resources: `{"resources":[` + many(100_000, `{"uri":"x:%d"}`) + `],"resourceTemplates":[` + many(20_000, `{"uriTemplate":"t:%d{+a}"}`) + `]}`,
		prompts:   `{"prompts":[` + many(100_000, `{"name":"p%d"}`) + `]}`,
	}
	_, beta := twoLibraries()
	r := newLibraryRig(t, Options{}, host.Options{}, greedy.server(), beta.server())
	cs := dial(t, transports["memory"](t, r), oldProtocol, nil)
	seen, pages := map[string]bool{}, 0
	for res, err := range cs.Resources(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		seen[res.URI] = true
		pages++
	}
	if len(seen) != maxListed/2+2 || pages != len(seen) || !seen["doc:b"] {
		t.Errorf("%d resources", len(seen))
	}
	if n := greedy.listed(); n != 1 {
		t.Errorf("the server was listed %d times for the pages of one list", n)
	}
	n := 0
	for _, err := range cs.ResourceTemplates(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != maxTemplates/2+2 {
		t.Errorf("%d templates", n)
	}
	n = 0
	for _, err := range cs.Prompts(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != maxListed/2+1 {
		t.Errorf("%d prompts", n)
	}
	if _, err := cs.ListResources(t.Context(), &mcp.ListResourcesParams{Cursor: "nonsense"}); err == nil {
		t.Error("a cursor of nobody was taken")
	}
}

func TestNativeItemsThatAreLeftOut(t *testing.T) {
	for name, text := range map[string]string{
		"relative":          `{"uri":"/etc/passwd"}`,
		"no uri":            `{"name":"x"}`,
		"number":            `{"uri":7}`,
		"other case":        `{"URI":"x:1"}`,
		"control character": `{"uri":"x:1\u0007"}`,
		"reordered":         `{"uri":"x:\u202e1"}`,
		"hidden":            `{"uri":"x:\u200b1"}`,
		"no percent code":   `{"uri":"x://%zz/"}`,
		"long":              `{"uri":"x:` + strings.Repeat("a", maxURI) + `"}`,
		"padded":            `{"uri":"x:1","padding":"` + strings.Repeat("a", maxListedItem) + `"}`,
		"null":              `null`,
		"array":             `[]`,
	} {
		if r, ok := resourceOf(json.RawMessage(text)); ok {
			t.Errorf("%s: %+v", name, r)
		}
	}
	for _, text := range []string{"", "{+all}", "{scheme}:x", ":x", "x y:{a}", "x:{", "x:{a", "x:{}", "x:{a:}", "x:{!a}", "x:\u0000{a}", "x:" + strings.Repeat("{a}", 100)} {
		raw, err := json.Marshal(map[string]string{"uriTemplate": text})
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := templateOf(raw); ok {
			t.Errorf("%q: %+v", text, r)
		}
	}
	for name, text := range map[string]string{
		"no name":         `{"description":"x"}`,
		"hidden":          `{"name":"a\u200bb"}`,
		"line":            `{"name":"a\nb"}`,
		"long":            `{"name":"` + strings.Repeat("a", maxPromptName+1) + `"}`,
		"bad argument":    `{"name":"a","arguments":[{"name":"b\u001b"}]}`,
		"nameless":        `{"name":"a","arguments":[{}]}`,
		"many arguments":  `{"name":"a","arguments":[` + strings.Repeat(`{"name":"b"},`, maxPromptArgs) + `{"name":"b"}]}`,
		"arguments as is": `{"name":"a","arguments":{}}`,
	} {
		if p, ok := promptOf(json.RawMessage(text)); ok {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// TestPromptNamesCannotBeTaken has servers that list names which look like those of others, beside these and without them.
func TestPromptNamesCannotBeTaken(t *testing.T) {
	list := func(names ...string) json.RawMessage {
		var items []map[string]string
		for _, name := range names {
			items = append(items, map[string]string{"name": name})
		}
		text, err := json.Marshal(map[string]any{"prompts": items})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	all := map[string]json.RawMessage{
		"a": list("x", "b_x", "b__x", "_b__x", "x"), "b": list("x"), "a_": list("x", "_x"), "a__b": list("x"), "a.b": list("x"), "a--b": list("x"),
	}
	seen := map[string]promptSource{}
	for _, there := range [][]string{{"a"}, {"b"}, {"a", "b"}, {"b", "a", "a_", "a__b", "a.b", "a--b"}} {
		n := &native{}
		var raw []json.RawMessage
		for _, name := range there {
			n.servers = append(n.servers, nativeServer{name: name})
			raw = append(raw, all[name])
		}
		for name, from := range mergePrompts(n, raw).by {
			if other, known := seen[name]; known && (other.server.name != from.server.name || other.name != from.name) {
				t.Errorf("%s is %s of %s and %s of %s", name, other.name, other.server.name, from.name, from.server.name)
			}
			seen[name] = from
		}
	}
	if len(seen) != 10 || seen["b__x"].server == nil || seen["b__x"].server.name != "b" {
		t.Errorf("%d names: %+v", len(seen), seen)
	}
}

// TestCostlyTemplates compares one URI with templates that a hostile server made for it.
func TestCostlyTemplates(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"resourceTemplates":[`)
	for i := range maxTemplates {
		fmt.Fprintf(&b, `{"uriTemplate":"x:%s{v%d}!"},`, strings.Repeat("{+a*,b,c}", 25), i)
	}
	b.WriteString(`{"uriTemplate":"y:{a}"}]}`)
	l := mergeResources(&native{servers: []nativeServer{{name: "a"}}}, []json.RawMessage{json.RawMessage(b.String())})
	if len(l.templates) < maxMatched {
		t.Fatalf("%d templates", len(l.templates))
	}
	if s := l.ownerOf(t.Context(), "x:"+strings.Repeat("a,", 100)); s != nil {
		t.Errorf("owner %+v", s)
	}
}

// FuzzNativeItems wants that what is handed on of any item is fit to be shown.
func FuzzNativeItems(f *testing.F) {
	f.Add([]byte(`{"uri":"x:1","name":"n","title":"t","description":"d","uriTemplate":"x:{a}","annotations":{"audience":["user"],"priority":0.5}}`), "x:1")
	f.Fuzz(func(t *testing.T, raw []byte, uri string) {
		if schema.Check(raw) != nil || len(uri) > maxURI {
			return
		}
		fit := func(texts ...string) {
			for _, s := range texts {
				if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
					t.Errorf("%q is handed on of %s", s, raw)
				}
			}
		}
		if r, ok := resourceOf(raw); ok {
			fit(r.URI, r.Name, r.Title, r.Description, r.MIMEType)
		}
		if r, ok := templateOf(raw); ok {
			fit(r.URITemplate, r.Name, r.Title, r.Description)
			matchesTemplate(r.URITemplate, uri)
		}
		if p, ok := promptOf(raw); ok {
			fit(p.Name, p.Title, p.Description)
		}
	})
}
