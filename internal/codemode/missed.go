package codemode

import (
	"regexp"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// A program that completes may still have missed what it was for. What can be told from its source is the
// message of the result.

var (
	// deaf matches list methods that take an async function's promise for true.
	deaf = regexp.MustCompile(`\.(filter|some|every|find|findIndex|findLast|sort|toSorted)\(\s*async\b`)
	// lastCall matches a call of a function of the program's own as its last statement.
	lastCall = regexp.MustCompile(`(?:^|[;}\n])\s*(?:await\s+|void\s+)?([A-Za-z_$][A-Za-z0-9_$]*)\([^()]*\)\s*(?:\.catch\([^;]*\)|\.then\([^;]*\))?;?\s*$`)
	// lastFunction matches the call of a function where it stands: (async () => { ... })().
	lastFunction = regexp.MustCompile(`\}\s*\)\s*\(\s*\)\s*(?:\.catch\([^;]*\)|\.then\([^;]*\))?;?\s*$`)
	ownFunction  = regexp.MustCompile(`(?:function\s+|(?:const|let|var)\s+)([A-Za-z_$][A-Za-z0-9_$]*)\s*(?:\(|=\s*(?:async\s*)?(?:function|\())`)
	optionalCall = regexp.MustCompile(`\b(tools|MCP)` + oneMember + `(?:` + oneMember + `)?\?\.\(`)
	bareReturn   = regexp.MustCompile(`(?m)\breturn[ \t]*\n\s*[\[{("'\w]`)
)

// missed gives the message of a completed result. Nothing says that the program returned undefined and put nothing out.
func (c *cell) missed(nothing bool) string {
	source := c.source
	// Most programs have no such word: those pay for no search by the expression.
	if m := deafIn(source); m != nil {
		return m[1] + " does not wait for an async function, and takes its promise for true: await Promise.all(list.map(async ...)) first, then " + m[1] + " by its results"
	}
	if !nothing {
		return ""
	}
	const text = "the program returned nothing and printed nothing"
	for _, m := range optionalCall.FindAllStringSubmatch(source, 16) {
		hint := ""
		if one, two := m[2]+m[3], m[4]+m[5]; m[1] == "tools" {
			hint = c.run.view.AbsentTool(one)
		} else {
			hint = c.run.view.AbsentMCP(one, two)
		}
		if hint != "" {
			return text + ": " + hint
		}
	}
	trimmed := strings.TrimSpace(source)
	names := ownFunctions(source)
	if m := lastCall.FindStringSubmatch(trimmed); m != nil && slices.Contains(names, m[1]) {
		return text + ": write return await " + plaintext.Short(m[1], 100) + "(...) at the end"
	}
	if lastFunction.MatchString(trimmed) {
		return text + ": the code is the body of an async function already; write return in front of (async () => { ... })(), or leave that out"
	}
	if bareReturn.MatchString(source) {
		return text + ": a return at the end of a line returns undefined; begin the value on the same line"
	}
	for _, name := range names {
		if len(regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`\b`).FindAllStringIndex(source, 2)) == 1 {
			return text + ": the function " + plaintext.Short(name, 100) + " is never called; write return await " + plaintext.Short(name, 100) + "()"
		}
	}
	return text + ": its value is what return gives, as in return result"
}

func deafIn(source string) []string {
	if !strings.Contains(source, "async") {
		return nil
	}
	return deaf.FindStringSubmatch(source)
}

// ownFunctions lists the functions that a program declares.
func ownFunctions(source string) []string {
	var names []string
	for _, m := range ownFunction.FindAllStringSubmatch(source, 64) {
		names = append(names, m[1])
	}
	return names
}
