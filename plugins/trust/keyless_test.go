package trust

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protodsse "github.com/sigstore/protobuf-specs/gen/pb-go/dsse"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/testing/ca"
	"github.com/sigstore/sigstore-go/pkg/tlog"
	"google.golang.org/protobuf/encoding/protojson"
)

const (
	workflow = "release@acme.example"
	issuer   = "https://token.actions.example"
)

// sigstoreInstance is a whole sigstore in memory: CA, transparency log, timestamp authority.
func sigstoreInstance(t testing.TB) *ca.VirtualSigstore {
	t.Helper()
	vs, err := ca.NewVirtualSigstore()
	if err != nil {
		t.Fatal(err)
	}
	return vs
}

// witnesses are what a trusted root of an instance knows beside its CA.
type witnesses struct{ log, stamps, certificates bool }

func trustedRoot(t testing.TB, vs *ca.VirtualSigstore, w witnesses) json.RawMessage {
	t.Helper()
	var logs, ctlogs map[string]*root.TransparencyLog
	var stamps []root.TimestampingAuthority
	if w.log {
		logs = vs.RekorLogs()
	}
	if w.certificates {
		ctlogs = vs.CTLogs()
	}
	if w.stamps {
		stamps = vs.TimestampingAuthorities()
	}
	for _, l := range []map[string]*root.TransparencyLog{logs, ctlogs} {
		for id, log := range l {
			raw, err := hex.DecodeString(id) // the instance has the text in its place
			if err != nil {
				t.Fatal(err)
			}
			log.ID, log.SignatureHashFunc = raw, log.HashFunc
		}
	}
	tr, err := root.NewTrustedRoot(root.TrustedRootMediaType01, vs.FulcioCertificateAuthorities(), ctlogs, stamps, logs)
	if err != nil {
		t.Fatal(err)
	}
	b, err := tr.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// keyless makes a keyless signature over a payload, and lets change change it before it becomes JSON.
func keyless(t testing.TB, vs *ca.VirtualSigstore, who, by string, payload []byte, change func(*protobundle.Bundle)) []byte {
	t.Helper()
	e, err := vs.AttestAtTime(who, by, payload, time.Now().Add(5*time.Minute), true)
	if err != nil {
		t.Fatal(err)
	}
	content, err := e.VerificationContent()
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.SignatureContent()
	if err != nil {
		t.Fatal(err)
	}
	env := s.EnvelopeContent().RawEnvelope()
	raw, err := base64.StdEncoding.DecodeString(env.Payload)
	if err != nil {
		t.Fatal(err)
	}
	stamps, err := e.Timestamps()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := e.TlogEntries()
	if err != nil {
		t.Fatal(err)
	}
	material := &protobundle.VerificationMaterial{
		Content:                   &protobundle.VerificationMaterial_Certificate{Certificate: &protocommon.X509Certificate{RawBytes: content.Certificate().Raw}},
		TimestampVerificationData: &protobundle.TimestampVerificationData{},
	}
	for _, st := range stamps {
		material.TimestampVerificationData.Rfc3161Timestamps = append(material.TimestampVerificationData.Rfc3161Timestamps, &protocommon.RFC3161SignedTimestamp{SignedTimestamp: st})
	}
	for _, en := range entries {
		entry := en.TransparencyLogEntry()
		var body struct{ APIVersion, Kind string }
		if err := json.Unmarshal(entry.CanonicalizedBody, &body); err != nil {
			t.Fatal(err)
		}
		// The instance keeps these two out of the entry that it hands out.
		entry.KindVersion = &protorekor.KindVersion{Kind: body.Kind, Version: body.APIVersion}
		promise, err := vs.RekorSignPayload(tlog.RekorPayload{
			Body: base64.StdEncoding.EncodeToString(entry.CanonicalizedBody), IntegratedTime: entry.IntegratedTime,
			LogIndex: entry.LogIndex, LogID: hex.EncodeToString(entry.LogId.KeyId),
		})
		if err != nil {
			t.Fatal(err)
		}
		entry.InclusionPromise = &protorekor.InclusionPromise{SignedEntryTimestamp: promise}
		material.TlogEntries = append(material.TlogEntries, entry)
	}
	b := &protobundle.Bundle{
		MediaType:            "application/vnd.dev.sigstore.bundle.v0.3+json",
		VerificationMaterial: material,
		Content: &protobundle.Bundle_DsseEnvelope{DsseEnvelope: &protodsse.Envelope{
			Payload: raw, PayloadType: env.PayloadType, Signatures: []*protodsse.Signature{{Sig: s.Signature()}},
		}},
	}
	if change != nil {
		change(b)
	}
	out, err := protojson.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func keylessPolicy(t testing.TB, trusted json.RawMessage) *Policy {
	t.Helper()
	acme := publisher("acme")
	acme.Identities = []Identity{{Issuer: issuer, Subject: workflow}}
	p, err := ParsePolicy((&Policy{Publishers: []Publisher{acme}, TrustedRoot: trusted}).Marshal())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestKeyless(t *testing.T) {
	vs := sigstoreInstance(t)
	payload, err := newStatement(artifact(t, helloJSON).Digest())
	if err != nil {
		t.Fatal(err)
	}
	for name, w := range map[string]witnesses{
		"a log and timestamps": {log: true, stamps: true},
		"a log":                {log: true},
		"timestamps":           {stamps: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := keylessPolicy(t, trustedRoot(t, vs, w))
			a := artifact(t, helloJSON)
			add(t, a, keyless(t, vs, workflow, issuer, payload, nil))
			v, err := p.Verify(t.Context(), a)
			if err != nil {
				t.Fatalf("%v: %v", err, err.(*Error).cause)
			}
			if want := (Signer{Publisher: "acme", Issuer: issuer, Subject: workflow}); v.Signer != want {
				t.Errorf("the signer is %+v, want %+v", v.Signer, want)
			}
			if got, want := v.Origin("").Signer, workflow+" ("+issuer+")"; got != want {
				t.Errorf("the origin's signer is %q, want %q", got, want)
			}
		})
	}
}

func TestKeylessRefusals(t *testing.T) {
	vs, elsewhere := sigstoreInstance(t), sigstoreInstance(t)
	digest := artifact(t, helloJSON).Digest()
	payload, err := newStatement(digest)
	if err != nil {
		t.Fatal(err)
	}
	all := witnesses{log: true, stamps: true}
	material := func(b *protobundle.Bundle) *protobundle.VerificationMaterial { return b.VerificationMaterial }
	stranger := newKey(t, "")
	otherLeaf := func() []byte {
		leaf, _, err := vs.GenerateLeafCert(workflow, issuer)
		if err != nil {
			t.Fatal(err)
		}
		return leaf.Raw
	}()
	for _, c := range []struct {
		name      string
		trusted   witnesses
		signature []byte
		state     State
		because   string
	}{
		{"another identity", all, keyless(t, vs, "mallory@acme.example", issuer, payload, nil), StateUnknownSigner, "mallory"},
		{"the identity in another case", all, keyless(t, vs, strings.ToUpper(workflow), issuer, payload, nil), StateUnknownSigner, "RELEASE@"},
		{"an identity that begins alike", all, keyless(t, vs, workflow+".evil", issuer, payload, nil), StateUnknownSigner, ".evil"},
		{"another issuer", all, keyless(t, vs, workflow, issuer+".evil", payload, nil), StateUnknownSigner, ".evil"},
		{"another sigstore", all, keyless(t, elsewhere, workflow, issuer, payload, nil), StateInvalidSignature, "not enough verified log entries"},
		{"another artifact", all, keyless(t, vs, workflow, issuer, statementJSON(t, artifact(t, issuesJSON).Digest(), nil), nil), StateInvalidSignature, "another artifact"},
		{"an attestation", all, keyless(t, vs, workflow, issuer, statementJSON(t, digest, map[string]any{"predicateType": "https://slsa.dev/provenance/v1"}), nil), StateInvalidSignature, "not a signature"},
		{"a second subject", all, keyless(t, vs, workflow, issuer, statementJSON(t, digest, map[string]any{"subject": []any{
			map[string]any{"digest": map[string]any{"sha256": bare(digest)}}, map[string]any{"digest": map[string]any{"sha256": strings.Repeat("0", 64)}},
		}}), nil), StateInvalidSignature, "2 subjects"},
		{"no log entry", all, keyless(t, vs, workflow, issuer, payload, func(b *protobundle.Bundle) { material(b).TlogEntries = nil }), StateInvalidSignature, "not enough verified log entries"},
		{"no timestamp where there is no log", witnesses{stamps: true}, keyless(t, vs, workflow, issuer, payload, func(b *protobundle.Bundle) { material(b).TimestampVerificationData = nil }), StateInvalidSignature, "timestamps: 0 < 1"},
		{"another signature's timestamp", witnesses{stamps: true}, keyless(t, vs, workflow, issuer, payload, func(b *protobundle.Bundle) {
			st, err := vs.TimestampResponse([]byte("another signature"))
			if err != nil {
				t.Fatal(err)
			}
			material(b).TimestampVerificationData.Rfc3161Timestamps[0].SignedTimestamp = st
		}), StateInvalidSignature, "hashed messages"},
		{"nothing that proves the time", all, keyless(t, vs, workflow, issuer, payload, func(b *protobundle.Bundle) {
			material(b).TlogEntries, material(b).TimestampVerificationData = nil, nil
		}), StateInvalidSignature, "0 < 1"},
		{"a certificate that no log has", witnesses{log: true, stamps: true, certificates: true}, keyless(t, vs, workflow, issuer, payload, nil), StateInvalidSignature, "SCT"},
		{"another certificate of the same identity", all, keyless(t, vs, workflow, issuer, payload, func(b *protobundle.Bundle) {
			b.GetVerificationMaterial().GetCertificate().RawBytes = otherLeaf
		}), StateInvalidSignature, "certificate does not match"},
		{"a key in place of the certificate", all, keyless(t, vs, workflow, issuer, payload, func(b *protobundle.Bundle) {
			material(b).Content = &protobundle.VerificationMaterial_PublicKey{PublicKey: &protocommon.PublicKeyIdentifier{Hint: stranger.public.hint()}}
		}), StateUnknownSigner, "it is signed by key"},
		{"a certificate that is none", all, keyless(t, vs, workflow, issuer, payload, func(b *protobundle.Bundle) {
			b.GetVerificationMaterial().GetCertificate().RawBytes = []byte("certificate")
		}), StateInvalidSignature, "cannot be read"},
		{"the certificate in a chain", all, keyless(t, vs, workflow, issuer, payload, func(b *protobundle.Bundle) {
			c := b.GetVerificationMaterial().GetCertificate()
			material(b).Content = &protobundle.VerificationMaterial_X509CertificateChain{X509CertificateChain: &protocommon.X509CertificateChain{Certificates: []*protocommon.X509Certificate{c, c}}}
		}), StateInvalidSignature, "X.509 certificate chain"},
		{"another signature", all, keyless(t, vs, workflow, issuer, payload, func(b *protobundle.Bundle) {
			s, err := stranger.sign(preAuth(payloadType, payload))
			if err != nil {
				t.Fatal(err)
			}
			b.GetDsseEnvelope().Signatures[0].Sig = s
		}), StateInvalidSignature, "signature does not match"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := artifact(t, helloJSON)
			add(t, a, c.signature)
			_, err := keylessPolicy(t, trustedRoot(t, vs, c.trusted)).Verify(t.Context(), a)
			step := StepSignature
			if c.state == StateUnknownSigner {
				step = StepSigner
			}
			e := wantRefused(t, err, step, c.state)
			if got := fmt.Sprint(e.Detail, ": ", e.cause); !strings.Contains(got, c.because) {
				t.Errorf("it is refused for another reason than %q: %s", c.because, got)
			}
		})
	}

	// Without a trusted root nobody can say whose a certificate is.
	a := artifact(t, helloJSON)
	add(t, a, keyless(t, vs, workflow, issuer, payload, nil))
	_, err = policy(t, publisher("acme", stranger)).Verify(t.Context(), a)
	if e := wantRefused(t, err, StepSigner, StateUnknownSigner); !strings.Contains(e.Detail, "trusted root") {
		t.Errorf("the detail is %q", e.Detail)
	}
}

// Certificates of a CA that we trust and that still leave something open.
func TestLeafCertificates(t *testing.T) {
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parent, parentKey, err := ca.GenerateRootCa()
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := ca.GenerateLeafCert(workflow, issuer, time.Now(), p256, parent, parentKey)
	if err != nil {
		t.Fatal(err)
	}
	if why := checkLeaf(leaf); why != "" {
		t.Errorf("a good certificate: %s", why)
	}
	other, err := ca.GenerateLeafCert(workflow, issuer, time.Now(), p384, parent, parentKey)
	if err != nil {
		t.Fatal(err)
	}
	if why := checkLeaf(other); !strings.Contains(why, "P-256") {
		t.Errorf("P-384: %q", why)
	}
	names := func(n int) *x509.Certificate {
		c := *leaf
		c.Extensions = nil
		var list []asn1.RawValue
		for range n {
			list = append(list, asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 1, Bytes: []byte(workflow)})
		}
		value, err := asn1.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range leaf.Extensions {
			if e.Id.Equal(asn1.ObjectIdentifier{2, 5, 29, 17}) {
				e.Value = value
			}
			c.Extensions = append(c.Extensions, e)
		}
		return &c
	}
	for _, n := range []int{0, 2, 100} {
		if why := checkLeaf(names(n)); !strings.Contains(why, "subject alternative names") {
			t.Errorf("%d names: %q", n, why)
		}
	}
	ofCA := *leaf
	ofCA.IsCA = true
	if why := checkLeaf(&ofCA); !strings.Contains(why, "CA") {
		t.Errorf("a CA: %q", why)
	}
}

func TestTrustedRootMistakes(t *testing.T) {
	vs := sigstoreInstance(t)
	acme := publisher("acme")
	acme.Identities = []Identity{{Issuer: issuer, Subject: workflow}}
	noCA := strings.Replace(string(trustedRoot(t, vs, witnesses{log: true})), "certificateAuthorities", "x", 1)
	for name, raw := range map[string]json.RawMessage{
		"missing":       nil,
		"null":          json.RawMessage("null"),
		"no JSON":       json.RawMessage("{"),
		"a text":        json.RawMessage(`"root"`),
		"empty":         json.RawMessage("{}"),
		"no authority":  json.RawMessage(`{"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1"}`),
		"no witness":    trustedRoot(t, vs, witnesses{}),
		"other members": json.RawMessage(noCA),
	} {
		p := &Policy{Publishers: []Publisher{acme}, TrustedRoot: raw}
		for where, err := range map[string]error{
			"in a file": func() error { _, err := ParsePolicy(p.Marshal()); return err }(),
			"by hand":   func() error { _, err := p.use(); return err }(),
		} {
			var e *PolicyError
			if !errors.As(err, &e) || len(e.Problems) != 1 || e.Problems[0].Path != "/trustedRoot" {
				t.Errorf("%s, %s: %v", name, where, err)
			}
		}
	}
}
