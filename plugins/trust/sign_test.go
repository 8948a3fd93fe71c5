package trust

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	sigstore "github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/sign"
	"google.golang.org/protobuf/proto"
)

// What is signed never changes by itself: the statement of this digest, byte for byte.
func TestStatementIsFixed(t *testing.T) {
	digest := "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
	got, err := newStatement(digest)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":"2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"}}],` +
		`"predicateType":"https://sigstore.dev/cosign/sign/v1","predicate":{}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("the statement differs (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"", "sha256:", "latest", digest[:70], digest + "0", "sha512:" + digest[7:]} {
		if _, err := newStatement(bad); err == nil {
			t.Errorf("a statement over %q", bad)
		}
	}
}

// keypair lets the sigstore library sign with one of our keys.
type keypair struct{ *SigningKey }

func (k keypair) GetHashAlgorithm() protocommon.HashAlgorithm {
	return protocommon.HashAlgorithm_SHA2_256
}
func (k keypair) GetSigningAlgorithm() protocommon.PublicKeyDetails { return 0 }
func (k keypair) GetHint() []byte                                   { return []byte(k.public.hint()) }
func (k keypair) GetKeyAlgorithm() string                           { return "" }
func (k keypair) GetPublicKey() crypto.PublicKey                    { return k.public.key }
func (k keypair) GetPublicKeyPem() (string, error)                  { return string(k.PublicPEM()), nil }
func (k keypair) SignData(_ context.Context, data []byte) (sig, digest []byte, err error) {
	s, err := k.sign(data)
	return s, nil, err
}

// Our bundles are those of the sigstore library: with a key that always signs the same, the two are equal.
func TestSignMakesTheLibrarysBundle(t *testing.T) {
	k := testKey(t, "sign")
	a := artifact(t, helloJSON)
	payload, err := newStatement(a.Digest())
	if err != nil {
		t.Fatal(err)
	}
	want, err := sign.Bundle(&sign.DSSEData{Data: payload, PayloadType: payloadType}, keypair{k}, sign.BundleOptions{})
	if err != nil {
		t.Fatal(err)
	}
	raw := sig(t, a, k)
	var got sigstore.Bundle
	if err := got.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(want, got.Bundle) {
		t.Errorf("got %v, want %v", got.Bundle, want)
	}
	if again := sig(t, a, k); !bytes.Equal(raw, again) {
		t.Errorf("signing again gives\n%s, not\n%s", again, raw)
	}
}

func TestSignRefusals(t *testing.T) {
	if _, err := Sign(t.Context(), nil, newKey(t, "")); err == nil {
		t.Error("signed nothing")
	}
	for _, k := range []*SigningKey{nil, {}} {
		if _, err := Sign(t.Context(), artifact(t, helloJSON), k); !errors.Is(err, ErrKey) {
			t.Errorf("signed without a key: %v", err)
		}
	}
}

func TestHints(t *testing.T) {
	k := newKey(t, "")
	if got := fingerprintOf(k.public.hint()); got != k.Fingerprint() {
		t.Errorf("the hint %s gives %s, want %s", k.public.hint(), got, k.Fingerprint())
	}
	long := base64.StdEncoding.EncodeToString(make([]byte, sha256.Size+1))
	for _, bad := range []string{"", "acme", k.Fingerprint(), long} {
		if got := fingerprintOf(bad); got != "" {
			t.Errorf("the hint %q gives %s", bad, got)
		}
	}
}
