package mcpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/cloister-wasm/cloister/internal/catalog"
)

// Third parts of the ids under which a lock file holds what is no tool of a server: its instructions, and that it has
// resources and prompts. No tool has them.
const (
	InstructionsID = "server/instructions"
	ResourcesID    = "server/resources"
	PromptsID      = "server/prompts"
)

// IsText says whether the third part of an id is one of these.
func IsText(name string) bool {
	return name == InstructionsID || name == ResourcesID || name == PromptsID
}

// reservedIDs are names of control tools, and the catalog entries of a server's resources and prompts.
var reservedIDs = wordSet("exec wait tool_search_code tool_search tool_describe tool_call",
	"resources/read resources/list prompts/get prompts/list", InstructionsID, ResourcesID, PromptsID)

// maxCleaned bounds the readable part of a made id name, in bytes.
const maxCleaned = 60

// IDNames gives the third parts of the catalog ids ("mcp:<server>:<part>") of a server's tools, in their order. A name that
// [catalog.ID] takes and that is not reserved is its own part. Others get what is left of them in ASCII, "-" and 8 hexadecimal digits of
// the SHA-256 of the name: they do not depend on the other tools, so that policies can name them. Only where that is taken
// too, by a name made for that purpose or by a name that is listed twice, more digits and then a number tell them
// apart. The results are unique in the list.
func IDNames(tools []string) []string {
	out := make([]string, len(tools))
	taken := make(map[string]bool, len(tools))
	for i, name := range tools {
		if _, err := catalog.ID(catalog.SourceMCP, "x", name); err == nil && !reservedIDs[name] && !taken[name] {
			out[i], taken[name] = name, true
		}
	}
	repeated := map[string]int{}
	for i, name := range tools {
		if out[i] == "" {
			out[i] = madeID(name, taken, repeated)
			taken[out[i]] = true
		}
	}
	return out
}

func madeID(name string, taken map[string]bool, repeated map[string]int) string {
	sum := sha256.Sum256([]byte(name))
	digits := hex.EncodeToString(sum[:])
	cleaned := cleanID(name)
	for _, n := range []int{8, 16} {
		if id := cleaned + "-" + digits[:n]; !taken[id] {
			return id
		}
	}
	for id := cleaned + "-" + digits[:32]; ; {
		n := max(2, repeated[id])
		repeated[id] = n + 1
		if numbered := id + "-" + strconv.Itoa(n); !taken[numbered] {
			return numbered
		}
	}
}

// cleanID keeps what may stand in an id without slashes, and writes "-" for each run of other characters.
func cleanID(name string) string {
	if len(name) > maxNameRead {
		name = name[:maxNameRead]
	}
	out := make([]byte, 0, maxCleaned)
	for i := 0; i < len(name) && len(out) < maxCleaned; i++ {
		switch c := name[i]; {
		case isAlphanumeric(c), c == '_', len(out) > 0 && c == '.':
			out = append(out, c)
		case len(out) > 0 && out[len(out)-1] != '-':
			out = append(out, '-')
		}
	}
	for len(out) > 0 && (out[len(out)-1] == '-' || out[len(out)-1] == '.') {
		out = out[:len(out)-1]
	}
	if len(out) == 0 {
		return "tool"
	}
	return string(out)
}
