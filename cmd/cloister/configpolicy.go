package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cloister-wasm/cloister/host"
	cedar "github.com/cloister-wasm/cloister/host/policy"
	"github.com/cloister-wasm/cloister/internal/forms"
	"github.com/cloister-wasm/cloister/internal/json5"
)

// cedarConfig is the section `policy`.
type cedarConfig struct {
	// files are policy.files, resolved against the configuration's folder; nil if the
	// file does not have it.
	files []string
}

// readPolicy is the shape of the section `policy`. A file that was merely found may
// name policies, since they only narrow what the globs let pass; but not those of
// other folders, and no lower approvals (see load).
func (c *config) readPolicy(r *configReader) keys {
	return keys{
		"files": func(n *json5.Node, path string) {
			r.strings(&c.policy.files, forms.NotEmpty)(n, path)
			if n.Kind == json5.Array && len(n.Elements) == 0 {
				r.fault(n.Pos, path, "must name a file; without the key there are no policies")
			}
			for _, file := range c.policy.files {
				if !filepath.IsLocal(file) {
					c.plugins.onlyNamed(r, n, path)
					return
				}
			}
		},
	}
}

// resolve makes paths those of the configuration's folder.
func (p *cedarConfig) resolve(name string) {
	for i, file := range p.files {
		p.files[i] = besideFile(name, file)
	}
}

// toolPolicy is the policy of the configuration, or nil if it names none.
func (c *config) toolPolicy() (host.Policy, error) {
	set, err := c.policy.load(c.found)
	if set == nil || err != nil {
		return nil, err
	}
	return set, nil
}

// load reads the policies that the configuration names; nil if it names none. Those of
// a file that was merely found raise approvals and never lower them.
func (p *cedarConfig) load(found bool) (*cedar.Set, error) {
	if p.files == nil {
		return nil, nil
	}
	set, err := loadPolicyFiles(p.files)
	if err != nil || !found {
		return set, err
	}
	var errs []error
	for _, one := range set.Policies() {
		if one.Approval == host.ApprovalNever {
			errs = append(errs, fmt.Errorf(`%s: @approval("never") would lower what tools ask for; the configuration that names this policy was merely found in the working folder`, one.Place()))
		}
	}
	if len(errs) > 0 {
		return nil, usageError(errors.Join(errs...), "name the configuration with --config or CLOISTER_CONFIG if you trust whoever wrote it")
	}
	return set.Narrowing(), nil
}

func loadPolicyFiles(files []string) (*cedar.Set, error) {
	set, err := cedar.Load(files...)
	var pe *cedar.Error
	if errors.As(err, &pe) && len(pe.Faults) > 1 {
		err = fmt.Errorf("the policies have %d faults\n%w", len(pe.Faults), err)
	}
	if err != nil {
		return nil, usageError(err, "")
	}
	return set, nil
}
