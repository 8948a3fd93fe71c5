package trust

import (
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/bundle"
)

// Signer is who made a signature that was verified.
type Signer struct {
	// Publisher is the publisher's name in the policy.
	Publisher string
	// Key is the fingerprint of the key, "" for a keyless signature.
	Key string
	// Issuer and Subject are the identity of a keyless signature, "" for a key.
	Issuer, Subject string
}

// String names the key, or the identity, without the publisher: "sha256:…" or "SUBJECT (ISSUER)". Two signers never have
// the same text.
func (s Signer) String() string {
	if s.Key != "" {
		return s.Key
	}
	return s.Subject + " (" + s.Issuer + ")"
}

// Verified is an artifact that passed [Policy.Verify]. Only Verify makes one whose [Verified.Origin] vouches for anything.
// What was verified is what Artifact holds in memory: load from it, not from where it came from.
type Verified struct {
	// Artifact is what was verified.
	Artifact *bundle.Artifact
	// Manifest is its manifest, checked.
	Manifest *plugins.Manifest
	// Signer is whose signature counted.
	Signer Signer

	proof *proof
}

// proof remembers what Verify saw, so that nothing can be put in its place afterwards.
type proof struct {
	artifact *bundle.Artifact
	manifest *plugins.Manifest
	signer   Signer
	digest   string
}

func newVerified(a *bundle.Artifact, m *plugins.Manifest, s Signer) *Verified {
	return &Verified{Artifact: a, Manifest: m, Signer: s, proof: &proof{a, m, s, a.Digest()}}
}

// Genuine says whether Verify made this value and its fields are still the same.
func (v *Verified) Genuine() bool {
	return v != nil && v.proof != nil && v.proof.artifact == v.Artifact && v.proof.manifest == v.Manifest &&
		v.proof.signer == v.Signer && v.proof.digest == v.Artifact.Digest()
}

// Origin says where the plugin is from and who vouches for it, for [plugins.New]; ref is the reference it was pulled from,
// or "". Of a value that is not [Verified.Genuine] it names neither digest nor signer, and plugins.New refuses it.
func (v *Verified) Origin(ref string) plugins.Origin {
	if !v.Genuine() {
		return plugins.Origin{Ref: ref}
	}
	return plugins.Origin{Digest: v.proof.digest, Publisher: v.proof.signer.Publisher, Signer: v.proof.signer.String(), Ref: ref}
}
