package mcpapi

import (
	"strconv"
	"strings"

	"github.com/cloister-wasm/cloister/internal/catalog"
)

// Bounds of names, in bytes.
const (
	maxNameRead = 4096 // of a given name that is looked at
	maxName     = 100  // of a JavaScript name, but for its number
)

// What cannot be the name of a function or namespace in TypeScript, means something on every object of JavaScript, or is taken.
var (
	reservedTools   = wordSet(catalog.ReservedWords, catalog.ObjectMembers, "$api resources prompts")
	reservedServers = wordSet(catalog.ReservedWords, catalog.ObjectMembers, "index") // mcp/index.d.ts
)

func wordSet(lists ...string) map[string]bool {
	set := map[string]bool{}
	for _, list := range lists {
		for _, word := range strings.Fields(list) {
			set[word] = true
		}
	}
	return set
}

// ToolNames gives the JavaScript names of a server's tools, in their order: camelCase of their words ("create_issue",
// "create-issue", "create.issue" and "CreateIssue" are createIssue), "_" in front of a digit, "tool1", "tool2", … where no ASCII
// letter or digit is left. A name that is its own JavaScript name keeps it; of the others the first in order gets the name,
// the next ones the name with the next free number from 2 on. So do names that are reserved: "delete" is delete2. Each result
// is an ASCII identifier of at most about 110 bytes, no reserved word of JavaScript, and unique in the list.
func ToolNames(tools []string) []string { return assign(tools, "tool", reservedTools) }

// ServerNames gives the JavaScript names of servers by the rules of [ToolNames].
func ServerNames(servers []string) []string { return assign(servers, "server", reservedServers) }

func assign(names []string, fallback string, reserved map[string]bool) []string {
	out := make([]string, len(names))
	bases := make([]string, len(names))
	taken := make(map[string]bool, len(names))
	for i, name := range names {
		bases[i] = camelCase(name)
		if base := bases[i]; base != "" && base == name && !reserved[base] && !taken[base] {
			out[i], taken[base] = base, true
		}
	}
	next := map[string]int{} // the first number that may be free, by base
	for i, base := range bases {
		if out[i] != "" {
			continue
		}
		first := 2
		if base == "" {
			base, first = fallback, 1
		} else if !reserved[base] && !taken[base] {
			out[i], taken[base] = base, true
			continue
		}
		n := max(first, next[base])
		for taken[base+strconv.Itoa(n)] || reserved[base+strconv.Itoa(n)] {
			n++
		}
		out[i] = base + strconv.Itoa(n)
		taken[out[i]], next[base] = true, n+1
	}
	return out
}

// camelCase joins the words of a name, which are separated by everything that is no ASCII letter or digit. The first word
// begins in lower case, the others in upper case; names without any lower case letter (LIST_ALL) are taken as if they were in lower case.
func camelCase(name string) string {
	if len(name) > maxNameRead {
		name = name[:maxNameRead]
	}
	shouted := strings.IndexFunc(name, func(r rune) bool { return 'a' <= r && r <= 'z' }) < 0
	out := make([]byte, 0, min(len(name)+1, maxName))
	firstWord, newWord := -1, false
	for i := 0; i < len(name) && len(out) < maxName; i++ {
		c := name[i]
		if !isAlphanumeric(c) {
			newWord = len(out) > 0
			continue
		}
		if shouted {
			c = lower(c)
		}
		if newWord {
			if firstWord < 0 {
				firstWord = len(out)
			}
			c, newWord = upper(c), false
		}
		out = append(out, c)
	}
	if firstWord < 0 {
		firstWord = len(out)
	}
	lowerStart(out[:firstWord])
	if len(out) > 0 && '0' <= out[0] && out[0] <= '9' {
		out = append([]byte{'_'}, out[:min(len(out), maxName-1)]...)
	}
	return string(out)
}

// lowerStart writes the capitals at the start of a word in lower case, but for the one that begins the next word:
// CreateIssue → createIssue, HTTPServer → httpServer, URL → url.
func lowerStart(word []byte) {
	run := 0
	for run < len(word) && 'A' <= word[run] && word[run] <= 'Z' {
		run++
	}
	if run > 1 && run < len(word) && 'a' <= word[run] && word[run] <= 'z' {
		run--
	}
	for i := range run {
		word[i] = lower(word[i])
	}
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - ('a' - 'A')
	}
	return c
}
