package trust

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// publicKey is a public key of a kind that is accepted.
type publicKey struct {
	key crypto.PublicKey // *ecdsa.PublicKey on P-256, or ed25519.PublicKey
	der []byte           // SPKI
}

// Fingerprint gives the fingerprint of a public key in PEM: "sha256:" and the SHA-256 of its SPKI DER in hexadecimal. It is
// how lists, [Revoked] and [Signer] name a key. The error is a [*KeyError].
func Fingerprint(publicPEM string) (string, error) {
	pub, err := parsePublic(publicPEM)
	if err != nil {
		return "", err
	}
	return pub.fingerprint(), nil
}

// parsePublic reads one PEM block of type PUBLIC KEY and nothing else.
func parsePublic(text string) (*publicKey, error) {
	if len(text) > maxKeyBytes {
		return nil, badKey(nil, "a public key has less than %d bytes", maxKeyBytes)
	}
	block, rest := pem.Decode([]byte(text))
	switch {
	case block == nil:
		return nil, badKey(nil, `a public key begins with "-----BEGIN PUBLIC KEY-----"`)
	case block.Type != "PUBLIC KEY":
		return nil, badKey(nil, "%s is not PUBLIC KEY: give the file that ends in .pub", plaintext.Line(block.Type, 40))
	case len(bytes.TrimSpace(rest)) > 0 || len(block.Headers) > 0 || !bytes.HasPrefix(bytes.TrimSpace([]byte(text)), []byte("-----BEGIN")):
		return nil, badKey(nil, "there is something beside the one public key")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, badKey(nil, "no public key is inside: %v", err)
	}
	return newPublic(key, block.Bytes)
}

// newPublic takes a key of a kind that is accepted. der, where it is given, must be the one encoding of it: a second one
// would have a second fingerprint, and get round a revocation.
func newPublic(key crypto.PublicKey, der []byte) (*publicKey, error) {
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		if k.Curve != elliptic.P256() {
			return nil, badKey(ErrKeyType, "it is ECDSA on another curve; make one with cloister plugin keygen")
		}
	case ed25519.PublicKey:
	default:
		return nil, badKey(ErrKeyType, "it is %T; make one with cloister plugin keygen", key)
	}
	canonical, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, badKey(nil, "it cannot be encoded: %v", err)
	}
	if der != nil && !bytes.Equal(der, canonical) {
		return nil, badKey(nil, "it is encoded in an unusual way; write it anew, for example with openssl pkey -pubin")
	}
	return &publicKey{key, canonical}, nil
}

func (k *publicKey) fingerprint() string {
	sum := sha256.Sum256(k.der)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// hint is how a sigstore bundle names the key, the same as cosign's publicKey.hint: base64 of the SHA-256 of the SPKI.
func (k *publicKey) hint() string {
	sum := sha256.Sum256(k.der)
	return base64.StdEncoding.EncodeToString(sum[:])
}

func (k *publicKey) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: k.der})
}

// String shows the kind and the fingerprint.
func (k *publicKey) String() string { return fmt.Sprintf("%s key %s", k.kind(), k.fingerprint()) }

func (k *publicKey) kind() KeyKind {
	if _, ok := k.key.(ed25519.PublicKey); ok {
		return KeyEd25519
	}
	return KeyECDSAP256
}
