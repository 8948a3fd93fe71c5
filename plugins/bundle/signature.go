package bundle

import (
	"encoding/base64"
	"encoding/json"

	"github.com/cloister-wasm/cloister/internal/schema"
)

// checkSignature checks bounds and form of a Sigstore bundle, not what it says.
func checkSignature(b []byte) error {
	if len(b) > MaxSignatureBytes {
		return fail(ErrBounds, "a signature has %d bytes, more than %d", len(b), MaxSignatureBytes)
	}
	var v map[string]json.RawMessage
	if err := schema.DecodeInto(b, &v, nil); err != nil {
		return fail(ErrFormat, "a signature is not valid JSON: %v", err)
	}
	if v == nil {
		return fail(ErrFormat, "a signature is null instead of a Sigstore bundle")
	}
	if !onOneLine(b, true) {
		return badForm("signature")
	}
	return nil
}

// emptyConfig is the config of every signature's OCI manifest.
var emptyConfig = []byte("{}")

// referrer makes the OCI manifest that ties a signature to its artifact, as cosign 3 writes it, with one difference: the
// date is fixed, so that the same signature is the same referrer and pushing it twice adds nothing.
func (a *Artifact) referrer(signature []byte) []byte {
	subject := describe(typeOCIManifest, a.raw)
	return encode(ociManifest{
		SchemaVersion: 2,
		MediaType:     typeOCIManifest,
		ArtifactType:  SignatureType,
		Config:        describe(typeEmpty, emptyConfig),
		Layers:        []descriptor{describe(SignatureType, signature)},
		Subject:       &subject,
		Annotations:   signatureAnnotations(signature),
	})
}

// signatureAnnotations are what cosign's listings show. Verification does not read them, here or there.
func signatureAnnotations(signature []byte) map[string]string {
	m := map[string]string{annotationCreated: created}
	var b struct {
		Envelope *struct {
			Payload string `json:"payload"`
		} `json:"dsseEnvelope"`
		Message json.RawMessage `json:"messageSignature"`
	}
	loose := &schema.DecodeOptions{AllowUnknown: true}
	if schema.DecodeInto(signature, &b, loose) != nil {
		return m
	}
	switch {
	case b.Envelope != nil:
		m[annotationContent] = "dsse-envelope"
		var statement struct {
			PredicateType string `json:"predicateType"`
		}
		payload, err := base64.StdEncoding.DecodeString(b.Envelope.Payload)
		if err == nil && schema.DecodeInto(payload, &statement, loose) == nil && statement.PredicateType != "" && len(statement.PredicateType) <= 512 {
			m[annotationPredicate] = statement.PredicateType
		}
	case b.Message != nil:
		m[annotationContent] = "message-signature"
	}
	return m
}

// checkReferrer checks the OCI manifest of a signature of an artifact: of the right types, over this very artifact, with
// one layer.
func checkReferrer(m *ociManifest, a *Artifact) error {
	const what = "signature's OCI manifest"
	switch {
	case m.ArtifactType != SignatureType:
		return fail(ErrFormat, "the %s has the artifactType %q instead of %q", what, m.ArtifactType, SignatureType)
	case m.Subject == nil:
		return fail(ErrFormat, "the %s has no subject", what)
	case m.Subject.Digest != a.digest || m.Subject.Size != int64(len(a.raw)) || m.Subject.MediaType != typeOCIManifest:
		return fail(ErrFormat, "the %s is about %s of %d bytes and type %q, not about this plugin, %s", what,
			m.Subject.Digest, m.Subject.Size, m.Subject.MediaType, a.digest)
	case len(m.Layers) != 1:
		return fail(ErrFormat, "the %s has %d layers instead of one", what, len(m.Layers))
	}
	// Other tools put the two bytes of the empty config into data as well.
	config := m.Config
	if config.Data != nil && *config.Data == base64.StdEncoding.EncodeToString(emptyConfig) {
		config.Data = nil
	}
	if err := checkDescriptor(&config, "signature's config", config.MediaType, maxConfigBytes); err != nil {
		return err
	}
	if config.Digest != digestOf(emptyConfig) {
		return fail(ErrFormat, "the %s has another config than {}, %s", what, config.Digest)
	}
	return checkDescriptor(&m.Layers[0], "signature", SignatureType, MaxSignatureBytes)
}
