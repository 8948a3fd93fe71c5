package catalog

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Sentinels of this package. Every error that it returns matches one of them with [errors.Is]; an
// entry whose id is at fault matches both ErrInvalidEntry and ErrInvalidID.
var (
	// ErrInvalidID: a part of a tool id breaks the id alphabet. Details are in [IDError].
	ErrInvalidID = errors.New("invalid tool id")
	// ErrInvalidEntry: a tool entry cannot be catalogued. Details are in [EntryError].
	ErrInvalidEntry = errors.New("invalid tool entry")
	// ErrInvalidPolicy: a rule or a layer cannot be used. Details are in [PatternError] where a rule is at fault.
	ErrInvalidPolicy = errors.New("invalid tool policy")
	// ErrDuplicateID: two visible tools share one id. Details are in [DuplicateIDError].
	ErrDuplicateID = errors.New("duplicate tool id")
	// ErrUnknownID: no tool of that id can be seen from guest code. Details are in [UnknownIDError].
	ErrUnknownID = errors.New("unknown tool id")
	// ErrDenied: a policy layer hides the tool. Details are in [DeniedError]. For the host's eyes: a guest gets
	// [ErrUnknownID] for the same tool, so that a denied tool cannot be told from one that does not exist.
	ErrDenied = errors.New("tool denied by policy")
)

var errNotObject = errors.New("is not a JSON object")

// IDError says which part of a tool id is wrong and why. It matches [ErrInvalidID].
type IDError struct {
	Part   string // "source", "owner" or "tool"
	Value  string // as given; hostile, quote it before printing
	Reason string // what is wrong and how to mend it
}

func (e *IDError) Error() string {
	return fmt.Sprintf("%v: %s %s %s", ErrInvalidID, e.Part, quote(e.Value), e.Reason)
}

// Unwrap returns [ErrInvalidID].
func (e *IDError) Unwrap() error { return ErrInvalidID }

// EntryError says which entry given to [Build] is wrong, in which field, and why. It matches [ErrInvalidEntry], and
// what Err matches.
type EntryError struct {
	Index  int    // position in the slice given to Build
	ID     string // id of the entry, where one could be formed
	Field  string // Go name of the field
	Reason string // what is wrong and how to mend it
	Err    error  // inner error, may be nil
}

func (e *EntryError) Error() string {
	which := "entry " + strconv.Itoa(e.Index)
	if e.ID != "" {
		which += " (" + quote(e.ID) + ")"
	}
	return fmt.Sprintf("%v: %s, field %s: %s", ErrInvalidEntry, which, e.Field, e.Reason)
}

// Unwrap returns [ErrInvalidEntry] and the inner error.
func (e *EntryError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrInvalidEntry}
	}
	return []error{ErrInvalidEntry, e.Err}
}

// PatternError names the rule of a policy layer that cannot be used. It matches [ErrInvalidPolicy].
type PatternError struct {
	Layer   string // name of the layer
	List    string // "allow", "deny" or "alsoAllow"
	Pattern string // the rule as given
	Reason  string // what is wrong and how to mend it
}

func (e *PatternError) Error() string {
	return fmt.Sprintf("%v: layer %s, %s rule %s: %s", ErrInvalidPolicy, quote(e.Layer), e.List, quote(e.Pattern), e.Reason)
}

// Unwrap returns [ErrInvalidPolicy].
func (e *PatternError) Unwrap() error { return ErrInvalidPolicy }

// DuplicateIDError names the id that two visible tools share. It matches [ErrDuplicateID].
type DuplicateIDError struct {
	ID string
}

func (e *DuplicateIDError) Error() string {
	return fmt.Sprintf("%v: %s is given twice; rename one of the tools, or deny that id in a policy layer", ErrDuplicateID, quote(e.ID))
}

// Unwrap returns [ErrDuplicateID].
func (e *DuplicateIDError) Unwrap() error { return ErrDuplicateID }

// UnknownIDError is the answer to a guest that named a tool it cannot see. It matches [ErrUnknownID].
type UnknownIDError struct {
	ID          string   // as the guest gave it; hostile, of any length
	Suggestions []string // up to three ids that the guest can see
}

func (e *UnknownIDError) Error() string {
	text := fmt.Sprintf("%v %s", ErrUnknownID, quote(e.ID))
	if strings.HasPrefix(e.ID, SourceMCP+":") {
		// Said of every such id, whether there is a tool or not.
		text += "; MCP tools are called as MCP.<server>.<tool>(input)"
	}
	if len(e.Suggestions) > 0 {
		return text + "; did you mean " + strings.Join(e.Suggestions, ", ") + "?"
	}
	return text + "; find tools with tools.search(query)"
}

// Unwrap returns [ErrUnknownID].
func (e *UnknownIDError) Unwrap() error { return ErrUnknownID }

// DeniedError carries the verdict of the layer that hides a tool, for host logs and traces. It matches [ErrDenied].
type DeniedError struct {
	ID      string
	Verdict Verdict
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("%v: %s is %s", ErrDenied, quote(e.ID), e.Verdict)
}

// Unwrap returns [ErrDenied].
func (e *DeniedError) Unwrap() error { return ErrDenied }

// quote renders hostile text for an error: ASCII only, quoted, and cut.
func quote(s string) string {
	const most = 96
	if len(s) <= most {
		return strconv.QuoteToASCII(s)
	}
	return strconv.QuoteToASCII(s[:most]) + "..."
}
