package mcpapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/cloister-wasm/cloister/internal/mcpapi"
	"github.com/evanw/esbuild/pkg/api"
)

// server makes a server of the given tools, with names as the host gives them.
func server(tools ...mcpapi.Tool) *mcpapi.Server {
	s := &mcpapi.Server{Name: "srv", Title: "srv", Tools: tools}
	var names []string
	for _, t := range tools {
		names = append(names, t.Original)
	}
	for i, name := range mcpapi.ToolNames(names) {
		s.Tools[i].Name = name
	}
	return s
}

// tool makes a tool with an input schema.
func tool(name, parameters string) mcpapi.Tool {
	return mcpapi.Tool{Original: name, Parameters: json.RawMessage(parameters)}
}

// body gives the lines of a tool's declaration inside its namespace.
func body(t *testing.T, s *mcpapi.Server, i int) string {
	t.Helper()
	text := mcpapi.ToolDeclaration(s, &s.Tools[i])
	text, ok := strings.CutPrefix(text, "declare namespace MCP."+s.Name+" {\n")
	text, ok2 := strings.CutSuffix(text, "}\n")
	if !ok || !ok2 {
		t.Fatalf("declaration is not in its namespace:\n%s", text)
	}
	return text
}

// parseTypeScript parses a declaration with a real parser, and wants all of it to be types.
func parseTypeScript(t *testing.T, text string) {
	t.Helper()
	out := api.Transform(text, api.TransformOptions{Loader: api.LoaderTS, LogLevel: api.LogLevelSilent})
	if len(out.Errors) > 0 {
		e := out.Errors[0]
		t.Fatalf("is no TypeScript: %s at line %d: %s\nin %s", e.Text, e.Location.Line, clip(e.Location.LineText), text[:min(len(text), 4000)])
	}
	if code := strings.TrimSpace(string(out.Code)); code != "" {
		t.Fatalf("is not only types, it runs: %s", clip(code))
	}
}

func clip(s string) string { return s[:min(len(s), 300)] }

// checkShape reports what makes a declaration other than one namespace (and shared types) with functions and comments. It reads the text by itself:
// strings, the two kinds of comments, brackets.
func checkShape(text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("is not valid UTF-8")
	}
	code, err := withoutComments(text)
	if err != nil {
		return err
	}
	var open []byte
	pairs := map[byte]byte{')': '(', ']': '[', '}': '{'}
	names, statement := 0, 0
	for i := range len(code) {
		switch c := code[i]; c {
		case '(', '[', '{':
			open = append(open, c)
		case ')', ']', '}':
			if len(open) == 0 || open[len(open)-1] != pairs[c] {
				return fmt.Errorf("has a bracket %q too many at %s", c, clip(code[i:]))
			}
			if open = open[:len(open)-1]; len(open) == 0 && c == '}' {
				names++
			}
		case ';':
			if len(open) == 0 {
				return fmt.Errorf("has a statement outside of the namespace: %s", clip(code[:i]))
			}
		}
		if c := code[i]; len(open) == 1 && (c == ';' || c == '{' || c == '}') {
			function := strings.HasPrefix(strings.TrimSpace(code[statement:i]), "function ")
			if c == ';' && !function {
				return fmt.Errorf("has a statement that is no function: %s", clip(code[statement:i]))
			}
			if c == ';' || !function { // braces of a function's types do not end it
				statement = i + 1
			}
		}
		if code[i] > '~' || code[i] < ' ' && code[i] != '\n' {
			return fmt.Errorf("has %q outside of comments", code[i])
		}
	}
	switch {
	case len(open) > 0:
		return fmt.Errorf("leaves %q open", open)
	case names != 1 || !strings.HasPrefix(strings.TrimSpace(code), "declare namespace MCP."):
		return fmt.Errorf("is not one namespace: %s", clip(code))
	}
	return nil
}

// withoutComments replaces comments and strings by nothing, and checks what is in comments.
func withoutComments(text string) (string, error) {
	var code strings.Builder
	for i := 0; i < len(text); {
		switch {
		case strings.HasPrefix(text[i:], "//"):
			n := strings.IndexByte(text[i:], '\n')
			if err := harmless(text[i : i+n]); err != nil {
				return "", err
			}
			i += n
		case strings.HasPrefix(text[i:], "/*"):
			n := strings.Index(text[i+2:], "*/")
			if n < 0 {
				return "", fmt.Errorf("has a comment without an end")
			}
			comment := text[i : i+n+4]
			if err := harmless(comment); err != nil {
				return "", err
			}
			for _, l := range strings.Split(comment, "\n")[1:] {
				if l = strings.TrimLeft(l, " "); !strings.HasPrefix(l, "* ") && l != "*/" {
					return "", fmt.Errorf("has a line of a comment that looks like code: %q", l)
				}
			}
			i += len(comment)
		case text[i] == '"':
			end := i + 1
			for text[end] != '"' {
				if text[end] == '\n' || text[end] > '~' {
					return "", fmt.Errorf("has %q in a string", text[end])
				}
				if text[end] == '\\' {
					end++
				}
				end++
			}
			i = end + 1
		default:
			code.WriteByte(text[i])
			i++
		}
	}
	return code.String(), nil
}

// harmless reports characters that a reader cannot see or that steer a terminal.
func harmless(comment string) error {
	for _, r := range comment {
		if r != '\n' && (!unicode.IsPrint(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r) || 0xFE00 <= r && r <= 0xFE0F || 0xE0000 <= r && r <= 0xE01EF) {
			return fmt.Errorf("has %U in a comment", r)
		}
	}
	return nil
}
