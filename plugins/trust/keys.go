package trust

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"

	"github.com/secure-systems-lab/go-securesystemslib/encrypted"

	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// KeyKind is a kind of key pair.
type KeyKind string

// The kinds. Others are refused: one curve and one hash each leave nothing to negotiate.
const (
	// KeyECDSAP256 is ECDSA on P-256 with SHA-256, the default and what cosign makes.
	KeyECDSAP256 KeyKind = "ecdsa-p256"
	// KeyEd25519 is pure Ed25519. cosign verifies its signatures, but does not make them.
	KeyEd25519 KeyKind = "ed25519"
)

// PEM types of private keys.
const (
	plainType     = "PRIVATE KEY"                    // PKCS #8
	encryptedType = "ENCRYPTED SIGSTORE PRIVATE KEY" // what cosign writes
	olderType     = "ENCRYPTED COSIGN PRIVATE KEY"   // what cosign wrote before version 2, and reads
)

// MaxPasswordBytes bounds a password.
const MaxPasswordBytes = 1024

// GenerateKey makes a key pair, both parts as PEM. kind "" is [KeyECDSAP256]. With a password, an empty one that is not nil
// included, the private key is in cosign's encrypted format (PKCS #8, scrypt, NaCl secretbox), and cosign sign --key takes it;
// with nil it is plain PKCS #8. The public key is SPKI. Safe for concurrent use.
func GenerateKey(kind KeyKind, password []byte) (private, public []byte, err error) {
	var signer crypto.Signer
	switch kind {
	case "", KeyECDSAP256:
		signer, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case KeyEd25519:
		_, signer, err = ed25519.GenerateKey(rand.Reader)
	default:
		return nil, nil, badKey(ErrKeyType, "the kinds are %s and %s, not %s", KeyECDSAP256, KeyEd25519, plaintext.Line(string(kind), 40))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("making a key: %w", err)
	}
	pub, err := newPublic(signer.Public(), nil)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(signer)
	if err != nil {
		return nil, nil, fmt.Errorf("encoding a key: %w", err)
	}
	block := &pem.Block{Type: plainType, Bytes: der}
	if password != nil {
		if len(password) > MaxPasswordBytes {
			return nil, nil, badKey(ErrPassword, "it has more than %d bytes", MaxPasswordBytes)
		}
		block.Type = encryptedType
		if block.Bytes, err = encrypted.Encrypt(der, password); err != nil {
			return nil, nil, fmt.Errorf("encrypting a key: %w", err)
		}
	}
	return pem.EncodeToMemory(block), pub.pem(), nil
}

// SigningKey is a private key. No way of printing it shows more than its fingerprint. Safe for concurrent use.
type SigningKey struct {
	signer crypto.Signer
	public *publicKey
}

// LoadKey reads a private key in PEM: plain PKCS #8, or cosign's encrypted format. password is nil where there is none; an
// empty one that is not nil is a password. Errors are a [*KeyError]: ErrPassword where it is missing or wrong,
// ErrNotEncrypted where there is one and the key needs none, ErrKeyType for other kinds of keys, or ErrKey alone.
func LoadKey(text, password []byte) (*SigningKey, error) {
	if len(text) > maxKeyBytes {
		return nil, badKey(nil, "a private key has less than %d bytes", maxKeyBytes)
	}
	block, rest := pem.Decode(text)
	if block == nil {
		return nil, badKey(nil, `it is not PEM; a private key begins with "-----BEGIN %s-----" or "-----BEGIN %s-----"`, encryptedType, plainType)
	}
	if len(bytes.TrimSpace(rest)) > 0 || len(block.Headers) > 0 || !bytes.HasPrefix(bytes.TrimSpace(text), []byte("-----BEGIN")) {
		return nil, badKey(nil, "there is something beside the one private key")
	}
	der := block.Bytes
	switch block.Type {
	case plainType:
		if password != nil {
			return nil, badKey(ErrNotEncrypted, "leave the password out, or make an encrypted key")
		}
	case encryptedType, olderType:
		var err error
		if der, err = decrypt(der, password); err != nil {
			return nil, err
		}
	case "EC PRIVATE KEY", "RSA PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "OPENSSH PRIVATE KEY":
		return nil, badKey(ErrKeyType, "%s is a format that is not read; make a key with cloister plugin keygen, or import it with cosign import-key-pair", block.Type)
	default:
		return nil, badKey(ErrKeyType, "%s is no private key that can sign plugins", plaintext.Line(block.Type, 40))
	}
	return parsePrivate(der)
}

// decrypt opens cosign's format. The library refuses all but three sets of scrypt parameters, so that a file cannot ask
// for gigabytes.
func decrypt(box, password []byte) ([]byte, error) {
	if password == nil {
		return nil, badKey(ErrPassword, "the key is encrypted; give its password")
	}
	if len(password) > MaxPasswordBytes {
		return nil, badKey(ErrPassword, "it has more than %d bytes", MaxPasswordBytes)
	}
	var form struct {
		KDF, Cipher struct {
			Name string `json:"name"`
		}
		Ciphertext []byte `json:"ciphertext"`
	}
	if err := schema.Check(box); err != nil {
		return nil, badKey(nil, "the encrypted key is damaged")
	}
	if err := json.Unmarshal(box, &form); err != nil || form.KDF.Name != "scrypt" || form.Cipher.Name != "nacl/secretbox" || len(form.Ciphertext) == 0 {
		return nil, badKey(nil, "the key is not encrypted with scrypt and nacl/secretbox, as cosign does it")
	}
	der, err := encrypted.Decrypt(box, password)
	if err != nil {
		// secretbox cannot tell a wrong password from damage, and the library's text adds nothing.
		return nil, badKey(ErrPassword, "the key does not open with it; if it is right, the file is damaged")
	}
	return der, nil
}

func parsePrivate(der []byte) (*SigningKey, error) {
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, badKey(nil, "no private key in PKCS #8 is inside") // the cause could quote key material
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, badKey(ErrKeyType, "it cannot sign")
	}
	pub, err := newPublic(signer.Public(), nil)
	if err != nil {
		return nil, err
	}
	return &SigningKey{signer, pub}, nil
}

// PublicPEM is the public part, for a policy's [Key].
func (k *SigningKey) PublicPEM() []byte { return k.public.pem() }

// Fingerprint names the key, see [Fingerprint].
func (k *SigningKey) Fingerprint() string { return k.public.fingerprint() }

// Kind is the kind of the key.
func (k *SigningKey) Kind() KeyKind { return k.public.kind() }

// Format prints the kind and the fingerprint, whatever the verb: the private part never gets into a log by mistake.
func (k SigningKey) Format(f fmt.State, _ rune) {
	text := "no signing key"
	if k.public != nil {
		text = k.public.String()
	}
	_, _ = io.WriteString(f, text) // fmt keeps what was written; there is nobody to tell
}

// sign signs a message: SHA-256 and ASN.1 for ECDSA, the message itself for Ed25519.
func (k *SigningKey) sign(message []byte) ([]byte, error) {
	if k.Kind() == KeyEd25519 {
		return k.signer.Sign(rand.Reader, message, crypto.Hash(0))
	}
	sum := sha256.Sum256(message)
	return k.signer.Sign(rand.Reader, sum[:], crypto.SHA256)
}
