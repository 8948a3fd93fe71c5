package codemode

import (
	"regexp"
	"strings"
)

// The engine only says that something is not a function. Where the program called a
// member of tools or MCP that is not there, which is most often a name that was
// guessed, the error says so, and what it may have meant.

const oneMember = `(?:\.([A-Za-z_$][A-Za-z0-9_$]*)|\[\s*["']([^"'\\]{1,100})["']\s*\])`

// calledMember matches tools.NAME, MCP.SERVER and MCP.SERVER.NAME.
var calledMember = regexp.MustCompile(`\b(tools|MCP)` + oneMember + `(?:` + oneMember + `)?`)

// absentWindow bounds the part of a line that is looked at, on each side of the place.
const absentWindow = 200

// absent says what is missing at a place of the program, if anything is.
func (d *diagnosis) absent(message string, line, column int) string {
	if message != "TypeError: not a function" && !strings.HasPrefix(message, "TypeError: cannot read property ") {
		return ""
	}
	text, at := sourceLine(d.source, line), column-1 // columns count bytes
	if at < 0 || at >= len(text) {
		return ""
	}
	first := max(0, at-absentWindow)
	text, at = text[first:min(len(text), at+absentWindow)], at-first
	for _, m := range d.called().FindAllStringSubmatchIndex(text, -1) {
		if at < m[0]-2 || m[1] < at && !argumentsOf(text[m[1]:], at-m[1]) { // for tools["name"] the engine names the place before it
			continue
		}
		group := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return text[m[2*i]:m[2*i+1]]
		}
		one, two := group(2)+group(3), group(4)+group(5) // .name or ["name"]
		hint := ""
		switch group(1) {
		case "tools":
			hint = d.run.view.AbsentTool(one)
		case "MCP":
			hint = d.run.view.AbsentMCP(one, two)
		case "namespaces":
			hint = d.run.absentMember(one + "." + two)
		default:
			hint = d.run.absentMember(group(1) + "." + one)
		}
		if hint != "" {
			return hint
		}
	}
	return ""
}

// called matches a member of tools, MCP or a namespace.
func (d *diagnosis) called() *regexp.Regexp {
	names := d.run.globalNames()
	if len(names) == 0 {
		return calledMember
	}
	return regexp.MustCompile(`\b(tools|MCP|namespaces|` + strings.ReplaceAll(strings.Join(names, "|"), "$", `\$`) + `)` + oneMember + `(?:` + oneMember + `)?`)
}

// argumentsOf says whether the place is in the arguments of the call that text begins with: the
// engine names the last argument that has a place of its own.
func argumentsOf(text string, at int) bool {
	if !strings.HasPrefix(text, "(") {
		return false
	}
	depth := 0
	for i := 0; i < len(text) && i < at; i++ {
		switch text[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		if depth == 0 {
			return false
		}
	}
	return true
}

func sourceLine(source string, line int) string {
	for text := range strings.SplitSeq(source, "\n") {
		if line--; line == 0 {
			return text
		}
	}
	return ""
}
