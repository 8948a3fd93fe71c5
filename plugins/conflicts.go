package plugins

import (
	"fmt"
	"strings"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// ConflictError says that a plugin is refused because another one owns a name of its. It is ErrConflict.
type ConflictError struct {
	// Refused is the plugin that may not be used, Owner the one that has the name.
	Refused, Owner *Plugin
	// What is "id", "tool" or "global", and Name the name.
	What, Name string
}

// Error names both plugins.
func (e *ConflictError) Error() string {
	s := fmt.Sprintf("plugin %s: %v: %s %q belongs to %s", e.Refused.ID(), ErrConflict, e.What, plaintext.Line(e.Name, 80), e.Owner.ID())
	if e.Refused.Unsigned() && !e.Owner.Unsigned() {
		s += ", which is signed; a plugin under development never takes its place"
	}
	return s
}

// Unwrap gives ErrConflict.
func (e *ConflictError) Unwrap() error { return ErrConflict }

// Conflicts lists which of some plugins must not be used together with the others: those whose id, a tool's name (whatever
// its case) or a global another one owns. A signed plugin owns its names before any under development, and otherwise the
// earlier in the list. There is one [*ConflictError] for each refused plugin; what is not refused has no conflicts.
func Conflicts(ps []*Plugin) []error {
	owners := map[string]*Plugin{}
	refused := map[*Plugin]*ConflictError{}
	for _, unsigned := range []bool{false, true} {
		for _, p := range ps {
			if p.Unsigned() == unsigned && refused[p] == nil {
				if e := claim(owners, p); e != nil {
					refused[p] = e
				}
			}
		}
	}
	var errs []error
	for _, p := range ps {
		if e := refused[p]; e != nil {
			errs = append(errs, e)
			delete(refused, p) // one that is listed twice is refused once
		}
	}
	return errs
}

// claim enters all names of a plugin, or none of them.
func claim(owners map[string]*Plugin, p *Plugin) *ConflictError {
	names := [][2]string{{"id", p.ID()}}
	for _, t := range p.manifest.Tools {
		names = append(names, [2]string{"tool", t.Name})
	}
	for _, n := range p.manifest.Namespaces {
		names = append(names, [2]string{"global", n.GlobalName})
	}
	key := func(n [2]string) string {
		if n[0] == "tool" {
			return n[0] + " " + strings.ToLower(n[1])
		}
		return n[0] + " " + n[1]
	}
	for _, n := range names {
		if owner := owners[key(n)]; owner != nil {
			return &ConflictError{Refused: p, Owner: owner, What: n[0], Name: n[1]}
		}
	}
	for _, n := range names {
		owners[key(n)] = p
	}
	return nil
}
