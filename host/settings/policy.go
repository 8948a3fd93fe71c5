package settings

import (
	"fmt"
	"path/filepath"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/policy"
	"github.com/cloister-wasm/cloister/internal/forms"
	"github.com/cloister-wasm/cloister/internal/json5"
)

// readPolicy is the shape of the section `policy`. A file that was merely found may
// name policies, since they only narrow what the globs let pass; but not those of
// other folders, and no lower approvals (see PolicySet).
func (s *Settings) readPolicy(r *reader) keys {
	return keys{
		"files": func(n *json5.Node, path string) {
			r.strings(&s.Policies, forms.NotEmpty)(n, path)
			if n.Kind == json5.Array && len(n.Elements) == 0 {
				r.fault(n.Pos, path, "must name a file; without the key there are no policies")
			}
			for _, file := range s.Policies {
				if !filepath.IsLocal(file) {
					r.onlyNamed(n, path)
					return
				}
			}
		},
	}
}

// PolicySet reads the policies of policy.files as they are now; nil if the file names
// none. Those of a file that was merely found raise approvals and never lower them: one
// that would is a fault (ErrFound). Errors of the policies themselves are *policy.Error.
func (s *Settings) PolicySet() (*policy.Set, error) {
	if s.Policies == nil {
		return nil, nil
	}
	set, err := policy.Load(s.Policies...)
	if err != nil || !s.Found {
		return set, err
	}
	var faults []Fault
	for _, p := range set.Policies() {
		if p.Approval == host.ApprovalNever {
			faults = append(faults, Fault{File: p.Place(), Message: fmt.Sprintf("@approval(%q) would lower what tools ask for; the configuration that names this policy was merely found in the working folder", p.Approval)})
		}
	}
	if len(faults) > 0 {
		return nil, &Error{Faults: faults, found: true}
	}
	return set.Narrowing(), nil
}

// ToolPolicy is PolicySet as the host takes it: nil, and no nil set, where there are no
// policies.
func (s *Settings) ToolPolicy() (host.Policy, error) {
	set, err := s.PolicySet()
	if set == nil || err != nil {
		return nil, err
	}
	return set, nil
}
