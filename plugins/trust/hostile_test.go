package trust

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/plugins/bundle"
)

// Bundles that somebody made to be taken for a signature of acme's. Each has one fault; without it, it would verify.
func TestHostileBundles(t *testing.T) {
	acme, second, stranger := newKey(t, KeyECDSAP256), newKey(t, KeyEd25519), newKey(t, "")
	p := policy(t, publisher("acme", acme, second))
	c, err := p.use()
	if err != nil {
		t.Fatal(err)
	}
	digest, other := artifact(t, helloJSON).Digest(), artifact(t, issuesJSON).Digest()
	good, err := newStatement(digest)
	if err != nil {
		t.Fatal(err)
	}
	signed := func(k *SigningKey, payload []byte) []byte { return envelope(t, k, payloadType, payload, nil) }
	claims := func(change map[string]any) []byte { return signed(acme, statementJSON(t, digest, change)) }
	changed := func(change func(m map[string]any)) []byte { return envelope(t, acme, payloadType, good, change) }
	material := func(m map[string]any) map[string]any { return m["verificationMaterial"].(map[string]any) }
	dsse := func(m map[string]any) map[string]any { return m["dsseEnvelope"].(map[string]any) }
	subject := func(digests map[string]any) []byte {
		return claims(map[string]any{"subject": []any{map[string]any{"digest": digests}}})
	}
	own := string(signed(acme, good))

	for _, k := range []*SigningKey{acme, second} {
		if _, refused := c.signature(signed(k, good), digest); refused != nil {
			t.Fatalf("the good one: %v", refused)
		}
	}
	for _, tc := range []struct {
		name  string
		data  []byte
		state State
	}{
		{"nothing", nil, StateInvalidSignature},
		{"null", []byte("null"), StateInvalidSignature},
		{"an empty object", []byte("{}"), StateInvalidSignature},
		{"a list", []byte("[]"), StateInvalidSignature},
		{"cut off", []byte(own[:len(own)-1]), StateInvalidSignature},
		{"something after it", []byte(own + "{}"), StateInvalidSignature},
		{"invalid UTF-8", []byte(strings.Replace(own, "sigstore", "sig\xffstore", 1)), StateInvalidSignature},
		{"too large", []byte(own + strings.Repeat(" ", bundle.MaxSignatureBytes)), StateInvalidSignature},
		{"too deep", []byte(strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)), StateInvalidSignature},
		{"an unknown member", changed(func(m map[string]any) { m["trusted"] = true }), StateInvalidSignature},
		{"a key twice", []byte(strings.Replace(own, `{"mediaType"`, `{"mediaType":"x","mediaType"`, 1)), StateInvalidSignature},
		{"a key twice by protobuf's other name", []byte(strings.Replace(own, `{"mediaType"`, `{"media_type":"x","mediaType"`, 1)), StateInvalidSignature},
		{"two envelopes", []byte(strings.Replace(own, `"dsseEnvelope":`, `"dsse_envelope":{},"dsseEnvelope":`, 1)), StateInvalidSignature},

		{"no media type", changed(func(m map[string]any) { delete(m, "mediaType") }), StateInvalidSignature},
		{"version 0.1", changed(func(m map[string]any) { m["mediaType"] = "application/vnd.dev.sigstore.bundle+json;version=0.1" }), StateInvalidSignature},
		{"version 0.3 in the old form", changed(func(m map[string]any) { m["mediaType"] = "application/vnd.dev.sigstore.bundle+json;version=0.3" }), StateInvalidSignature},
		{"version 0.4", changed(func(m map[string]any) { m["mediaType"] = "application/vnd.dev.sigstore.bundle.v0.4+json" }), StateInvalidSignature},
		{"version 0.3.1", changed(func(m map[string]any) { m["mediaType"] = "application/vnd.dev.sigstore.bundle.v0.3.1+json" }), StateInvalidSignature},

		{"no material", changed(func(m map[string]any) { delete(m, "verificationMaterial") }), StateInvalidSignature},
		{"empty material", changed(func(m map[string]any) { m["verificationMaterial"] = map[string]any{} }), StateInvalidSignature},
		{"a chain of certificates", changed(func(m map[string]any) {
			delete(material(m), "publicKey")
			material(m)["x509CertificateChain"] = map[string]any{"certificates": []any{map[string]any{"rawBytes": "AA=="}}}
		}), StateInvalidSignature},
		{"a certificate beside the key", changed(func(m map[string]any) { material(m)["certificate"] = map[string]any{"rawBytes": "AA=="} }), StateInvalidSignature},
		{"a certificate in place of the key", changed(func(m map[string]any) {
			delete(material(m), "publicKey")
			material(m)["certificate"] = map[string]any{"rawBytes": "AA=="}
		}), StateUnknownSigner},
		{"a broken log entry", changed(func(m map[string]any) { material(m)["tlogEntries"] = []any{map[string]any{}} }), StateInvalidSignature},
		{"a thousand log entries", changed(func(m map[string]any) {
			material(m)["tlogEntries"] = make([]struct{}, 1000)
		}), StateInvalidSignature},

		{"no hint", changed(func(m map[string]any) { material(m)["publicKey"] = map[string]any{} }), StateUnknownSigner},
		{"a hint that is no fingerprint", changed(func(m map[string]any) { material(m)["publicKey"] = map[string]any{"hint": "acme"} }), StateUnknownSigner},
		{"the hint of another key of the publisher", changed(func(m map[string]any) { material(m)["publicKey"] = map[string]any{"hint": second.public.hint()} }), StateInvalidSignature},
		{"a stranger's key under the publisher's hint", envelope(t, stranger, payloadType, good, func(m map[string]any) {
			material(m)["publicKey"] = map[string]any{"hint": acme.public.hint()}
		}), StateInvalidSignature},
		{"Ed25519 under the hint of P-256", envelope(t, second, payloadType, good, func(m map[string]any) {
			material(m)["publicKey"] = map[string]any{"hint": acme.public.hint()}
		}), StateInvalidSignature},

		{"no envelope", changed(func(m map[string]any) { delete(m, "dsseEnvelope") }), StateInvalidSignature},
		{"a signature over bytes", changed(func(m map[string]any) {
			sum, _ := base64.StdEncoding.DecodeString("AAAA")
			s, err := acme.sign(sum)
			if err != nil {
				t.Fatal(err)
			}
			delete(m, "dsseEnvelope")
			m["messageSignature"] = map[string]any{"messageDigest": map[string]any{"algorithm": "SHA2_256", "digest": sum}, "signature": s}
		}), StateInvalidSignature},
		{"no signature in the envelope", changed(func(m map[string]any) { dsse(m)["signatures"] = []any{} }), StateInvalidSignature},
		{"two signatures in the envelope", changed(func(m map[string]any) {
			s := dsse(m)["signatures"].([]any)
			dsse(m)["signatures"] = append(s, s[0])
		}), StateInvalidSignature},
		{"a null signature", changed(func(m map[string]any) { dsse(m)["signatures"] = []any{nil} }), StateInvalidSignature},
		{"an empty signature", changed(func(m map[string]any) { dsse(m)["signatures"] = []any{map[string]any{"sig": ""}} }), StateInvalidSignature},
		{"a signature of zeros", changed(func(m map[string]any) {
			dsse(m)["signatures"] = []any{map[string]any{"sig": base64.StdEncoding.EncodeToString([]byte{0x30, 6, 2, 1, 0, 2, 1, 0})}}
		}), StateInvalidSignature},
		{"another key id", changed(func(m map[string]any) {
			dsse(m)["signatures"].([]any)[0].(map[string]any)["keyid"] = "SHA256:AAAA"
		}), StateInvalidSignature},
		{"no payload", changed(func(m map[string]any) { delete(dsse(m), "payload") }), StateInvalidSignature},
		{"another payload", changed(func(m map[string]any) { dsse(m)["payload"] = base64.StdEncoding.EncodeToString(append(good, ' ')) }), StateInvalidSignature},
		{"another payload type, not signed", changed(func(m map[string]any) { dsse(m)["payloadType"] = "application/json" }), StateInvalidSignature},
		{"another payload type, signed", envelope(t, acme, "application/json", good, nil), StateInvalidSignature},

		{"no JSON in the payload", signed(acme, []byte("acme.hello is fine")), StateInvalidSignature},
		{"another artifact", signed(acme, statementJSON(t, other, nil)), StateInvalidSignature},
		{"an attestation", claims(map[string]any{"predicateType": "https://slsa.dev/provenance/v1"}), StateInvalidSignature},
		{"cosign's custom attestation", claims(map[string]any{"predicateType": "https://cosign.sigstore.dev/attestation/v1"}), StateInvalidSignature},
		{"no predicate type", claims(map[string]any{"predicateType": ""}), StateInvalidSignature},
		{"another statement", claims(map[string]any{"_type": "https://example.com/Statement/v1"}), StateInvalidSignature},
		{"no subject", claims(map[string]any{"subject": []any{}}), StateInvalidSignature},
		{"a second subject", claims(map[string]any{"subject": []any{
			map[string]any{"digest": map[string]any{"sha256": bare(digest)}}, map[string]any{"digest": map[string]any{"sha256": bare(other)}},
		}}), StateInvalidSignature},
		{"the digest under another name", subject(map[string]any{"sha512": bare(digest)}), StateInvalidSignature},
		{"a second digest", subject(map[string]any{"sha256": bare(digest), "sha512": strings.Repeat("ab", 64)}), StateInvalidSignature},
		{"the digest in upper case", subject(map[string]any{"sha256": strings.ToUpper(bare(digest))}), StateInvalidSignature},
		{"a digest that is no hexadecimal", subject(map[string]any{"sha256": "z"}), StateInvalidSignature},
		{"the name of the digest in upper case", subject(map[string]any{"SHA256": bare(digest)}), StateInvalidSignature},
		{"the subject twice", signed(acme, []byte(strings.Replace(string(good), `"subject"`, `"subject":[],"subject"`, 1))), StateInvalidSignature},
		{"the subject also in upper case", signed(acme, []byte(strings.Replace(string(statementJSON(t, other, nil)), `"subject"`, `"Subject":[{"digest":{"sha256":"`+bare(digest)+`"}}],"subject"`, 1))), StateInvalidSignature},
		{"the predicate type also in upper case", signed(acme, []byte(strings.Replace(string(good), `"predicateType":"`, `"PredicateType":"https://slsa.dev/provenance/v1","predicateTypE":"x","predicateType2":"`, 1))), StateInvalidSignature},
		{"many subjects", claims(map[string]any{"subject": make([]struct{}, 5000)}), StateInvalidSignature},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, refused := c.signature(tc.data, digest)
			if refused == nil {
				t.Fatalf("it verifies, by %v", s.signer)
			}
			if refused.State != tc.state {
				t.Errorf("got %v, want the state %s", refused, tc.state)
			}
			if !json.Valid(tc.data) {
				return // bundle refuses it before anybody looks for a signature
			}
			// And through the front door, where it must never read as unsigned.
			a := artifact(t, helloJSON)
			if err := a.AddSignature(tc.data); err != nil {
				return
			}
			_, err := p.Verify(t.Context(), a)
			wantRefused(t, err, refused.Step, tc.state)
		})
	}
}

// A bundle that differs only in what means nothing still verifies: what is signed is the statement.
func TestHarmlessDifferences(t *testing.T) {
	acme := newKey(t, "")
	c, err := policy(t, publisher("acme", acme)).use()
	if err != nil {
		t.Fatal(err)
	}
	digest := artifact(t, helloJSON).Digest()
	for name, payload := range map[string][]byte{
		"cosign attest's statement":  statementJSON(t, digest, map[string]any{"_type": "https://in-toto.io/Statement/v0.1"}),
		"a name for the subject":     statementJSON(t, digest, map[string]any{"subject": []any{map[string]any{"name": "registry/acme/hello", "digest": map[string]any{"sha256": bare(digest)}}}}),
		"annotations of the subject": statementJSON(t, digest, map[string]any{"subject": []any{map[string]any{"annotations": map[string]any{"a": "b"}, "digest": map[string]any{"sha256": bare(digest)}}}}),
		"a predicate":                statementJSON(t, digest, map[string]any{"predicate": map[string]any{"a": []any{1, 2}}}),
	} {
		if _, refused := c.signature(envelope(t, acme, payloadType, payload, nil), digest); refused != nil {
			t.Errorf("%s: %v", name, refused)
		}
	}
}

// Every byte of a signature matters, or changes nothing that is signed.
func TestDamagedSignatures(t *testing.T) {
	k := testKey(t, "damage") // Ed25519: one message, one signature
	c, err := policy(t, publisher("acme", k)).use()
	if err != nil {
		t.Fatal(err)
	}
	digest := "sha256:" + strings.Repeat("5a", 32)
	payload, err := newStatement(digest)
	if err != nil {
		t.Fatal(err)
	}
	good := envelope(t, k, payloadType, payload, nil)
	for i := range good {
		for _, flip := range []byte{1, 0x20, 0x80} {
			bad := append([]byte(nil), good...)
			bad[i] ^= flip
			if _, refused := c.signature(bad, digest); refused == nil {
				sameEnvelope(t, good, bad)
			} else if refused.State != StateInvalidSignature && refused.State != StateUnknownSigner {
				t.Errorf("byte %d: %v", i, refused)
			}
		}
	}
	for n := range good {
		if _, refused := c.signature(good[:n], digest); refused == nil {
			t.Errorf("the first %d bytes verify", n)
		}
	}
}

// sameEnvelope fails unless two bundles hold the same payload and the same signature.
func sameEnvelope(t *testing.T, a, b []byte) {
	t.Helper()
	x, refused := readSignature(a)
	if refused != nil {
		t.Fatal(refused)
	}
	y, refused := readSignature(b)
	if refused != nil {
		t.Fatal(refused)
	}
	if string(x.GetDsseEnvelope().GetPayload()) != string(y.GetDsseEnvelope().GetPayload()) ||
		string(x.GetDsseEnvelope().GetSignatures()[0].GetSig()) != string(y.GetDsseEnvelope().GetSignatures()[0].GetSig()) {
		t.Errorf("a changed bundle verifies: %s", b)
	}
}
