package policy

import (
	"regexp"
	"slices"

	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/eval"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// view is what a policy looks at beside the tool. All but the agent is unknown before a
// call.
type view uint8

const (
	looksAtAgent     view = 1 << iota // the principal, in any way
	looksAtPrincipal                  // the principal as a whole, or its caller
	looksAtCaller                     // context.caller
	looksAtInput                      // context.input
	looksAtDecimals                   // context.decimals

	looksAtContext   = looksAtCaller | looksAtInput | looksAtDecimals
	looksAtArguments = looksAtInput | looksAtDecimals
)

// checker finds what in a policy can only be a mistake. Cedar itself takes a name that
// does not exist for one that matches nothing, and a forbid that matches nothing lets
// everything pass.
type checker struct {
	rule   *rule
	faults []Fault
}

func (c *checker) fault(format string, args ...any) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, c.rule.fault(format, args...))
	}
}

// idForm keeps names fit for a line of a log.
var idForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./-]*$`)

// knownAnnotations are the annotations that mean something here, and two for people.
var knownAnnotations = []string{"approval", "description", "doc", "id", "reason"}

func (c *checker) annotations() {
	r := c.rule
	for _, a := range r.ast.Annotations {
		value := string(a.Value)
		switch a.Key {
		case "id":
			r.id = value
			if len(value) > maxIDBytes || !idForm.MatchString(value) {
				c.fault("@id(%q) must be 1 to %d letters, digits and _ . / -", plaintext.Clip(value, maxShown), maxIDBytes)
			}
		case "approval":
			c.approval(value)
		case "reason":
			r.Reason = value
			c.text("reason", value, maxReasonBytes)
		case "description", "doc":
			c.text(string(a.Key), value, maxNoteBytes)
		default:
			c.fault("@%s means nothing here%s", plaintext.Clip(string(a.Key), maxShown), meant(string(a.Key), knownAnnotations))
		}
	}
}

func (c *checker) approval(value string) {
	if c.rule.Effect == "forbid" {
		c.fault("@approval stands on a forbid, which no approval can overrule; put it on a permit")
		return
	}
	c.rule.Approval = host.Approval(value)
	if strictness(c.rule.Approval) < 0 {
		c.fault(`@approval(%q) must be "never", "ask" or "always"`, plaintext.Clip(value, maxShown))
	}
}

func (c *checker) text(key, value string, most int) {
	if value == "" || len(value) > most || !plaintext.Plain(value) {
		c.fault("@%s must be one line of 1 to %d bytes without control characters", key, most)
	}
}

// scopes checks what stands in the brackets of permit and forbid.
func (c *checker) scopes() {
	c.scope("principal", c.rule.ast.Principal, typeAgent)
	if agent, ok := scopeEntity(c.rule.ast.Principal); ok {
		c.rule.agent = &agent
		c.rule.looks |= looksAtAgent
	}
	c.scope("action", c.rule.ast.Action, typeAction)
	c.scope("resource", c.rule.ast.Resource, typeTool, typeOwner, typeSource)
}

// scope wants the first type for == and is, and any of them for in.
func (c *checker) scope(what string, node ast.IsScopeNode, fits ...types.EntityType) {
	switch n := node.(type) {
	case ast.ScopeTypeEq:
		c.scopeEntity(what+" ==", n.Entity, fits[:1])
	case ast.ScopeTypeIn:
		c.scopeEntity(what+" in", n.Entity, fits)
	case ast.ScopeTypeInSet:
		if len(n.Entities) == 0 {
			c.fault("%s in [] matches nothing", what)
		}
		for _, e := range n.Entities {
			c.scopeEntity(what+" in", e, fits)
		}
	case ast.ScopeTypeIs:
		c.scopeType(what, n.Type, fits)
	case ast.ScopeTypeIsIn:
		c.scopeType(what, n.Type, fits)
		c.scopeEntity(what+" in", n.Entity, fits)
	}
}

func (c *checker) scopeEntity(what string, e types.EntityUID, fits []types.EntityType) {
	if wrong := badEntity(e); wrong != "" {
		c.fault("%s: %s", what, wrong)
	} else if !slices.Contains(fits, e.Type) {
		c.fault("%s %s matches nothing: it is no %s", what, plaintext.Clip(e.String(), maxShown), fits[0])
	}
}

func (c *checker) scopeType(what string, t types.EntityType, fits []types.EntityType) {
	if wrong := badType(t); wrong != "" {
		c.fault("%s is: %s", what, wrong)
	} else if t != fits[0] {
		c.fault("%s is %s matches nothing: it is a %s", what, t, fits[0])
	}
}

func (c *checker) conditions() {
	for _, cond := range c.rule.ast.Conditions {
		ast.Inspect(ast.NewNode(cond.Body), c.node)
	}
}

// node checks one node of a condition, and notes what the policy looks at.
func (c *checker) node(n ast.IsNode) bool {
	switch n := n.(type) {
	case ast.NodeTypeAccess:
		return c.attribute(n.Arg, string(n.Value))
	case ast.NodeTypeHas:
		return c.attribute(n.Arg, string(n.Value))
	case ast.NodeTypeVariable:
		c.variable(string(n.Name))
	case ast.NodeValue:
		if e, ok := n.Value.(types.EntityUID); ok {
			if wrong := badEntity(e); wrong != "" {
				c.fault("%s", wrong)
			}
			if e.Type == typeAgent { // the agent has all that the principal has
				c.rule.looks |= looksAtAgent | looksAtPrincipal
			}
		}
	case ast.NodeTypeIs:
		c.isType(n.EntityType)
	case ast.NodeTypeIsIn:
		c.isType(n.EntityType)
	case ast.NodeTypeLike:
		if len(n.Value.MarshalCedar()) > MaxPatternBytes {
			c.fault("the pattern of like is longer than %d bytes", MaxPatternBytes)
		}
	case ast.NodeTypeHasTag, ast.NodeTypeGetTag:
		c.fault("nothing here has tags")
	case ast.NodeTypeExtensionCall:
		c.extension(n)
	}
	return true
}

func (c *checker) isType(t types.EntityType) {
	if wrong := badType(t); wrong != "" {
		c.fault("%s", wrong)
	}
}

// variable is one of the four without an attribute behind it.
func (c *checker) variable(name string) {
	switch name {
	case "context":
		c.rule.looks |= looksAtContext
	case "principal":
		c.rule.looks |= looksAtAgent | looksAtPrincipal
	}
}

// attribute checks arg.name and arg has name, and says whether to look into arg.
func (c *checker) attribute(arg ast.IsNode, name string) bool {
	if inner, ok := arg.(ast.NodeTypeAccess); ok && inner.Value == "annotations" {
		if v, ok := inner.Arg.(ast.NodeTypeVariable); ok && v.Name == "resource" {
			c.known("resource.annotations", name, annotationAttributes)
			return false
		}
	}
	v, ok := arg.(ast.NodeTypeVariable)
	if !ok {
		return true
	}
	switch v.Name {
	case "principal":
		c.known("principal", name, agentAttributes)
		c.rule.looks |= looksAtAgent
		if name == "caller" {
			c.rule.looks |= looksAtPrincipal
		}
	case "resource":
		c.known("resource", name, toolAttributes)
	case "context":
		c.known("context", name, contextAttributes)
		c.rule.looks |= map[string]view{"caller": looksAtCaller, "input": looksAtInput, "decimals": looksAtDecimals}[name]
	default:
		c.fault("%s has no attributes", v.Name)
	}
	return false
}

func (c *checker) known(of, name string, known []string) {
	if !slices.Contains(known, name) {
		c.fault("%s has no attribute %s%s", of, plaintext.Short(name, maxShown), meant(name, known))
	}
}

// extension tries a call such as decimal("1.5") whose arguments are all written out:
// one that fails would fail each time, and deny everything.
func (c *checker) extension(n ast.NodeTypeExtensionCall) {
	for _, arg := range n.Args {
		if _, ok := arg.(ast.NodeValue); !ok {
			return
		}
	}
	if _, err := eval.Eval(n, eval.Env{}); err != nil {
		c.fault("%s cannot be evaluated: %s", plaintext.Clip(string(n.Name), maxShown), plaintext.Short(err.Error(), maxShown))
	}
}

// strictness orders approvals; -1 is none of them.
func strictness(a host.Approval) int {
	return slices.Index([]host.Approval{host.ApprovalNever, host.ApprovalAsk, host.ApprovalAlways}, a)
}

// stricter gives the stricter of two approvals. An empty one asks for nothing.
func stricter(a, b host.Approval) host.Approval {
	if strictness(b) > strictness(a) {
		return b
	}
	return a
}
