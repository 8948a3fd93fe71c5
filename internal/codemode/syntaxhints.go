package codemode

import (
	"regexp"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/api"
)

const fenced = "the code stands between ``` marks: give the program alone, without them"

// typescript matches what only TypeScript has, on the line that does not parse.
var typescript = regexp.MustCompile(`(?:` +
	`^\s*(?:export\s+)?(?:declare\s+)?(?:interface|type|enum|namespace|abstract\s+class|const\s+enum)\s+[A-Za-z_$]` + // declarations
	`|[\w$\])}?]\s*\??:\s*(?:string|number|boolean|any|unknown|void|never|object|bigint|Array<|Record<|Promise<|Map<|Set<|Partial<|readonly |[A-Z][\w$.]*(?:<|\[\]|\s*[)=;|])|(?:\{[^{}]*\}|\([^()]*\)|\[[^\[\]]*\])\s*(?:\[\])?\s*=)` + // annotations
	`|\b(?:as|satisfies)\s+(?:const\b|[A-Za-z_$])` +
	`|\b(?:private|public|protected|readonly)\s+[A-Za-z_$]` +
	`|[\w$)\]]!(?:\.|;|\s*$|\)|,|\[)` + // non-null assertions
	`|\bfunction\s*[\w$]*\s*<|\b(?:new\s+)?[A-Z][\w$]*<[\w$\[\], <>|{}:;"']*>\s*\(|<[A-Z][\w$]*(?:,\s*[A-Z][\w$]*)*>\s*\(|<(?:string|number|any|unknown)>` + // type parameters
	`|^\s*@[A-Za-z_$]` + // decorators
	`)`)

var (
	python    = regexp.MustCompile(`(?m)^\s*(?:def\s+\w+\s*\(.*\)\s*(?:->.*)?:|from\s+\w+\s+import\b|(?:if|for|while|elif|with)\b[^{;]*:\s*$|print\s+["'])`)
	jsx       = regexp.MustCompile(`(?:return|=|\(|=>)\s*<[A-Za-z>]`)
	awaitLast = regexp.MustCompile(`\bawait\s*$`)
	wrapped   = regexp.MustCompile(`^\s*\{\s*"(?:code|command|source|language)"\s*:`)
)

// syntaxHint gives what leads to the fix of source that does not compile, "" if nothing is known. The place is the engine's,
// in code; a column counts bytes from 1.
func (d *diagnosis) syntaxHint(code, message string, line, column int) string {
	text := sourceLine(code, line)
	before := text[:min(max(column-1, 0), len(text))]
	trimmed := strings.TrimSpace(code)
	switch {
	case strings.HasPrefix(trimmed, "```") || strings.HasSuffix(trimmed, "\n```"):
		return fenced
	case strings.HasPrefix(trimmed, "#!"):
		return "leave the line with #! out"
	case wrapped.MatchString(code):
		return `code is the text of the program: not JSON with a member "code" in it`
	case awaitLast.MatchString(before):
		return "await works in async functions only: write async in front of this function, as in await Promise.all(list.map(async (x) => ...))"
	case strings.Contains(text, `\n`) && !strings.Contains(code, "\n") && strings.HasPrefix(text[len(before):], `\`):
		return `the code has a backslash and an n where a line break is to be`
	case strings.ContainsAny(text, "“”‘’"):
		return `write straight quotes, " or '`
	case strings.Contains(text, "&amp;") || strings.Contains(text, "&lt;") || strings.Contains(text, "&gt;") || strings.Contains(text, "&quot;"):
		return "write < > & and quotes as they are, not as HTML has them"
	}
	if d.position == nil && (typescript.MatchString(text) || typescriptAbove(code, line)) {
		if slices.Contains(d.run.h.cfg.Languages, api.TypeScript) {
			return `this looks like TypeScript: set language to "typescript"`
		}
		return "this looks like TypeScript, which is not enabled: leave the types out"
	}
	switch {
	case message == "return not in a function":
		return "a bracket too many closes the function around the program"
	case python.MatchString(code):
		return "a cell is JavaScript"
	case jsx.MatchString(text):
		return "JSX is not supported in a cell: build the value with plain objects or strings"
	case line > strings.Count(code, "\n")+1 || message == "Unexpected end of input":
		return "the code ends too early: a bracket, brace or quote that was opened is not closed"
	}
	return ""
}

// typescriptAbove looks at the lines in front of a fault too: the engine reads on for a line or two.
func typescriptAbove(code string, line int) bool {
	for n := line - 1; n > 0 && n >= line-2; n-- {
		if typescript.MatchString(sourceLine(code, n)) {
			return true
		}
	}
	return false
}
