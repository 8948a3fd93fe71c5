package plugins

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

//go:embed schema/cloister.plugin.v1.schema.json
var manifestSchemaJSON []byte

// ManifestSchema is the JSON Schema (2020-12) of cloister.plugin.json. It holds all rules that JSON Schema can express;
// [ParseManifest] has the others. The bytes are a copy.
func ManifestSchema() []byte { return slices.Clone(manifestSchemaJSON) }

var manifestSchema = sync.OnceValues(func() (*schema.Schema, error) { return schema.Compile(manifestSchemaJSON) })

// ParseManifest reads and checks a manifest. Mistakes are a [*ManifestError] with all of them.
func ParseManifest(data []byte) (*Manifest, error) {
	return parseManifest(data, manifestSchema, checker{})
}

func parseManifest(data []byte, shape func() (*schema.Schema, error), c checker) (*Manifest, error) {
	if len(data) > MaxManifestBytes {
		return nil, &ManifestError{Problems: []Problem{{Message: fmt.Sprintf("%d bytes are more than %d", len(data), MaxManifestBytes)}}}
	}
	v, err := schema.Decode(data)
	if err != nil {
		return nil, syntaxMistake(err)
	}
	if err := c.structure(v, shape); err != nil {
		return nil, err
	}
	c.meaning(v)
	if len(c.problems) > 0 {
		return nil, c.mistakes()
	}
	var m Manifest
	if err := schema.DecodeInto(data, &m, nil); err != nil {
		return nil, syntaxMistake(err)
	}
	m.Permissions.bindSecrets()
	return &m, nil
}

func syntaxMistake(err error) error {
	p := Problem{Message: err.Error(), Suggestion: "mend the JSON; other mistakes show after that"}
	var de *schema.DecodeError
	if errors.As(err, &de) {
		p.Path, p.Message = de.Path, de.Detail
		if de.Offset >= 0 {
			p.Message += " (byte " + strconv.FormatInt(de.Offset, 10) + ")"
		}
	}
	return &ManifestError{Problems: []Problem{p}}
}

// checker collects mistakes.
type checker struct {
	problems []Problem
	source   bool // tools may be missing, or parts of them
}

func (c *checker) add(path, suggestion, format string, args ...any) {
	c.problems = append(c.problems, Problem{Path: path, Message: fmt.Sprintf(format, args...), Suggestion: suggestion})
}

func (c *checker) mistakes() error {
	slices.SortStableFunc(c.problems, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
	e := &ManifestError{Problems: c.problems}
	if len(e.Problems) > MaxProblems {
		e.Problems, e.More = e.Problems[:MaxProblems], true
	}
	return e
}

// structure checks against the published schema.
func (c *checker) structure(v any, shape func() (*schema.Schema, error)) error {
	s, err := shape()
	if err != nil {
		return fmt.Errorf("the embedded schema of manifests: %w", err)
	}
	err = s.ValidateAll(v, MaxProblems)
	var ve *schema.ValidationError
	switch {
	case err == nil:
	case errors.As(err, &ve):
		for _, p := range ve.Problems {
			message, suggestion := p.Message, suggestions[place(p)]
			if p.Keyword == "pattern" && suggestion != "" {
				message = "has the wrong form"
			}
			c.add(p.Path, suggestion, "%s", message)
		}
	default:
		c.add("", "make it smaller", "%v", err)
	}
	return nil
}

// place turns a path into a key of suggestions: indexes become *.
func place(p schema.Problem) string {
	parts := strings.Split(p.Path, "/")
	for i, part := range parts {
		if _, err := strconv.Atoi(part); err == nil {
			parts[i] = "*"
		}
	}
	at := strings.Join(parts, "/")
	if p.Keyword == "required" {
		for name, hint := range map[string]string{"abi": "abi", "tools": "tools", "parameters": "parameters"} {
			if strings.Contains(p.Message, strconv.Quote(name)) {
				return at + " " + hint
			}
		}
		return at + " required"
	}
	return at
}

var suggestions = map[string]string{
	" abi":                            `add "abi": "` + ManifestABI + `"`,
	" tools":                          `add "tools": [ … ] with one tool at least`,
	"/tools/* parameters":             `a tool without input has "parameters": {"type": "object"}`,
	"/abi":                            `write "` + ManifestABI + `"; a newer one needs a newer Cloister`,
	"/id":                             `write publisher.name in lower-case letters, digits and single hyphens, for example "acme.hello"`,
	"/version":                        `write a semantic version such as "1.0.0", without a leading v`,
	"/homepage":                       "write an address that starts with https://",
	"/tools":                          "a plugin has 1 to 128 tools; split larger ones",
	"/tools/*/name":                   `start with a letter and go on with letters, digits, _ or -, for example "csv_query"`,
	"/tools/*/parameters":             `write a JSON Schema, for example {"type": "object", "properties": { … }}`,
	"/tools/*/approval":               `write "never", "ask" or "always", or leave it to the host`,
	"/tools/*/export":                 "write the name of a WebAssembly export, or leave it out to be called through " + CallExport,
	"/tools/*/timeoutMs":              "write whole milliseconds from 1 to 600000",
	"/permissions/timeoutMs":          "write whole milliseconds from 1 to 600000",
	"/permissions/memoryBytes":        "write bytes from 1048576 (1 MiB) to 1073741824 (1 GiB)",
	"/tools/*/examples/*/input":       "write the input as an object",
	"/tools/*/description":            "say what the tool does and gives back: models choose by it",
	"/description":                    "say in a sentence what the plugin is for",
	"/tools/*/examples/* required":    `an example has "input", and "output" if you like`,
	"/permissions/hosts/* required":   `write "host": a name such as "api.example.com"`,
	"/permissions/config/*":           `start with a letter and go on with letters, digits, _, . or -, for example "api.region"`,
	"/permissions/secrets/*":          `write {"name": "github-token", "hosts": ["api.github.com"]}`,
	"/permissions/secrets/* required": `write {"name": "github-token", "hosts": ["api.github.com"]}`,
	"/permissions/secrets/*/name":     `start with a letter and go on with letters, digits, _, . or -, for example "github-token"`,
	"/permissions/secrets/*/hosts":    `name the hosts that it may be sent to, entries of permissions.hosts or below them`,
	"/permissions/tools/*":            `write a catalog id such as "cloister:acme.hello:greet", or the name of one of the host's own tools`,
	"/namespaces":                     "a plugin has at most 32 namespaces",
	"/namespaces/*/id":                `write lower-case letters, digits and single hyphens, for example "github-issues"`,
	"/namespaces/* required":          `a namespace has "id", "globalName", "description", "requiredToolNames", and "scope" or "scopeExport"`,
	"/namespaces/*/description":       "say in a sentence what it is for: models read it",
	"/namespaces/*/requiredToolNames": "name the tools that its members call",
	"/namespaces/*/scope":             `write an object such as {"list": {"$tool": "list_issues"}}`,
	"/certification required":         `write "report": "sha256:…", the digest of the conformance report`,
	"/certification/report":           `write "sha256:" and 64 hexadecimal digits in lower case`,
	"/certification/url":              "write an address that starts with https://",
}

// meaning checks what JSON Schema cannot, on whatever has the right shape, so that an author sees all mistakes at once.
func (c *checker) meaning(v any) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	c.text("/description", m["description"])
	c.text("/license", m["license"])
	c.address("/homepage", m["homepage"])
	if cert, ok := m["certification"].(map[string]any); ok {
		c.address("/certification/url", cert["url"])
	}
	c.permissions(m)
	c.namespaces(m)
	tools, _ := m["tools"].([]any)
	seen := map[string]int{}
	for i, t := range tools {
		if len(c.problems) > MaxProblems {
			return // compiling schemas costs, and nobody reads on
		}
		if t, ok := t.(map[string]any); ok {
			c.tool("/tools/"+strconv.Itoa(i), i, t, seen)
		}
	}
}

// address checks what the pattern of an https address leaves open.
func (c *checker) address(path string, v any) {
	s, _ := v.(string)
	if !strings.HasPrefix(s, "https://") {
		return
	}
	if u, err := url.Parse(s); err != nil || u.Host == "" || u.User != nil {
		c.add(path, suggestions[path], "is not an address without credentials")
	}
	c.text(path, v)
}

// controlTools are the names that the host's own surface uses, and names that would change what a JavaScript object is.
var controlTools = []string{"exec", "wait", "tool_search_code", "tool_search", "tool_describe", "tool_call",
	"then", "constructor", "prototype", "tostring", "valueof", "tojson", "hasownproperty"}

func (c *checker) tool(path string, index int, t map[string]any, seen map[string]int) {
	name, _ := t["name"].(string)
	if folded := strings.ToLower(name); name != "" {
		if first, dup := seen[folded]; dup {
			c.add(path+"/name", "give each tool a name of its own", "%q is also the name of tool %d (case does not count)", plaintext.Line(name, 80), first)
		} else {
			seen[folded] = index
		}
		if slices.Contains(controlTools, folded) {
			c.add(path+"/name", "choose another name, for example with a prefix", "%q is reserved", plaintext.Line(name, 80))
		}
	}
	c.text(path+"/label", t["label"])
	c.text(path+"/description", t["description"])
	if a, ok := t["annotations"].(map[string]any); ok && a["readOnly"] == true && a["destructive"] == true {
		c.add(path+"/annotations", "claim one of them", "readOnly and destructive contradict each other")
	}
	switch name, _ := t["export"].(string); name {
	case "_start", "_initialize", "__wasm_call_ctors", "hs_init", "memory":
		c.add(path+"/export", "name the function of the tool", "%q is for the runtime, not for calls", name)
	}
	params := c.schema(path+"/parameters", t["parameters"])
	if p, ok := t["parameters"].(map[string]any); ok && p["type"] != "object" {
		c.add(path+"/parameters", `write "type": "object" in it: a tool takes named values`, "does not say that the input is an object")
		params = nil
	}
	c.examples(path+"/examples", t["examples"], params, c.schema(path+"/returns", t["returns"]))
}

// schema compiles a tool's schema, nil if there is none or it is wrong.
func (c *checker) schema(path string, v any) *schema.Schema {
	m, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	raw, err := json.Marshal(m)
	if err != nil {
		c.add(path, "", "cannot be written as JSON")
		return nil
	}
	s, err := schema.Compile(raw)
	var ce *schema.CompileError
	switch {
	case err == nil:
		return s
	case errors.As(err, &ce):
		c.add(path+ce.Path, "", "%v: %s", ce.Kind, ce.Detail)
	default:
		c.add(path, "", "%v", err)
	}
	return nil
}

func (c *checker) examples(path string, v any, params, returns *schema.Schema) {
	list, _ := v.([]any)
	for i, e := range list {
		at := path + "/" + strconv.Itoa(i)
		e, ok := e.(map[string]any)
		if !ok {
			continue
		}
		c.text(at+"/description", e["description"])
		if input, ok := e["input"].(map[string]any); ok && params != nil {
			c.example(at+"/input", "the tool's parameters", params, input)
		}
		if output, ok := e["output"]; ok && returns != nil {
			c.example(at+"/output", "the tool's returns", returns, output)
		}
	}
}

func (c *checker) example(path, what string, s *schema.Schema, v any) {
	err := s.Validate(v)
	var ve *schema.ValidationError
	switch {
	case err == nil:
	case errors.As(err, &ve):
		for _, p := range ve.Problems {
			c.add(path+p.Path, "", "does not match %s: %s", what, p.Message)
		}
	default:
		c.add(path, "", "does not match %s: %v", what, err)
	}
}

// text refuses characters that make a text look like another one, on a terminal or in a prompt.
func (c *checker) text(path string, v any) {
	s, _ := v.(string)
	if r, found := plaintext.FirstDangerous(s); found {
		what := "the invisible character"
		if !plaintext.Dangerous(r) {
			what = "a combining mark with nothing to stand on, or one too many:"
		}
		c.add(path, "remove it", "holds %s U+%04X", what, r)
		return
	}
	if s != "" && strings.TrimSpace(s) == "" {
		c.add(path, "write something, or leave it out", "is blank")
	}
}
