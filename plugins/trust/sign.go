package trust

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/cloister-wasm/cloister/plugins/bundle"
)

// Sign makes a signature over the artifact's digest: a sigstore bundle v0.3 as JSON, for [bundle.Artifact.AddSignature]. What is
// signed is the same statement as cosign sign makes, and always the same bytes for the same artifact. cosign verify --key
// accepts it. Nothing is sent anywhere.
func Sign(ctx context.Context, a *bundle.Artifact, k *SigningKey) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if k == nil || k.signer == nil {
		return nil, badKey(nil, "there is no key to sign with")
	}
	if a == nil {
		return nil, fmt.Errorf("signing: there is no artifact")
	}
	payload, err := newStatement(a.Digest())
	if err != nil {
		return nil, err
	}
	sig, err := k.sign(preAuth(payloadType, payload))
	if err != nil {
		return nil, fmt.Errorf("signing: %w", err)
	}
	return json.Marshal(signatureBundle{
		MediaType: bundle.SignatureType,
		Material:  verificationMaterial{PublicKey: keyHint{Hint: k.public.hint()}},
		Envelope:  dsseEnvelope{Payload: payload, PayloadType: payloadType, Signatures: []dsseSignature{{sig}}},
	})
}

// signatureBundle is a sigstore bundle, as far as one is made with a key. []byte is base64 in its JSON.
type signatureBundle struct {
	MediaType string               `json:"mediaType"`
	Material  verificationMaterial `json:"verificationMaterial"`
	Envelope  dsseEnvelope         `json:"dsseEnvelope"`
}

type verificationMaterial struct {
	PublicKey keyHint `json:"publicKey"`
}

type keyHint struct {
	Hint string `json:"hint"`
}

type dsseEnvelope struct {
	Payload     []byte          `json:"payload"`
	PayloadType string          `json:"payloadType"`
	Signatures  []dsseSignature `json:"signatures"`
}

type dsseSignature struct {
	Sig []byte `json:"sig"`
}

// preAuth is what a DSSE signature is over: type and payload, each with its length.
func preAuth(payloadType string, payload []byte) []byte {
	b := append([]byte("DSSEv1 "), strconv.Itoa(len(payloadType))...)
	b = append(append(append(b, ' '), payloadType...), ' ')
	b = append(strconv.AppendInt(b, int64(len(payload)), 10), ' ')
	return append(b, payload...)
}
