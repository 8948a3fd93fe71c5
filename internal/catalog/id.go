package catalog

import (
	"strconv"
	"strings"
)

// The sources of tools: first part of an id.
const (
	SourceCloister = "cloister" // core tools and plugins
	SourceMCP      = "mcp"      // tools of MCP servers
	SourceClient   = "client"   // tools that the calling application lends to one run
)

// OwnerCore owns the tools of the host itself. Only [SourceCloister] may use it.
const OwnerCore = "core"

// Longest parts of an id, in bytes. MCP allows tool names of 1 to 128 characters.
const (
	MaxOwnerLen = 128
	MaxToolLen  = 128
)

// ID forms the id of a tool, "<source>:<owner>:<tool>", or refuses with an [IDError].
//
//   - source: one of "cloister", "mcp", "client".
//   - owner: letters, digits, '_', '-' and '.', first a letter, digit or '_'; 1 to [MaxOwnerLen] bytes. It is "core" for
//     tools of the host, else a plugin id, the name of an MCP server or of a client application. "core" belongs to the
//     source "cloister" alone, so that no server can join the group "core" of a policy by its name.
//   - tool: letters, digits, '_', '-', '.' and '/', first a letter, digit or '_', with no empty, "." or ".." segment between
//     slashes; 1 to [MaxToolLen] bytes.
//
// Letters and digits are those of ASCII. So an id holds exactly two colons, nothing invisible, nothing that only looks
// like another id, and can be printed, logged and matched as it is. Ids are compared byte by byte: case counts.
func ID(source, owner, tool string) (string, error) {
	switch source {
	case SourceCloister, SourceMCP, SourceClient:
	default:
		return "", &IDError{Part: "source", Value: source, Reason: `is not one of "cloister", "mcp", "client"`}
	}
	if reason := checkPart(owner, MaxOwnerLen, ownerChars, "letters, digits, '_', '-' and '.'"); reason != "" {
		return "", &IDError{Part: "owner", Value: owner, Reason: reason}
	}
	if owner == OwnerCore && source != SourceCloister {
		return "", &IDError{Part: "owner", Value: owner, Reason: "is kept for the host's own tools; rename the server or application"}
	}
	if reason := checkPart(tool, MaxToolLen, toolChars, "letters, digits, '_', '-', '.' and '/'"); reason != "" {
		return "", &IDError{Part: "tool", Value: tool, Reason: reason}
	}
	if reason := checkSegments(tool); reason != "" {
		return "", &IDError{Part: "tool", Value: tool, Reason: reason}
	}
	return source + ":" + owner + ":" + tool, nil
}

// charset is a set of ASCII characters.
type charset [2]uint64

func newCharset(chars string) (set charset) {
	for i := range len(chars) {
		set.add(chars[i])
	}
	return set
}

func (s *charset) add(c byte)      { s[c>>6&1] |= 1 << (c & 63) }
func (s *charset) has(c byte) bool { return c < 128 && s[c>>6]&(1<<(c&63)) != 0 }

const alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

var (
	firstChars = newCharset(alphanumeric + "_")
	ownerChars = newCharset(alphanumeric + "_-.")
	toolChars  = newCharset(alphanumeric + "_-./")
)

// checkPart returns what is wrong with one part of an id, or "".
func checkPart(part string, most int, allowed charset, alphabet string) string {
	switch {
	case part == "":
		return "is empty"
	case len(part) > most:
		return "is longer than " + strconv.Itoa(most) + " bytes; shorten it"
	case !firstChars.has(part[0]):
		return "must begin with an ASCII letter, a digit or '_'"
	}
	for i := range len(part) {
		if !allowed.has(part[i]) {
			return "holds a character outside " + alphabet + "; rename it"
		}
	}
	return ""
}

// checkSegments refuses what a reader could take for a path that climbs.
func checkSegments(tool string) string {
	for segment := range strings.SplitSeq(tool, "/") {
		switch segment {
		case "":
			return "holds an empty segment between slashes; rename it"
		case ".", "..":
			return "holds a '.' or '..' segment; rename it"
		}
	}
	return ""
}
