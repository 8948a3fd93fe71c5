package trust

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/cloister-wasm/cloister/plugins/bundle"
)

// SignFile makes a signature over a file that is no plugin, such as the list of a release's digests: a sigstore bundle v0.3 as
// JSON, which "cosign verify-blob --key --bundle" accepts. It is over the bytes as they are, not over a statement, so that it
// can never pass as the signature of a plugin. Nothing is sent anywhere. Errors are a [*KeyError] or the context's.
func SignFile(ctx context.Context, data []byte, k *SigningKey) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if k == nil || k.signer == nil {
		return nil, badKey(nil, "there is no key to sign with")
	}
	sig, err := k.sign(data)
	if err != nil {
		return nil, fmt.Errorf("signing: %w", err)
	}
	sum := sha256.Sum256(data)
	return json.Marshal(fileBundle{
		MediaType: bundle.SignatureType,
		Material:  verificationMaterial{PublicKey: keyHint{Hint: k.public.hint()}},
		Message:   messageSignature{Digest: messageDigest{Algorithm: "SHA2_256", Digest: sum[:]}, Signature: sig},
	})
}

// fileBundle is a sigstore bundle over a file.
type fileBundle struct {
	MediaType string               `json:"mediaType"`
	Material  verificationMaterial `json:"verificationMaterial"`
	Message   messageSignature     `json:"messageSignature"`
}

type messageSignature struct {
	Digest    messageDigest `json:"messageDigest"`
	Signature []byte        `json:"signature"`
}

type messageDigest struct {
	Algorithm string `json:"algorithm"`
	Digest    []byte `json:"digest"`
}
