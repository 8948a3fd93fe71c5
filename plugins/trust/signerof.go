package trust

import (
	"crypto/x509"

	sigstore "github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"

	"github.com/cloister-wasm/cloister/plugins/bundle"
)

// SignerOf names who made a signature over an artifact, if it is one that [Policy.Verify] counts: a text of its own for each
// signer, and "" for any other signature. It is made for [bundle.Remote.Signer], which asks about whatever anybody has put
// beside the artifact: what names a key or an identity that the policy does not know is not verified at all. Safe for
// concurrent use.
func (p *Policy) SignerOf(a *bundle.Artifact, signature []byte) (signer string) {
	defer func() {
		if recover() != nil { // inside a library: Verify says so, if it comes to that
			signer = ""
		}
	}()
	if p == nil || a == nil {
		return ""
	}
	c, err := p.use()
	if err != nil {
		return "" // Verify says what is wrong with the policy
	}
	b, refused := readSignature(signature)
	if refused != nil || !c.mayKnow(b) {
		return ""
	}
	ch := checker{compiled: c, artifact: a, claims: readClaims(a.Files().Manifest)}
	s, refused := ch.signature(signature, a.Digest())
	if refused != nil || ch.admit(s) != nil {
		return ""
	}
	return s.signer.Publisher + " " + s.signer.String()
}

// mayKnow goes by what a signature says of itself, which nothing vouches for: it decides only whether verifying is worth it.
func (c *compiled) mayKnow(b *sigstore.Bundle) bool {
	material := b.GetVerificationMaterial()
	if hint := material.GetPublicKey(); hint != nil {
		_, known := c.keys[hint.GetHint()]
		return known
	}
	leaf, err := x509.ParseCertificate(material.GetCertificate().GetRawBytes())
	if err != nil || c.byIdentity == nil {
		return false
	}
	summary, err := certificate.SummarizeCertificate(leaf)
	if err != nil {
		return false
	}
	_, known := c.identities[Identity{Issuer: summary.Issuer, Subject: summary.SubjectAlternativeName}]
	return known
}
