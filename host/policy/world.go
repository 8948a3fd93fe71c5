package policy

import (
	cedar "github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/eval"

	"github.com/cloister-wasm/cloister/host"
)

// world is what Cedar knows of one call: the few entities that it is about. Cedar
// asks for one only if a policy looks into it, so they are made then. It is for one
// goroutine.
type world struct {
	scope  host.Scope
	facts  *host.ToolFacts
	caller types.Value // a string, or unknown
	cache  *toolCache

	principal, resource types.EntityUID

	agentEntity *types.Entity
	tool        *toolEntities
}

// unknownCaller stands for a plugin that is known when a call is made.
var unknownCaller = eval.Variable("caller")

func (s *Set) world(scope host.Scope, facts *host.ToolFacts, caller types.Value) *world {
	return &world{
		scope: scope, facts: facts, caller: caller, cache: s.cache,
		principal: types.NewEntityUID(typeAgent, types.String(scope.AgentID)),
		resource:  types.NewEntityUID(typeTool, types.String(facts.ID)),
	}
}

func (w *world) request(context types.Record) cedar.Request {
	return cedar.Request{Principal: w.principal, Action: actionCall, Resource: w.resource, Context: context}
}

// Get implements types.EntityGetter.
func (w *world) Get(uid types.EntityUID) (types.Entity, bool) {
	switch uid.Type {
	case typeAgent:
		if uid == w.principal {
			return w.agent(), true
		}
	case typeTool, typeOwner, typeSource:
		return w.tools().get(uid)
	case typeAction:
		return types.Entity{UID: actionCall}, uid == actionCall
	}
	return types.Entity{}, false
}

func (w *world) tools() *toolEntities {
	if w.tool == nil {
		w.tool = w.cache.get(w.facts)
	}
	return w.tool
}

// all gives the entities for people and for other tools.
func (w *world) all() types.EntityMap {
	m := types.EntityMap{}
	for _, uid := range []types.EntityUID{w.principal, w.resource, w.tools().owner.UID, w.tools().source.UID, actionCall} {
		m[uid], _ = w.Get(uid)
	}
	return m
}

func (w *world) agent() types.Entity {
	if w.agentEntity == nil {
		w.agentEntity = &types.Entity{UID: w.principal, Attributes: types.NewRecord(types.RecordMap{
			"agent":      types.String(w.scope.AgentID),
			"session":    types.String(w.scope.SessionID),
			"sessionKey": types.String(w.scope.SessionKey),
			"sender":     types.String(w.scope.Sender),
			"channel":    types.String(w.scope.Channel),
			"sandboxed":  types.Boolean(w.scope.Sandboxed),
			"caller":     w.caller,
		})}
	}
	return *w.agentEntity
}
