package trust

import (
	"bytes"
	"context"
	"crypto"
	"errors"
	"testing"
	"time"

	sigstore "github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature"
)

// fileVerifier is the sigstore library with one of our public keys.
func fileVerifier(t *testing.T, k *SigningKey) *verify.Verifier {
	t.Helper()
	v, err := signature.LoadVerifier(k.public.key, crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	material := root.NewTrustedPublicKeyMaterialFromMapping(map[string]*root.ExpiringKey{k.public.hint(): root.NewExpiringKey(v, time.Time{}, time.Time{})})
	out, err := verify.NewVerifier(material, verify.WithNoObserverTimestamps())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The sigstore library accepts the signature of a file, for this file and this key alone.
func TestSignFile(t *testing.T) {
	for _, kind := range []KeyKind{KeyECDSAP256, KeyEd25519} {
		t.Run(string(kind), func(t *testing.T) {
			key, other := generated(t, kind), generated(t, kind)
			data := []byte("0123  cloister_0.2.0_linux_amd64.tar.gz\n")
			text, err := SignFile(context.Background(), data, key)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				name string
				key  *SigningKey
				data []byte
				good bool
			}{
				{"as it was signed", key, data, true},
				{"altered", key, append(bytes.Clone(data), '\n'), false},
				{"another key", other, data, false},
			} {
				b := &sigstore.Bundle{}
				if err := b.UnmarshalJSON(text); err != nil {
					t.Fatal(err)
				}
				_, err := fileVerifier(t, c.key).Verify(b, verify.NewPolicy(verify.WithArtifact(bytes.NewReader(c.data)), verify.WithKey()))
				if (err == nil) != c.good {
					t.Errorf("%s: %v", c.name, err)
				}
			}
		})
	}
}

func TestSignFileRefuses(t *testing.T) {
	if _, err := SignFile(context.Background(), nil, nil); !errors.Is(err, ErrKey) {
		t.Errorf("no key: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := SignFile(ctx, nil, generated(t, KeyEd25519)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A signature of a file whose bytes are a plugin's statement is none of that plugin.
func TestSignatureOfAFileIsNoneOfAPlugin(t *testing.T) {
	a, key := artifact(t, helloJSON), generated(t, KeyECDSAP256)
	payload, err := newStatement(a.Digest())
	if err != nil {
		t.Fatal(err)
	}
	signed, err := SignFile(context.Background(), preAuth(payloadType, payload), key)
	if err != nil {
		t.Fatal(err)
	}
	p := policy(t, publisher("acme", key))
	if err := a.AddSignature(signed); err == nil {
		if _, err := p.Verify(context.Background(), a); err == nil {
			t.Fatal("the plugin is accepted")
		}
	}
	good, err := Sign(context.Background(), a, key)
	if err != nil {
		t.Fatal(err)
	}
	add(t, a, good)
	if _, err := p.Verify(context.Background(), a); err != nil {
		t.Errorf("with a signature of its own: %v", err)
	}
}

func generated(t *testing.T, kind KeyKind) *SigningKey {
	t.Helper()
	private, _, err := GenerateKey(kind, nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := LoadKey(private, nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
