package transpile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// bombs are sources that are small and cost much. The first four are known to
// end esbuild, or the machine, in process.
func bombs() map[string]string {
	r := strings.Repeat
	return map[string]string{
		"bangs":                 r("!", 256<<10),
		"braces":                r("{", 20<<10),
		"ifs":                   r("if(1)", 100_000),
		"arrows":                r("()=>", 65_536),
		"parens":                r("(", 200<<10),
		"brackets":              "return " + r("[", 300<<10) + r("]", 300<<10),
		"closed braces":         r("{", 100<<10) + r("}", 100<<10),
		"objects":               "return " + r("({a:", 100_000),
		"less than":             r("a<", 200_000),
		"generics":              "let x: " + r("A<", 200_000) + "B" + r(">", 200_000),
		"generic calls":         r("f<A>(", 50_000),
		"array types":           "let x: A" + r("[]", 400_000),
		"tuple types":           "let x: " + r("[", 200_000) + r("]", 200_000),
		"conditional types":     "type T = " + r("A extends B ? C : ", 50_000) + "D",
		"function types":        "let x: " + r("(a: ", 100_000),
		"infer chains":          "type T = " + r("A extends infer B extends ", 40_000) + "C ? 1 : 2",
		"markup":                "return " + r("<a>", 200_000),
		"closed markup":         "return " + r("<a>", 50_000) + r("</a>", 50_000),
		"templates":             r("`${", 200_000),
		"closed templates":      r("`${", 100_000) + "1" + r("}`", 100_000),
		"regex groups":          "return /" + r("(", 500_000) + "/",
		"regexes":               r("/[/]/u,", 100_000) + "1",
		"decorators":            r("@a ", 200_000) + "class A {}",
		"nested decorators":     r("@(", 200_000),
		"decorated members":     "class A {" + r("@a b;", 50_000) + "}",
		"nested classes":        r("class A { static x = ", 30_000),
		"nested functions":      r("function f(){", 50_000) + r("}", 50_000),
		"async arrows":          r("async(a=", 50_000),
		"ternaries":             r("a?(b):c=>", 50_000),
		"optional arrows":       r("a?(b", 50_000),
		"unary words":           r("typeof ", 100_000) + "1",
		"awaits":                r("await ", 100_000) + "1",
		"news":                  r("new ", 200_000),
		"binary":                r("a+", 300_000) + "a",
		"right binary":          r("a**", 200_000) + "a",
		"assignments":           r("a=", 300_000) + "1",
		"labels":                labels(20_000),
		"else ifs":              r("if(a);else ", 80_000) + ";",
		"namespaces":            "namespace " + r("a.", 100_000) + "b {}",
		"nested namespaces":     r("namespace a{", 50_000) + r("}", 50_000),
		"enum members":          "enum A {" + r("a=1,", 200_000) + "}",
		"enum references":       "const enum A { x = '" + r("x", 500_000) + "' }\n" + r("A.x;f(A.x);", 40_000),
		"returns":               r("return;", 140_000) + "await 0",
		"returns on one line":   "await 0;" + r("{return 1}", 90_000),
		"using":                 r("{using a=b;", 30_000) + r("}", 30_000),
		"destructuring":         "let " + r("[", 100_000) + "a" + r("]", 100_000) + "=b",
		"optional chains":       "a" + r("?.b", 300_000),
		"spreads":               "f(" + r("...[", 100_000) + r("]", 100_000) + ")",
		"unicode identifiers":   "let " + r("\\u{61}", 100_000) + " = 1",
		"unicode text":          "return '" + r("\U0001F600", 150_000) + "' + " + r("'\u2028'+", 50_000) + "0",
		"unicode lines":         r("\u2028\u4e2d;", 100_000),
		"wide zigzag":           r("\u4e2d;", 200_000),
		"comments":              r("/**/", 250_000) + "return 1",
		"preserved comments":    "return [" + r("/*!*/1,", 100_000) + "]",
		"surrogate escapes":     "return \"" + r("\\ud800", 150_000) + "\"",
		"numbers":               "return " + r("1_0", 300_000),
		"big integers":          "return " + r("9", 900_000) + "n",
		"sourcemap url":         "//# sourceMappingURL=data:application/json;base64," + r("A", 900_000),
		"sourcemap mappings":    "a;\n//# sourceMappingURL=data:application/json,{\"version\":3,\"sources\":[\"a\"],\"mappings\":\"" + r("A,", 400_000) + "\"}",
		"imports":               r("import{a}from'b';", 50_000),
		"module-looking text":   r("`\nimport `;", 80_000),
		"duplicate symbols":     r("let a;", 150_000),
		"hoisted functions":     r("{function f(){}}", 60_000),
		"many identifiers":      manyIdentifiers(100_000),
		"accessors":             "class A {" + r("accessor a;", 80_000) + "}",
		"private names":         "class A {" + privateNames(50_000) + "}",
		"parameter properties":  "class A { constructor(" + r("public a,", 80_000) + ") {} }",
		"parameter decorators":  "class A { m(" + r("@a b,", 80_000) + ") {} }",
		"nothing but new lines": r("\n", 1<<20),
		"nothing but nulls":     r("\x00", 1<<20),
		"nothing but spaces":    r(" ", 1<<20),
		"quotes":                r("'", 1<<20-1),
		"backslashes":           r("\\", 1<<20),
		"one long identifier":   r("a", 1<<20),
		"one long error":        "let a" + r("b", 1<<19) + " c" + r("d", 1<<18),
	}
}

// shortBombs are those of -short, one of each kind: recursion of the parser, of types and
// of the printer, work that grows with the square, memory, output, errors, and text that
// other parts than the parser read.
var shortBombs = []string{
	"bangs", "braces", "arrows", "conditional types", "closed templates", "enum references",
	"duplicate symbols", "returns on one line", "sourcemap mappings", "surrogate escapes", "nothing but nulls", "one long error",
}

// shortDays is in how many days -short sets them all off: a third of them each day.
const shortDays = 3

// today is the number of the day.
func today() int { return int(time.Now().Unix() / (24 * 60 * 60)) }

func labels(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a%d:", i)
	}
	return b.String() + ";"
}

func manyIdentifiers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "v%d=0;", i)
	}
	return b.String()
}

func privateNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "#p%d;", i)
	}
	return b.String()
}

const goodCell = "enum E { A = 41 }\nconst one: number = await Promise.resolve(1);\nreturn E.A + one;\n"

// TestBombs sets each bomb off in a Worker with two processes, beside an
// ordinary cell. The bomb ends in an error that says what is wrong, or is
// transformed after all; the ordinary cells never notice.
func TestBombs(t *testing.T) {
	w := newTestWorker(t, nil)
	want, err := w.Transform(t.Context(), Input{Source: goodCell})
	if err != nil {
		t.Fatal(err)
	}
	for name, bomb := range bombs() {
		if at := slices.Index(shortBombs, name); testing.Short() && (at < 0 || at%shortDays != today()%shortDays) {
			continue
		}
		if len(bomb) > 1<<20 {
			t.Errorf("%s: of %d bytes, so the size alone refuses it", name, len(bomb))
		}
		exploded := make(chan error)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
			defer cancel()
			_, err := w.Transform(ctx, Input{Source: bomb})
			exploded <- err
		}()
		for done := false; !done; {
			out, err := w.Transform(t.Context(), Input{Source: goodCell})
			if err != nil {
				t.Fatalf("%s: the other cell: %v", name, err)
			}
			if diff := cmp.Diff(want.Code, out.Code); diff != "" {
				t.Errorf("%s: the other cell: (-want +got)\n%s", name, diff)
			}
			select {
			case err := <-exploded:
				checkBomb(t, name, err)
				done = true
			default:
				if testing.Short() {
					time.Sleep(20 * time.Millisecond) // enough cells to notice
				}
			}
		}
	}
}

func checkBomb(t *testing.T, name string, err error) {
	t.Helper()
	if err == nil && slices.Contains([]string{"bangs", "braces", "ifs", "arrows"}, name) {
		t.Errorf("%s: no error", name)
	}
	var syntax *SyntaxError
	var module *ModuleAccessError
	switch {
	case err == nil, errors.As(err, &module), errors.Is(err, context.DeadlineExceeded), errors.Is(err, ErrWorkerDied), errors.Is(err, ErrOutputTooLarge):
	case errors.As(err, &syntax):
		if len(syntax.Message) > maxMessage || len(syntax.LineText) > maxLineText {
			t.Errorf("%s: an error of %d and %d bytes", name, len(syntax.Message), len(syntax.LineText))
		}
	default:
		t.Errorf("%s: %v", name, err)
	}
	var died *WorkerDiedError
	if errors.As(err, &died) && died.Cause != CauseMemory && died.Cause != CauseStack {
		t.Errorf("%s: the worker died because it %s", name, died.Cause)
	}
}

// TestBombTimeLimit: the Worker's own time limit ends a bomb as well, where the
// caller set none.
func TestBombTimeLimit(t *testing.T) {
	w := newTestWorker(t, &Options{Timeout: 50 * time.Millisecond})
	_, err := w.Transform(t.Context(), Input{Source: slowSource})
	if !errors.Is(err, ErrTimeLimit) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want ErrTimeLimit and no error of a context", err)
	}
}

// slowSource keeps a worker busy for minutes, with little memory: esbuild looks
// for each error where its line starts.
var slowSource = strings.Repeat("let a;", 170_000)
