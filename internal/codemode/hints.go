package codemode

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/cloister-wasm/cloister/internal/guest"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// The engine's messages name a fault of the language. What a first program gets wrong is most often one of few
// things, which the error names with their remedy. A hint says what is known, from the message and from the source at
// the place of the error; where that is nothing there is no hint.

// hint gives what leads to the fix of an error that the program threw, "" if nothing is known.
func (d *diagnosis) hint(t *guest.Thrown, line, column int) string {
	switch message := t.Error(); {
	case strings.HasPrefix(strings.TrimSpace(d.source), "```"):
		return fenced
	case t.Name == "ReferenceError":
		if name, ok := strings.CutSuffix(t.Message, " is not defined"); ok {
			return d.run.missingGlobal(name)
		}
	case t.Name == "TypeError" && strings.HasSuffix(t.Message, "' is read-only"):
		return "it was declared with const: declare what changes with let"
	case message == "SyntaxError: unexpected token: 'object'": // of JSON.parse
		return "JSON.parse takes text, and this is an object already"
	default:
		if hint := d.absent(message, line, column); hint != "" {
			return hint
		}
		if message == "TypeError: not a function" {
			return d.notFunction(line, column)
		}
		if strings.HasPrefix(message, "TypeError: value is not iterable") {
			return "only lists, strings, Map and Set can be gone through; an object's parts are Object.entries(object)"
		}
		if strings.HasPrefix(message, "TypeError: cannot read property ") {
			return d.unread(message)
		}
	}
	return ""
}

// called matches the expression in front of an opening bracket.
var called = regexp.MustCompile(`([A-Za-z_$][A-Za-z0-9_$]*(?:\??\.[A-Za-z_$][A-Za-z0-9_$]*|\[[^\[\]()]{1,40}\])*)(?:\?\.)?\(`)

// notFunction names what was called. The engine's place is that of the call's name or of its last argument, so
// the call is the last that opens before it or at its name.
func (d *diagnosis) notFunction(line, column int) string {
	text, at := sourceLine(d.source, line), column-1
	if at < 0 || at >= len(text) {
		return ""
	}
	first := max(0, at-absentWindow)
	text, at = text[first:min(len(text), at+absentWindow)], at-first
	callee := ""
	for _, m := range called.FindAllStringSubmatchIndex(text, -1) {
		if m[2] > at+1 {
			break
		}
		callee = text[m[2]:m[3]]
	}
	callee = plaintext.Short(callee, 100)
	if callee == "" || isKeyword(callee) {
		return ""
	}
	if name, ok := d.destructured(callee); ok {
		return name
	}
	object, member, isMember := cutLastMember(callee)
	if !isMember {
		return callee + " is no function"
	}
	return callee + " is no function: look at " + object + " with json(" + object + ") first" + listHint(member)
}

// listHint is about the methods that only lists have.
func listHint(member string) string {
	switch member {
	case "map", "filter", "forEach", "reduce", "find", "some", "every", "slice", "sort", "join", "flatMap", "push", "includes":
		return "; a tool often gives an object with the list in it, or text that JSON.parse reads"
	}
	return ""
}

func cutLastMember(callee string) (object, member string, ok bool) {
	at := strings.LastIndexByte(callee, '.')
	if at <= 0 {
		return callee, "", false
	}
	return strings.TrimSuffix(callee[:at], "?"), callee[at+1:], true
}

func isKeyword(word string) bool {
	switch word {
	case "if", "for", "while", "switch", "catch", "return", "await", "function", "typeof", "new":
		return true
	}
	return false
}

// destructured is about a name that was taken out of tools, or out of a namespace, by const { name } = tools.
func (d *diagnosis) destructured(name string) (string, bool) {
	m := regexp.MustCompile(`\{[^{}]{0,200}?\b` + regexp.QuoteMeta(name) + `\b[^{}]{0,200}\}\s*=\s*([A-Za-z_$][A-Za-z0-9_$.]*)`).FindStringSubmatch(d.source)
	if m == nil {
		return "", false
	}
	hint := ""
	switch parts := strings.Split(m[1], "."); {
	case m[1] == "tools":
		hint = d.run.view.AbsentTool(name)
	case parts[0] == "MCP" && len(parts) == 2:
		hint = d.run.view.AbsentMCP(parts[1], name)
	default:
		hint = d.run.absentMember(m[1] + "." + name)
	}
	return hint, hint != ""
}

var unreadProperty = regexp.MustCompile(`^TypeError: cannot read property '(.{1,100})' of (undefined|null)$`)

// unread is about a property of undefined or null.
func (d *diagnosis) unread(message string) string {
	m := unreadProperty.FindStringSubmatch(message)
	if m == nil || !strings.Contains(d.source, "await") {
		return ""
	}
	hint := "what stands before ." + plaintext.Short(m[1], 100) + " is " + m[2] + ": look with json(value) at what the tool gave"
	if strings.Contains(d.source, "MCP.") {
		hint += "; a tool of an MCP server gives { structuredContent?, content: [{ type, text }] }"
	}
	return hint
}

// mendPlace mends the place of errors that the engine puts elsewhere. For an assignment to a const it takes the last
// place of the code behind, which is never reached: the place is known where one assignment alone names the const.
func (d *diagnosis) mendPlace(e *runError, t *guest.Thrown) {
	name, ok := strings.CutSuffix(t.Message, "' is read-only")
	if t.Name != "TypeError" || !ok || e.line == 0 {
		return
	}
	quoted := regexp.QuoteMeta(strings.TrimPrefix(name, "'"))
	assigned, err := regexp.Compile(`(?:\+\+|--)\s*\b` + quoted + `\b|(?:^|[^\w$.])` + quoted + `\s*(?:\+\+|--|(?:[-+*/%&|^]|\*\*|<<|>>>?|&&|\|\||\?\?)?=(?:[^=>]|$))`)
	if err != nil {
		return
	}
	declared := regexp.MustCompile(`\bconst\s+` + quoted + `\s*=`)
	var places [][2]int
	for number, text := range strings.Split(d.source, "\n") {
		skip := declared.FindAllStringIndex(text, -1)
		for _, m := range assigned.FindAllStringIndex(text, -1) {
			if !inside(skip, m[0]) {
				column := m[0] + strings.Index(text[m[0]:], strings.TrimPrefix(name, "'")) + 1
				places = append(places, [2]int{number + 1, column})
			}
		}
	}
	switch len(places) {
	case 0:
	case 1:
		e.line, e.column = places[0][0], places[0][1]
	default: // a wrong line is worse than none
		lines := make([]string, 0, 4)
		for _, p := range places[:min(len(places), 4)] {
			lines = append(lines, strconv.Itoa(p[0]))
		}
		e.line, e.column = 0, 0
		e.message += " (assigned on lines " + strings.Join(lines, ", ") + ")"
	}
}

func inside(ranges [][]int, at int) bool {
	for _, r := range ranges {
		if r[0] <= at+1 && at < r[1] {
			return true
		}
	}
	return false
}
