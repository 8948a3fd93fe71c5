package view

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/internal/catalog"
)

// maxToolName is the longest name that all providers take for a tool.
const maxToolName = 64

// directSurface is what a model sees without code mode: every tool. A name that two
// owners have gets its owner in front.
func directSurface(entries []*catalog.Entry) []api.ToolDefinition {
	names := make([]string, len(entries))
	count := map[string]int{}
	for i, e := range entries {
		names[i] = plainName(e.Name)
		count[names[i]]++
	}
	for i, e := range entries {
		if count[names[i]] > 1 {
			names[i] = plainName(e.Owner + "_" + e.Name)
		}
	}
	seen := map[string]bool{}
	out := make([]api.ToolDefinition, 0, len(entries))
	for i, e := range entries {
		name := names[i]
		if len(name) > maxToolName || seen[name] {
			// The id is unique, and so, for all that matters, is its hash.
			sum := sha256.Sum256([]byte(e.ID))
			name = name[:min(len(name), maxToolName-9)] + "_" + hex.EncodeToString(sum[:4])
		}
		seen[name] = true
		out = append(out, api.ToolDefinition{
			Name: name, Description: e.Description, Parameters: e.Parameters, ID: e.ID, Label: e.Label, Returns: e.Returns, Annotations: e.Ref.(Ref).Hints(),
		})
	}
	return out
}

// plainName writes what providers do not take as '_'.
func plainName(name string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			return c
		}
		return '_'
	}, name)
}
