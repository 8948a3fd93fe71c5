package trust

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/bundle"
	"github.com/cloister-wasm/cloister/plugins/lock"
)

func TestClassify(t *testing.T) {
	_, manifestErr := plugins.ParseManifest([]byte("{}"))
	_, formatErr := bundle.Build(bundle.Files{})
	_, boundsErr := bundle.Build(bundle.Files{Manifest: make([]byte, bundle.MaxManifestBytes+1), Wasm: []byte("x")})
	a := artifact(t, helloJSON)
	_, digestErr := bundle.FromBlobs(a.Digest(), func(string, int64) ([]byte, error) { return []byte("{}"), nil }, nil)
	_, filesErr := bundle.FromBlobs(a.Digest(), func(string, int64) ([]byte, error) { return nil, os.ErrPermission }, nil)
	drift := (&lock.File{Version: 1}).CheckPlugin("acme.hello", a.Digest(), "x")
	_, lockErr := lock.Parse([]byte("{"))
	_, policyErr := ParsePolicy([]byte("{}"))
	_, verifyErr := policy(t).Verify(t.Context(), a)
	plugin := func(kind error) error {
		return &plugins.PluginError{Plugin: "acme.hello", Kind: kind, Detail: "detail"}
	}
	for _, c := range []struct {
		name  string
		err   error
		step  Step
		state State
	}{
		{"a manifest", manifestErr, StepManifest, StateInvalid},
		{"a bundle's format", formatErr, StepFormat, StateInvalid},
		{"a bundle's bounds", boundsErr, StepBounds, StateInvalid},
		{"a bundle's digests", digestErr, StepDigests, StateInvalid},
		{"a bundle's files", filesErr, StepLoad, StateInternal},
		{"drift", drift, StepLock, StateInvalid},
		{"a broken lock file", lockErr, StepLock, StateInternal},
		{"a broken policy", policyErr, StepPolicy, StateInternal},
		{"no policy", ErrNoPolicy, StepPolicy, StateInternal},
		{"our own", verifyErr, StepSignature, StateUnsigned},
		{"an unsigned folder", plugin(plugins.ErrUnsigned), StepSignature, StateUnsigned},
		{"a plugin's manifest", plugin(plugins.ErrManifest), StepManifest, StateInvalid},
		{"imports", plugin(plugins.ErrImport), StepImports, StateInvalid},
		{"a module", plugin(plugins.ErrModule), StepImports, StateInvalid},
		{"exports", plugin(plugins.ErrExport), StepImports, StateInvalid},
		{"permissions", plugin(plugins.ErrPermission), StepImports, StateInvalid},
		{"a conflict", plugin(plugins.ErrConflict), StepOwnership, StateNotOwned},
		{"the host", plugin(plugins.ErrHost), StepLoad, StateInternal},
		{"files", plugin(plugins.ErrFiles), StepLoad, StateInternal},
		{"a closed plugin", plugin(plugins.ErrClosed), StepLoad, StateInternal},
		{"anything else", io.ErrUnexpectedEOF, StepLoad, StateInternal},
		{"a text that says unsigned", errors.New("not signed"), StepLoad, StateInternal},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.err == nil {
				t.Fatal("there is no error to classify")
			}
			for _, err := range []error{c.err, fmt.Errorf("loading: %w", c.err), errors.Join(errors.New("also"), c.err)} {
				e := Classify(err)
				if e == nil || e.Step != c.step || e.State != c.state {
					t.Fatalf("%v: got %v, want step %s and state %s", err, e, c.step, c.state)
				}
				if !errors.Is(e, c.err) {
					t.Errorf("%v lost its cause", e)
				}
				if strings.Contains(e.Error(), "\n") {
					t.Errorf("the text is not one line: %q", e)
				}
				if errors.Is(e, ErrUnsigned) != (c.state == StateUnsigned) {
					t.Errorf("%v reads as unsigned", e)
				}
			}
		})
	}
	if e := Classify(nil); e != nil {
		t.Errorf("nil is %v", e)
	}
	if e := (&Error{Step: StepLoad, State: "fine"}); !errors.Is(e, ErrInternal) {
		t.Errorf("an unknown state is %v", e)
	}
}
