package policy

import (
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go/types"

	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// The types of entities.
const (
	typeAgent  types.EntityType = "Cloister::Agent"
	typeAction types.EntityType = "Cloister::Action"
	typeTool   types.EntityType = "Cloister::Tool"
	typeOwner  types.EntityType = "Cloister::Owner"
	typeSource types.EntityType = "Cloister::Source"
	typeNumber types.EntityType = "Cloister::Number"
	typeNull   types.EntityType = "Cloister::Null"
	typeLarge  types.EntityType = "Cloister::Large"
)

var (
	actionCall  = types.NewEntityUID(typeAction, "call")
	nullElement = types.NewEntityUID(typeNull, "")
)

var entityTypes = []types.EntityType{typeAgent, typeAction, typeTool, typeOwner, typeSource, typeNumber, typeNull, typeLarge}

// The attributes that exist. All of them are always there.
var (
	agentAttributes      = []string{"agent", "session", "sessionKey", "sender", "channel", "sandboxed", "caller"}
	toolAttributes       = []string{"id", "name", "owner", "source", "annotations", "signer", "publisher", "unsigned", "approval"}
	annotationAttributes = []string{"readOnly", "destructive", "idempotent", "openWorld", "stated"}
	contextAttributes    = []string{"caller", "input", "decimals"}
)

var sources = []string{catalog.SourceCloister, catalog.SourceMCP, catalog.SourceClient}

// meant adds the name that was probably meant.
func meant(name string, known []string) string {
	if near := schema.Suggest(name, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return "; there is " + strings.Join(known, ", ")
}

// badType says what is wrong with the type of an entity, or "". A type that does not
// exist matches nothing, so that a forbid with one would forbid nothing.
func badType(t types.EntityType) string {
	if slices.Contains(entityTypes, t) {
		return ""
	}
	if slices.Contains(entityTypes, "Cloister::"+t) {
		return "there is no type " + string(t) + "; write Cloister::" + string(t)
	}
	known := make([]string, len(entityTypes))
	for i, e := range entityTypes {
		known[i] = string(e)
	}
	return "there is no type " + plaintext.Clip(string(t), maxShown) + meant(string(t), known)
}

// badEntity says why an entity can never be met, or "".
func badEntity(e types.EntityUID) string {
	id := string(e.ID)
	shown := plaintext.Clip(e.String(), maxShown)
	switch e.Type {
	case typeAction:
		if e != actionCall {
			return "there is no " + shown + "; the one action is " + actionCall.String()
		}
	case typeTool:
		if badID(id) {
			return shown + " matches nothing; the ids of tools are source:owner:tool, such as mcp:github:create_issue"
		}
	case typeOwner:
		if strings.Count(id, ":") != 1 || badID(id+":tool") {
			return shown + " matches nothing; owners are source:owner, such as mcp:github or cloister:core"
		}
	case typeSource:
		if !slices.Contains(sources, id) {
			return shown + " matches nothing; sources are " + strings.Join(sources, ", ")
		}
	case typeNull:
		if e != nullElement {
			return "there is no " + shown + "; null in an array is " + nullElement.String()
		}
	case typeLarge:
		return shown + " cannot be compared with; write: is Cloister::Large"
	case typeNumber:
		v, problem := number(id)
		if uid, ok := v.(types.EntityUID); problem != "" || !ok || uid != e {
			return shown + " matches nothing; a number that a long or a decimal can hold is one, and others are written as JavaScript does"
		}
	}
	return badType(e.Type)
}

// badID says whether no tool can have the id.
func badID(id string) bool {
	source, rest, _ := strings.Cut(id, ":")
	owner, tool, _ := strings.Cut(rest, ":")
	_, err := catalog.ID(source, owner, tool)
	return err != nil
}

func toolUID(id string) types.EntityUID { return types.NewEntityUID(typeTool, types.String(id)) }
