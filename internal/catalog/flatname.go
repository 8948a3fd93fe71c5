package catalog

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// MaxFlatName is the longest name that [FlatName] gives, in bytes: what all providers and MCP clients take for a tool.
const MaxFlatName = 64

// Marks of a flat name. Each is a run of '-' and '_' between letters and digits that nothing else writes.
const (
	flatSeparator = "__"  // between the parts of an id
	flatDot       = "--"  // '.', alone
	flatSlash     = "---" // '/', alone
	flatEscape    = "_-"  // and two hexadecimal digits: a byte that is not alone, or stands at an end of its part
	flatHash      = "___" // and 24 characters: the rest of the name, and the hash of the whole id
)

// flatHashLen is how many characters of a hash stand in a name that would be too long, of five bits each.
const flatHashLen = 24

var wordChars = newCharset(alphanumeric)

// FlatName gives the name under which a tool is known where all tools stand side by side, as in a surface without code
// mode: ASCII letters, digits, '_' and '-', at most [MaxFlatName]. It depends on the id alone, whatever other tools are
// there, so that a name which a model or a client remembers means the same tool tomorrow. Two ids never have one name:
//
//	cloister:core:clock_now             clock_now
//	mcp:github:create_issue             github__create_issue
//	cloister:acme.hello:greet           acme--hello__greet
//	mcp:my.server:issues/create         mcp__my--server__issues---create
//	cloister:files:read                 cloister__files__read
//	client:app:pick                     client__app__pick
//
// The source is left out where the owner says it: a plugin's id has a dot and the name of an MCP server none. In a part,
// one '_' or '-' between letters or digits stays, '.' is "--" and '/' is "---"; any other of these four characters is
// "_-" and its hexadecimal code. A name that would be longer than 64 is cut, and ends with "___" and 120 bits of the
// SHA-256 of the id; no other name holds "___" so. id is one that [ID] made.
func FlatName(id string) string {
	source, rest, _ := strings.Cut(id, ":")
	owner, tool, _ := strings.Cut(rest, ":")
	var b strings.Builder
	dotted := strings.Contains(owner, ".")
	switch {
	case source == SourceCloister && owner == OwnerCore:
	case source == SourceCloister && dotted, source == SourceMCP && !dotted:
		flatten(&b, owner)
		b.WriteString(flatSeparator)
	default:
		b.WriteString(source + flatSeparator)
		flatten(&b, owner)
		b.WriteString(flatSeparator)
	}
	flatten(&b, tool)
	name := b.String()
	if len(name) <= MaxFlatName {
		return name
	}
	sum := sha256.Sum256([]byte(id))
	hash := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:flatHashLen]
	head := name[:MaxFlatName-len(flatHash)-flatHashLen]
	if i := strings.LastIndex(head, flatEscape); i >= 0 && len(head)-i < len(flatEscape)+2 {
		head = head[:i] // an escape is whole or not there
	}
	return strings.TrimRight(head, "-_") + flatHash + hash
}

// FlatPart gives one part of an id as it stands in the name that [FlatName] makes. It never holds "__".
func FlatPart(part string) string {
	var b strings.Builder
	flatten(&b, part)
	return b.String()
}

// flatten writes one part of an id.
func flatten(b *strings.Builder, part string) {
	for i := range len(part) {
		c := part[i]
		alone := i > 0 && i+1 < len(part) && wordChars.has(part[i-1]) && wordChars.has(part[i+1])
		switch {
		case wordChars.has(c):
			b.WriteByte(c)
		case alone && (c == '_' || c == '-'):
			b.WriteByte(c)
		case alone && c == '.':
			b.WriteString(flatDot)
		case alone && c == '/':
			b.WriteString(flatSlash)
		default:
			const digits = "0123456789abcdef"
			b.WriteString(flatEscape)
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
}
