package declare_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/cloister-wasm/cloister/internal/declare"
)

const maxType = 16 << 10

func options(steps int) declare.Options {
	return declare.Options{Shape: declare.Shape{Depth: 8, Members: 100, Docs: true}, Bytes: maxType, Steps: &steps}
}

// checkShapes writes a schema in all shapes and checks what each of them promises. It returns the full types.
func checkShapes(t *testing.T, schema []byte) string {
	t.Helper()
	v, err := declare.Parse(schema)
	if err != nil {
		t.Fatalf("%v: %s", err, clip(string(schema)))
	}
	out, in := declare.Output(v, options(100_000)), declare.Input(v, options(100_000))
	var docs []string
	for _, p := range in.Docs {
		docs = append(docs, "@param "+p.Key+" "+p.Doc)
	}
	input := in.Text
	if in.None {
		input = "undefined"
	}
	text := "type Out = " + out.Text + ";\n" + declare.Comment(0, docs) + "type In = " + input + ";\n"
	// Indentation and the names of what is left out are not counted.
	if most := 8 * maxType; len(text) > most {
		t.Fatalf("the types have %d bytes: %s", len(text), clip(text))
	}
	if err := checkText(text); err != nil {
		t.Fatalf("the types %v:\n%s\nof %s", err, text, clip(string(schema)))
	}
	parseTypeScript(t, text)
	if again := declare.Output(v, options(100_000)); again != out {
		t.Fatalf("the type changes from call to call: %s", clip(out.Text))
	}
	checkLines(t, v)
	checkTable(t, v)
	return text
}

// checkLines wants lines of printable ASCII without what could end a fence or a tag around a prompt.
func checkLines(t *testing.T, v declare.Value) {
	t.Helper()
	for _, line := range []string{declare.Line(v), declare.Signature(v)} {
		bad := strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune("`<>\\", r) })
		if bad || len(line) > 200 {
			t.Fatalf("line of %d bytes: %q", len(line), line)
		}
	}
}

// checkTable wants bounds: the texts in a table are for its caller to make safe.
func checkTable(t *testing.T, v declare.Value) {
	t.Helper()
	rows, more, ok := declare.Table(v, 3, 50)
	if !ok && (len(rows) > 0 || more) || len(rows) > 50 || more && len(rows) == 0 {
		t.Fatalf("a table of %d rows, %v, %v", len(rows), more, ok)
	}
	depth := -1
	for _, r := range rows {
		if r.Type == "" || len(r.Type) > maxType || r.Depth > min(depth+1, 2) || strings.Contains(r.Type, "\n") {
			t.Fatalf("row of depth %d after %d: %s", r.Depth, depth, clip(r.Type))
		}
		depth = r.Depth
	}
}

// parseTypeScript parses types with a real parser, and wants nothing but types.
func parseTypeScript(t *testing.T, text string) {
	t.Helper()
	out := api.Transform(text, api.TransformOptions{Loader: api.LoaderTS, LogLevel: api.LogLevelSilent})
	if len(out.Errors) > 0 {
		e := out.Errors[0]
		t.Fatalf("is no TypeScript: %s at line %d: %s\nin %s", e.Text, e.Location.Line, clip(e.Location.LineText), clip(text))
	}
	if code := strings.TrimSpace(string(out.Code)); code != "" {
		t.Fatalf("is not only types, it runs: %s", clip(code))
	}
}

func clip(s string) string { return s[:min(len(s), 1000)] }

// checkText reads types by itself, with no parser to be fooled: strings, both kinds of comments, brackets.
func checkText(text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("are not valid UTF-8")
	}
	var open []byte
	pairs := map[byte]byte{')': '(', ']': '[', '}': '{'}
	for i := 0; i < len(text); {
		rest, n := text[i:], 1
		switch c := text[i]; {
		case strings.HasPrefix(rest, "//"):
			n = strings.IndexByte(rest, '\n')
		case strings.HasPrefix(rest, "/*"):
			if n = strings.Index(rest[2:], "*/") + 4; n < 4 {
				return fmt.Errorf("have a comment without an end")
			}
			if strings.ContainsFunc(rest[:n], func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
				return fmt.Errorf("have a comment with what cannot be seen: %q", rest[:n])
			}
		case c == '"':
			for n = 1; rest[n] != '"'; n++ {
				if rest[n] < ' ' || rest[n] > '~' {
					return fmt.Errorf("have %q in a string", rest[n])
				}
				if rest[n] == '\\' {
					n++
				}
			}
			n++
		case c > '~', c < ' ' && c != '\n':
			return fmt.Errorf("have %q outside of comments", c)
		case strings.IndexByte("([{", c) >= 0:
			open = append(open, c)
		case pairs[c] != 0:
			if len(open) == 0 || open[len(open)-1] != pairs[c] {
				return fmt.Errorf("have a bracket %q too many", c)
			}
			open = open[:len(open)-1]
		case c == ';' && len(open) == 0 && !strings.HasPrefix(rest, ";\n"):
			return fmt.Errorf("have a statement of the schema's")
		}
		i += n
	}
	if len(open) > 0 {
		return fmt.Errorf("leave %q open", open)
	}
	return nil
}
