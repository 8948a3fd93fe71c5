package trust

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	sigstore "github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
	"github.com/cloister-wasm/cloister/plugins/bundle"
)

// signedBy is a signature that verified, by a publisher of the policy.
type signedBy struct {
	publisher int
	place     int // among the publisher's keys, which come first, and identities
	signer    Signer
}

// signature verifies one signature over a digest and finds out whose it is. A panic inside the library is an internal
// error: nothing is known about the signature then, least of all that there is none.
func (c *compiled) signature(data []byte, digest string) (s signedBy, refused *Error) {
	defer func() {
		if r := recover(); r != nil {
			s, refused = signedBy{}, panicked(StepSignature, r)
		}
	}()
	b, err := readSignature(data)
	if err != nil {
		return s, err
	}
	if hint := b.GetVerificationMaterial().GetPublicKey(); hint != nil {
		s, err = c.keySignature(b, hint.GetHint(), digest)
	} else {
		s, err = c.keylessSignature(b, digest)
	}
	if err != nil {
		return signedBy{}, err
	}
	if why := checkStatement(b.GetDsseEnvelope().GetPayload(), digest); why != "" {
		return signedBy{}, invalid(nil, "%s", why)
	}
	return s, nil
}

func invalid(cause error, format string, args ...any) *Error {
	return refuse(StepSignature, StateInvalidSignature, cause, format, args...)
}

func panicked(step Step, r any) *Error {
	return refuse(step, StateInternal, nil, "the check broke down (%s); this is a fault of Cloister: please report it", plaintext.Line(fmt.Sprint(r), 200))
}

// readSignature reads a sigstore bundle. Size and JSON are checked before anything else looks at it: the library below reads
// protobuf's JSON, which has two names for each member.
func readSignature(data []byte) (*sigstore.Bundle, *Error) {
	if len(data) > bundle.MaxSignatureBytes {
		return nil, invalid(nil, "it has %d bytes, more than %d", len(data), bundle.MaxSignatureBytes)
	}
	if err := schema.Check(data); err != nil {
		return nil, invalid(err, "%v", err)
	}
	var b sigstore.Bundle
	if err := b.UnmarshalJSON(data); err != nil {
		return nil, invalid(err, "it is no sigstore bundle of version 0.3 that can be read")
	}
	if !sameValue(&b, data) {
		return nil, invalid(nil, "it says what it says in another form than the one that sigstore's JSON has; sign with cloister plugin sign, or cosign sign version 3")
	}
	envelope := b.GetDsseEnvelope()
	switch {
	case b.GetMediaType() != bundle.SignatureType:
		return nil, invalid(nil, "its media type is %s and not %s", text(b.GetMediaType()), bundle.SignatureType)
	case envelope == nil:
		return nil, invalid(nil, "it signs bytes and makes no statement; sign with cloister plugin sign, or cosign sign version 3")
	case envelope.GetPayloadType() != payloadType:
		return nil, invalid(nil, "its payload type is %s and not %s", text(envelope.GetPayloadType()), payloadType)
	case len(envelope.GetSignatures()) != 1:
		return nil, invalid(nil, "its envelope has %d signatures and not one", len(envelope.GetSignatures()))
	}
	return &b, nil
}

// sameValue says whether a bundle says in the same writing what it would say when it is written again. The library takes others
// too: names of members in two writings, base64 with idle bits or in another alphabet, numbers as texts. Copies in which such
// a form was changed would be as good as the original, and others than it. The order of members, and members that are empty, are
// each tool's own.
func sameValue(b *sigstore.Bundle, data []byte) bool {
	again, err := b.MarshalJSON()
	if err != nil {
		return false
	}
	was, err := schema.Decode(data)
	if err != nil {
		return false
	}
	is, err := schema.Decode(again)
	return err == nil && reflect.DeepEqual(pruned(was), pruned(is))
}

// pruned is a decoded value without its empty members, nil for one that is empty itself.
func pruned(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, member := range v {
			if member = pruned(member); member != nil {
				out[name] = member
			}
		}
		if len(out) > 0 {
			return out
		}
	case []any:
		if len(v) > 0 {
			out := make([]any, len(v))
			for i := range v {
				out[i] = pruned(v[i])
			}
			return out
		}
	case string:
		if v != "" {
			return v
		}
	default:
		if v != nil && v != false && v != json.Number("0") {
			return v
		}
	}
	return nil
}

// keySignature verifies with the one key of the policy that the hint names. The hint is not signed: a wrong one only makes
// the signature fail.
func (c *compiled) keySignature(b *sigstore.Bundle, hint, digest string) (signedBy, *Error) {
	key, known := c.keys[hint]
	if !known {
		if print := fingerprintOf(hint); c.revoked[print] {
			return signedBy{}, unknown("key %s, which is revoked and no publisher's any more", print)
		} else if print != "" {
			return signedBy{}, unknown("key %s; if you trust it, add it to a publisher of the trust policy", print)
		}
		return signedBy{}, unknown("key hint %s, which is no fingerprint of a key", text(hint))
	}
	name := c.source.Publishers[key.publisher].Name
	if err := verifyWith(c.byKey, b, digest, verify.WithKey()); err != nil {
		return signedBy{}, invalid(err, "%s", because(b, digest, "it does not verify with the key "+key.fingerprint+" of publisher "+name+
			"; the statement or the signature was changed, or another key made it"))
	}
	return signedBy{key.publisher, key.place, Signer{Publisher: name, Key: key.fingerprint}}, nil
}

// because prefers what is wrong with the statement to a general reason. Nothing vouches for the statement then, but it has
// been refused already and this is for reading only.
func because(b *sigstore.Bundle, digest, otherwise string) string {
	if why := checkStatement(b.GetDsseEnvelope().GetPayload(), digest); why != "" {
		return why
	}
	return otherwise
}

func unknown(format string, args ...any) *Error {
	return refuse(StepSigner, StateUnknownSigner, nil, "it is signed by "+format, args...)
}

// keylessSignature verifies with the certificate of the bundle, and asks only then whose it is.
func (c *compiled) keylessSignature(b *sigstore.Bundle, digest string) (signedBy, *Error) {
	if c.byIdentity == nil {
		return signedBy{}, unknown("a certificate, and the trust policy has no trusted root to check it with")
	}
	leaf, err := x509.ParseCertificate(b.GetVerificationMaterial().GetCertificate().GetRawBytes())
	if err != nil {
		return signedBy{}, invalid(err, "its certificate cannot be read")
	}
	if why := checkLeaf(leaf); why != "" {
		return signedBy{}, invalid(nil, "%s", why)
	}
	var id Identity
	result, err := verifyResult(c.byIdentity, b, digest, verify.WithoutIdentitiesUnsafe()) // the identity is looked up below
	if err == nil && result.Signature != nil && result.Signature.Certificate != nil {
		id = Identity{Issuer: result.Signature.Certificate.Issuer, Subject: result.Signature.Certificate.SubjectAlternativeName}
	} else {
		return signedBy{}, invalid(err, "%s", because(b, digest, "its certificate, its proof of time or the signature itself does not verify with the trusted root"))
	}
	publisher, known := c.identities[id]
	if !known {
		return signedBy{}, unknown("%s of %s; if you trust it, add the identity to a publisher of the trust policy", text(id.Subject), text(id.Issuer))
	}
	pub := &c.source.Publishers[publisher]
	return signedBy{publisher, len(pub.Keys) + slices.Index(pub.Identities, id), Signer{Publisher: pub.Name, Issuer: id.Issuer, Subject: id.Subject}}, nil
}

// checkLeaf refuses certificates in which it could be unclear who they are for, or what a signature means.
func checkLeaf(leaf *x509.Certificate) string {
	switch k := leaf.PublicKey.(type) {
	case *ecdsa.PublicKey:
		if k.Curve != elliptic.P256() {
			return "its certificate is for ECDSA on another curve than P-256"
		}
	case ed25519.PublicKey:
	default:
		return "its certificate is for a key that is neither ECDSA P-256 nor Ed25519"
	}
	if n := subjectNames(leaf); n != 1 {
		return fmt.Sprintf("its certificate has %d subject alternative names and not one", n)
	}
	if leaf.IsCA {
		return "its certificate is a CA's"
	}
	return ""
}

// subjectNames counts the subject alternative names, those of kinds that crypto/x509 does not read included.
func subjectNames(leaf *x509.Certificate) (n int) {
	for _, ext := range leaf.Extensions {
		if !ext.Id.Equal(asn1.ObjectIdentifier{2, 5, 29, 17}) {
			continue
		}
		var names []asn1.RawValue
		if rest, err := asn1.Unmarshal(ext.Value, &names); err != nil || len(rest) > 0 {
			return 0
		}
		n += len(names)
	}
	return n
}

func verifyWith(v *verify.Verifier, b *sigstore.Bundle, digest string, who verify.PolicyOption) error {
	_, err := verifyResult(v, b, digest, who)
	return err
}

// verifyResult has the library check the signature, its proofs, and that the statement names the digest.
func verifyResult(v *verify.Verifier, b *sigstore.Bundle, digest string, who verify.PolicyOption) (*verify.VerificationResult, error) {
	sum, err := hex.DecodeString(strings.TrimPrefix(digest, "sha256:"))
	if err != nil {
		return nil, err
	}
	result, err := v.Verify(b, verify.NewPolicy(verify.WithArtifactDigest("sha256", sum), who))
	if err != nil {
		return nil, err
	}
	if result == nil || result.Statement == nil || result.Statement.GetPredicateType() == "" {
		return nil, errors.New("the library verified no statement")
	}
	return result, nil
}

func parseTrustedRoot(raw json.RawMessage) (tr *root.TrustedRoot, err error) {
	defer func() {
		if r := recover(); r != nil {
			tr, err = nil, fmt.Errorf("it cannot be read (%s)", plaintext.Line(fmt.Sprint(r), 100))
		}
	}()
	if err := schema.Check(raw); err != nil {
		return nil, err
	}
	tr, err = root.NewTrustedRootFromJSON(raw)
	if err != nil {
		// The library's texts change their spaces from build to build on purpose.
		return nil, fmt.Errorf("it cannot be read: %s", strings.Join(strings.Fields(plaintext.Line(err.Error(), 300)), " "))
	}
	return tr, nil
}
