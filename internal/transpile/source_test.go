package transpile

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestESBuildReportsEachReturn holds what the scheme for returns rests on. When it
// fails after esbuild was raised, read returns.go before anything else.
func TestESBuildReportsEachReturn(t *testing.T) {
	source := "return 1; /* return */ if (a) { return\n} 中; for (;;) return [() => { return 2 }];\r\nx: return // return\n" +
		"switch (1) { case 1: return await 1 } if (false) return; { using y = z; return 3 }"
	lines := newLineTable(source)
	at, other := topLevelReturns(runESBuild(source, "x", dialect{}).Errors, source, lines)
	if other != nil {
		t.Fatalf("an error besides the returns: %v", other.Text)
	}
	var got []string
	for _, offset := range at {
		got = append(got, strings.SplitAfterN(source[offset:], " ", 2)[0][:6]+fmt.Sprint(lines.position(offset)))
	}
	want := []string{"return1:1", "return1:33", "return2:17", "return3:4", "return4:22", "return4:50", "return4:73"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestESBuildTexts holds the messages that the code compares with.
func TestESBuildTexts(t *testing.T) {
	result := runESBuild("class A { m(@p x) {} }", "x", dialect{})
	if len(result.Errors) != 1 || result.Errors[0].Text != textParamDecorator {
		t.Errorf("parameter decorator: got %+v", result.Errors)
	}
	if result := runESBuild("class A { m(@p x) {} }", "x", dialect{legacy: true}); len(result.Errors) > 0 {
		t.Errorf("with the older decorators: got %+v", result.Errors)
	}
}

func TestHasOperand(t *testing.T) {
	for rest, want := range map[string]bool{
		"":                              false,
		";":                             false,
		"}":                             false,
		" \t ":                          false,
		"\n1":                           false,
		"\r1":                           false,
		"\u20281":                       false,
		"\u20291":                       false,
		" // c\n1":                      false,
		" /* c\n */ 1":                  false,
		" /* c\u2028*/1":                false,
		" /* c */":                      false,
		" /* c */ }":                    false,
		" /* c":                         false,
		" 1":                            true,
		"(1)":                           true,
		"/re/":                          true,
		"/* a *//* b */1":               true,
		" /* a */ /* b */ x":            true,
		"\v\f\u00a0\ufeff\u3000\u16801": true,
		"`a`":                           true,
		"{}":                            true,
		"\u00851":                       true, // no white space in ECMAScript
		"\u200b1":                       true, // nor this
	} {
		if got := hasOperand(rest); got != want {
			t.Errorf("%q: got %v, want %v", rest, got, want)
		}
	}
}

// TestSpaceIsESBuilds compares our white space with esbuild's, character by
// character: the two must agree on where a return ends.
func TestSpaceIsESBuilds(t *testing.T) {
	for r := rune(0); r <= 0xFFFF; r++ {
		if r >= 0xD800 && r < 0xE000 {
			continue
		}
		if !isSpace(r) && !strings.ContainsRune("\u0085\u180e\u200b\u2028\u2029\u2060\n\r\x00\x1c\x1f", r) {
			continue // a token of its own or a part of one
		}
		result := runESBuild("return"+string(r)+"1", "x", dialect{})
		_, other := topLevelReturns(result.Errors, "return"+string(r)+"1", newLineTable("return"+string(r)+"1"))
		skipped := other == nil // 1 is then an operand, or a statement on a new line
		if want := isSpace(r) || lineEnd(string(r)) > 0; skipped != want {
			t.Errorf("%U: esbuild skips it: %v, we: %v", r, skipped, want)
		}
	}
}

// TestMarkCannotBeForged: text that looks like a mark, however it is written,
// stays as it is. (The mark of a run is random; this one has another.)
func TestMarkCannotBeForged(t *testing.T) {
	source := `await 0; const cAAAAAAAAAAAAAAAAAAAAAAAAAA = "throw cAAAAAAAAAAAAAAAAAAAAAAAAAA, 1";
return "\x74hrow \u0063AAAAAAAAAAAAAAAAAAAAAAAAAA;" + cAAAAAAAAAAAAAAAAAAAAAAAAAA`
	out, err := transformSource(source)
	if err != nil {
		t.Fatal(err)
	}
	want := `"use strict";
await 0;
const cAAAAAAAAAAAAAAAAAAAAAAAAAA = "throw cAAAAAAAAAAAAAAAAAAAAAAAAAA, 1";
return "throw cAAAAAAAAAAAAAAAAAAAAAAAAAA;" + cAAAAAAAAAAAAAAAAAAAAAAAAAA;
`
	if diff := cmp.Diff(want, out.Code); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestShowReturns(t *testing.T) {
	for code, want := range map[string]string{
		"throw M;":                  "return;",
		"throw M, x;":               "return x;",
		"if (a) throw M, (x, y);":   "if (a) return (x, y);",
		"throw M, // c\nx;":         "return 0, // c\nx;",
		"throw M, /* c */\nx;":      "return 0, /* c */\nx;",
		"throw M,\nx;":              "return 0,\nx;",
		"throw M, \nx;":             "return 0, \nx;",
		"throw M, /re/;throw M, 1;": "return /re/;return 1;",
	} {
		e, ok := showReturns(code, "M")
		if got := e.apply(code); !ok || got != want {
			t.Errorf("%q: got %q, %v, want %q", code, got, ok, want)
		}
	}
	for _, code := range []string{"M", "x M;", "throw M", "throw M.x;", "throw M(1)", "throw  M;"} {
		if e, ok := showReturns(code, "M"); ok {
			t.Errorf("%q became %q", code, e.apply(code))
		}
	}
}

// TestOutputCannotCloseWrapper: what comes out of any of these is the body of a
// function when it comes out at all.
func TestOutputCannotCloseWrapper(t *testing.T) {
	for _, source := range []string{
		"}); evil(); (async()=>{", "})(); evil(); (() => {", "} evil(); {", "*/ }) /*", "`})//", "'})\n('", "/})/", "/[/]})/",
		"return `${`})`}`", "return '\\u0060})'", "return /})`/", "//\u2028})", "/*\u2028*/})", "<!--\n})", "\n-->})", "return 1 //\r})",
		"String.raw`\\`})`", "return \"</script>})\"", "a\n++\nb })", "enum A { '}) //' }", "namespace A { } }) { }", "declare module '})' {}", "@d class A { '})'() {} }",
		"x<!--y })", "let \\u{7d} = 1", "return {}}", "if (1) {", "return (", "type A = { b: '}' } }",
	} {
		out, err := transformSource(source)
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				t.Errorf("%q: %v", source, err)
			}
			continue
		}
		if syntax, _, ok := probeModuleSyntax(out.Code); syntax != "" || !ok {
			t.Errorf("%q became %q, which is no function body", source, out.Code)
		}
	}
}

// TestProbe looks at the probe alone, with texts that esbuild's output could hold.
func TestProbe(t *testing.T) {
	for code, want := range map[string]string{
		"a;\nimport { b } from \"c\";":   "import 2:1",
		"import \"c\";":                  "import 1:1",
		"a;\nb;\nexport const c = 1;":    "export 3:1",
		"a;\n  b(import.meta);":          "import.meta 2:5",
		"`\nimport x\nimport.meta\n`;":   "",
		"import(\"x\");\nrequire(\"y\")": "",
	} {
		syntax, at, ok := probeModuleSyntax(code)
		got := ""
		if syntax != "" {
			got = syntax + " " + at.String()
		}
		if !ok || got != want {
			t.Errorf("%q: got %q, %v, want %q", code, got, ok, want)
		}
	}
	if _, _, ok := probeModuleSyntax("}); (async()=>{"); !ok {
		return
	}
	t.Error("the probe takes what closes its wrapper for a function body")
}

// TestDecoratorKinds: parameter decorators, and nothing else, choose the older
// kind.
func TestDecoratorKinds(t *testing.T) {
	for source, helper := range map[string]string{
		"@a class A { @b c() {} }":                    "__decoratorStart",
		"class A { constructor(@b c) {} }":            "__decorateParam",
		"@a class A { @b c(@d e) {} } return await 0": "__decorateParam",
	} {
		out, err := transformSource(source)
		if err != nil || !strings.Contains(out.Code, helper) {
			t.Errorf("%q: no %s in %+v, %v", source, helper, out, err)
		}
	}
}

func TestSafely(t *testing.T) {
	out, err := safely(func(string) (*Output, error) { panic("a bug") }, "x")
	if out != nil || !errors.Is(err, ErrInternal) {
		t.Errorf("got %v, %v, want ErrInternal", out, err)
	}
}
