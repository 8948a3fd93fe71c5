package catalog

import (
	"encoding/json"
	"fmt"

	"github.com/cloister-wasm/cloister/internal/declare"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// Tier is the rank of a tool's origin. The catalog is ordered by it: core tools, bundled plugins, external plugins, MCP
// servers, client tools (contract "Catalog").
type Tier int

// The tiers in catalog order.
const (
	Core     Tier = iota // tools of the host itself; owner "core"
	Bundled              // plugins that ship with the host
	External             // plugins that were installed
	MCP                  // tools of MCP servers
	Client               // tools that the calling application lends to one run
)

// String names the tier in lower case.
func (t Tier) String() string {
	switch t {
	case Core:
		return "core"
	case Bundled:
		return "bundled"
	case External:
		return "external"
	case MCP:
		return "mcp"
	case Client:
		return "client"
	}
	return fmt.Sprintf("Tier(%d)", int(t))
}

// Bounds on one entry, in bytes, and on the number of entries. They are checked before anything is parsed.
const (
	MaxLabelLen       = 1 << 10
	MaxDescriptionLen = 64 << 10
	MaxSchemaLen      = declare.MaxBytes // each of Parameters and Returns
	MaxEntries        = 100_000          // given to one Build
)

// Entry is one tool of a run.
//
// Entries that come out of a [Catalog] belong to it: read them, never write to them.
type Entry struct {
	// ID is "<source>:<owner>:<tool>" as [ID] forms it. It may be left empty in the input of [Build], which fills it in;
	// an ID that disagrees with Source, Owner and Name is an error.
	ID string
	// Name is the tool's own name, as its owner gave it.
	Name string
	// Label is an optional title for people, at most [MaxLabelLen] bytes.
	Label string
	// Description says what the tool does, at most [MaxDescriptionLen] bytes. It is written by the owner: hostile.
	Description string
	// Source is [SourceCloister], [SourceMCP] or [SourceClient].
	Source string
	// Owner is "core", a plugin id, the name of an MCP server, or of a client application.
	Owner string
	// Tier must agree with Source and Owner: Core goes with cloister:core, Bundled and External with other owners of
	// cloister, MCP with mcp, Client with client.
	Tier Tier
	// Parameters is the JSON Schema of the input, an object; nil means {"type":"object"}.
	Parameters json.RawMessage
	// Returns is the JSON Schema of the output, an object or a boolean; nil when none is declared.
	Returns json.RawMessage
	// Unsigned marks a development plugin that was loaded without a signature. Describe shows it.
	Unsigned bool
	// Control marks a tool of the code mode surface itself (its exec, its wait), which is never catalogued. It tells
	// the code mode exec from a core shell tool of the same name.
	Control bool
	// Ref is the host's own handle of the tool. This package only carries it.
	Ref any
}

// guest reports whether guest code sees the tool in ALL_TOOLS and tools.*. MCP tools are reached through the MCP
// global instead.
func (e *Entry) guest() bool { return e.Source != SourceMCP }

// sourceName is the owner where it adds to the source.
func (e *Entry) sourceName() string {
	if e.Source == SourceCloister && e.Owner == OwnerCore {
		return ""
	}
	return e.Owner
}

// control reports whether the entry is one of the tools that the catalog never holds: those marked so, and every tool
// that bears one of the reserved names, whoever owns it, but for the core shell tool "exec".
func (e *Entry) control() bool {
	if e.Control {
		return true
	}
	switch e.Name {
	case "exec":
		return e.Source != SourceCloister || e.Owner != OwnerCore
	case "wait", "tool_search_code", "tool_search", "tool_describe", "tool_call":
		return true
	}
	return false
}

// newEntry checks one input entry and returns the catalog's own copy with its id, without its schemas and texts, which
// are only worth cleaning once the entry is known to be visible.
func newEntry(index int, in *Entry) (*Entry, error) {
	id, err := ID(in.Source, in.Owner, in.Name)
	if err != nil {
		return nil, &EntryError{Index: index, Field: "ID", Reason: err.Error(), Err: err}
	}
	fail := func(field, reason string) (*Entry, error) {
		return nil, &EntryError{Index: index, ID: id, Field: field, Reason: reason}
	}
	if in.ID != "" && in.ID != id {
		return fail("ID", "is "+quote(in.ID)+", but source, owner and name make "+quote(id)+"; leave it empty")
	}
	if !tierFits(in) {
		return fail("Tier", fmt.Sprintf("%v does not go with source %s and owner %s", in.Tier, in.Source, in.Owner))
	}
	if len(in.Label) > MaxLabelLen {
		return fail("Label", fmt.Sprintf("has %d bytes, at most %d are allowed; shorten it", len(in.Label), MaxLabelLen))
	}
	if len(in.Description) > MaxDescriptionLen {
		return fail("Description", fmt.Sprintf("has %d bytes, at most %d are allowed; shorten it", len(in.Description), MaxDescriptionLen))
	}
	out := *in
	out.ID = id
	return &out, nil
}

// Validate says what is wrong with one entry by itself: an [EntryError], as [Build] gives it.
func Validate(in *Entry) error {
	e, err := newEntry(0, in)
	if err == nil {
		_, err = e.finish(0)
	}
	return err
}

func tierFits(e *Entry) bool {
	switch e.Source {
	case SourceCloister:
		if e.Owner == OwnerCore {
			return e.Tier == Core
		}
		return e.Tier == Bundled || e.Tier == External
	case SourceMCP:
		return e.Tier == MCP
	default:
		return e.Tier == Client
	}
}

// finish fills in the cleaned texts and the compacted schemas, and returns the one of the input.
func (e *Entry) finish(index int) (params declare.Value, err error) {
	e.Label = plaintext.Prompt(e.Label, plaintext.Whole)
	e.Description = plaintext.PromptLines(e.Description, plaintext.Whole)
	fail := func(field string, err error) error {
		return &EntryError{Index: index, ID: e.ID, Field: field, Reason: err.Error() + "; give a JSON Schema", Err: err}
	}
	given := e.Parameters
	if given == nil {
		given = json.RawMessage(`{"type":"object"}`)
	}
	if params, err = declare.Parse(given); err == nil && !params.IsObject() {
		err = errNotObject
	}
	if err != nil {
		return declare.Value{}, fail("Parameters", err)
	}
	e.Parameters = json.RawMessage(params.Raw())
	if e.Returns == nil {
		return params, nil
	}
	returns, err := declare.Parse(e.Returns)
	if err == nil && !returns.IsObject() && !returns.IsBool() {
		err = errNotObject
	}
	if err != nil {
		return declare.Value{}, fail("Returns", err)
	}
	e.Returns = json.RawMessage(returns.Raw())
	return params, nil
}
