package trust

import (
	"context"
	"regexp"

	"github.com/cloister-wasm/cloister/internal/schema"
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/bundle"
)

// Verify checks an artifact, whose bounds and digests package bundle has checked, in this order: a signature over its digest
// verifies → its signer is a publisher of the policy → neither key nor artifact is revoked → the publisher owns the plugin
// id, the tools and the globals → as many of its signers as its threshold wants have signed → the manifest is valid → its
// version is not below the policy's least one → its ABI is spoken here. Errors are an [*Error] with the step and the state.
//
// With several signatures, the first that passes the checks up to ownership counts: a signature that somebody adds can
// never make a good artifact bad, nor a bad one good. Where a threshold wants more signers than one, [Verified.Signer] is the
// one that the policy names first, in whatever order the signatures lie. When not enough pass, the error is the most telling:
// internal before too few, revoked, not owned, invalid, unknown.
//
// A nil policy is [ErrNoPolicy]; one with mistakes is [ErrPolicy]. Both are internal errors at the step policy. Verify is
// safe for concurrent use; the artifact must not change meanwhile. Nothing is looked up in any network.
func (p *Policy) Verify(ctx context.Context, a *bundle.Artifact) (*Verified, error) {
	v, err := p.verify(ctx, a)
	if err != nil {
		return nil, err
	}
	return v, nil
}

func (p *Policy) verify(ctx context.Context, a *bundle.Artifact) (v *Verified, refused *Error) {
	defer func() {
		if r := recover(); r != nil {
			v, refused = nil, panicked(StepSignature, r)
		}
	}()
	if p == nil {
		return nil, refuse(StepPolicy, StateInternal, ErrNoPolicy, "%v; without one nothing is loaded", ErrNoPolicy)
	}
	c, err := p.use()
	if err != nil {
		return nil, refuse(StepPolicy, StateInternal, err, "%v", err)
	}
	if a == nil {
		return nil, refuse(StepBounds, StateInternal, nil, "there is no artifact")
	}
	ch := checker{compiled: c, artifact: a, claims: readClaims(a.Files().Manifest)}
	v, refused = ch.run(ctx)
	if refused != nil {
		refused.Plugin = ch.name()
		return nil, refused
	}
	return v, nil
}

// checker makes the checks of one artifact.
type checker struct {
	*compiled
	artifact *bundle.Artifact
	claims   *claims // nil where the manifest has not the right form
}

// name is what errors call the plugin.
func (c *checker) name() string {
	if c.claims != nil {
		return c.claims.ID
	}
	return c.artifact.Digest()
}

func (c *checker) run(ctx context.Context) (*Verified, *Error) {
	s, refused := c.signer(ctx)
	if refused != nil {
		return nil, refused
	}
	m, err := c.artifact.Manifest()
	if err != nil {
		return nil, c.badManifest(err)
	}
	// Once more, by the manifest that will be used.
	if refused := c.owned(s, claimsOf(m)); refused != nil {
		return nil, refused
	}
	if refused := c.oldEnough(m); refused != nil {
		return nil, refused
	}
	if m.ABI != plugins.ManifestABI {
		return nil, c.badABI(m.ABI)
	}
	return newVerified(c.artifact, m, s.signer), nil
}

// admit asks whether a signature that verified counts for this artifact.
func (c *checker) admit(s signedBy) *Error {
	if d := c.artifact.Digest(); c.digests[d] {
		return refuse(StepSigner, StateRevoked, nil, "the artifact %s is revoked; use another version", d)
	}
	if c.revoked[s.signer.Key] {
		return refuse(StepSigner, StateRevoked, nil, "the key %s of publisher %s is revoked; ask for a release that is signed with another key", s.signer.Key, s.signer.Publisher)
	}
	return c.owned(s, c.claims)
}

// owned checks what the plugin wants to be called. Claims that cannot be read are the manifest's fault and found there.
func (c *checker) owned(s signedBy, cl *claims) *Error {
	if cl == nil {
		return nil
	}
	p := &c.source.Publishers[s.publisher]
	no := func(what, name string) *Error {
		return refuse(StepOwnership, StateNotOwned, nil, "publisher %s may not use the %s %s; if it should, add it to what the publisher owns in the trust policy", p.Name, what, text(name))
	}
	if !p.Owns.ownsID(cl.ID) {
		return no("plugin id", cl.ID)
	}
	for _, t := range cl.Tools {
		if !p.Owns.ownsTool(t.Name) {
			return no("tool name", t.Name)
		}
	}
	for _, n := range cl.Namespaces {
		if !p.Owns.ownsGlobal(n.GlobalName) {
			return no("global", n.GlobalName)
		}
	}
	return nil
}

// badManifest tells a manifest for a newer Cloister, which this one cannot judge, from one with mistakes.
func (c *checker) badManifest(err error) *Error {
	if c.claims != nil && c.claims.ABI != plugins.ManifestABI && abiForm.MatchString(c.claims.ABI) {
		return c.badABI(c.claims.ABI)
	}
	return refuse(StepManifest, StateInvalid, err, "%v", err)
}

func (c *checker) badABI(abi string) *Error {
	return refuse(StepABI, StateInvalid, nil, "the plugin is made for %s and this host speaks %s; use another version of the plugin, or of Cloister", text(abi), plugins.ManifestABI)
}

var (
	abiForm     = regexp.MustCompile(`^cloister\.plugin/[1-9][0-9]{0,4}$`)
	exactIDForm = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*\.[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
)

// claims is what a manifest says that the plugin is called. It is read before the manifest is checked as a whole, since
// ownership comes first: a foreign name is the graver fault.
type claims struct {
	ABI        string           `json:"abi"`
	ID         string           `json:"id"`
	Tools      []claimedTool    `json:"tools"`
	Namespaces []claimedSurface `json:"namespaces"`
}

type claimedTool struct {
	Name string `json:"name"`
}

type claimedSurface struct {
	GlobalName string `json:"globalName"`
}

func readClaims(manifest []byte) *claims {
	if len(manifest) > plugins.MaxManifestBytes {
		return nil
	}
	var c claims
	if err := schema.DecodeInto(manifest, &c, &schema.DecodeOptions{AllowUnknown: true}); err != nil {
		return nil
	}
	if len(c.ID) > maxID || !exactIDForm.MatchString(c.ID) {
		return nil
	}
	return &c
}

func claimsOf(m *plugins.Manifest) *claims {
	c := &claims{ABI: m.ABI, ID: m.ID}
	for i := range m.Tools {
		c.Tools = append(c.Tools, claimedTool{m.Tools[i].Name})
	}
	for i := range m.Namespaces {
		c.Namespaces = append(c.Namespaces, claimedSurface{m.Namespaces[i].GlobalName})
	}
	return c
}
