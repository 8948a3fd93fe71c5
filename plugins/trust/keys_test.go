package trust

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGenerateAndLoad(t *testing.T) {
	for _, c := range []struct {
		kind     KeyKind
		password []byte
	}{
		{"", nil}, {KeyECDSAP256, nil}, {KeyEd25519, nil},
		{KeyECDSAP256, []byte{}}, {KeyEd25519, []byte("correct horse")}, // slow on purpose: no more than needed
	} {
		t.Run(fmt.Sprintf("%s with %q", c.kind, c.password), func(t *testing.T) { generateAndLoad(t, c.kind, c.password) })
	}
	_, _, err := GenerateKey("rsa", nil)
	wantKeyError(t, err, ErrKeyType)
	_, _, err = GenerateKey("", make([]byte, MaxPasswordBytes+1))
	wantKeyError(t, err, ErrPassword)
}

func generateAndLoad(t *testing.T, kind KeyKind, password []byte) {
	private, public, err := GenerateKey(kind, password)
	if err != nil {
		t.Fatal(err)
	}
	wantType := "PRIVATE KEY"
	if password != nil {
		wantType = "ENCRYPTED SIGSTORE PRIVATE KEY"
	}
	if block, rest := pem.Decode(private); block == nil || block.Type != wantType || len(rest) > 0 {
		t.Fatalf("the private key is no single block of type %s", wantType)
	}
	k, err := LoadKey(private, password)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(k.PublicPEM(), public) {
		t.Errorf("the public key is %s, want %s", k.PublicPEM(), public)
	}
	if print, err := Fingerprint(string(public)); err != nil || print != k.Fingerprint() || !digestForm.MatchString(print) {
		t.Errorf("the fingerprints are %q and %q, %v", print, k.Fingerprint(), err)
	}
	if kind != "" && k.Kind() != kind {
		t.Errorf("the kind is %s, want %s", k.Kind(), kind)
	}
	if password == nil {
		_, err = LoadKey(private, []byte{})
		wantKeyError(t, err, ErrNotEncrypted)
		return
	}
	_, err = LoadKey(private, nil)
	wantKeyError(t, err, ErrPassword)
	if len(password) > 0 {
		_, err = LoadKey(private, []byte{})
		wantKeyError(t, err, ErrPassword)
	}
}

func wantKeyError(t *testing.T, err, kind error) {
	t.Helper()
	var e *KeyError
	if !errors.As(err, &e) || !errors.Is(err, ErrKey) || e.Detail == "" {
		t.Fatalf("got %v, want a *KeyError with a detail", err)
	}
	for _, k := range []error{ErrKeyType, ErrPassword, ErrNotEncrypted} {
		if errors.Is(err, k) != (k == kind) {
			t.Errorf("got %v, want the kind %v", err, kind)
		}
	}
}

func TestLoadKeyRefusals(t *testing.T) {
	good, err := os.ReadFile("testdata/cosign.key")
	if err != nil {
		t.Fatal(err)
	}
	plain, public, err := GenerateKey("", nil)
	if err != nil {
		t.Fatal(err)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der384, err := x509.MarshalPKCS8PrivateKey(p384)
	if err != nil {
		t.Fatal(err)
	}
	sec1, err := x509.MarshalECPrivateKey(p384)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(good)
	box := func(from, to string) []byte {
		b := bytes.Replace(block.Bytes, []byte(from), []byte(to), 1)
		if bytes.Equal(b, block.Bytes) {
			t.Fatalf("the format has no %s", from)
		}
		return pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: b})
	}
	wrap := func(kind string, b []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}) }
	for _, c := range []struct {
		name string
		text []byte
		kind error
	}{
		{"nothing", nil, nil},
		{"no PEM", []byte("password"), nil},
		{"too large", bytes.Repeat([]byte("x"), 1<<20), nil},
		{"a public key", public, ErrKeyType},
		{"a certificate", wrap("CERTIFICATE", sec1), ErrKeyType},
		{"SEC 1", wrap("EC PRIVATE KEY", sec1), ErrKeyType},
		{"encrypted PKCS #8", wrap("ENCRYPTED PRIVATE KEY", sec1), ErrKeyType},
		{"OpenSSH", wrap("OPENSSH PRIVATE KEY", sec1), ErrKeyType},
		{"two keys", append(bytes.Clone(good), good...), nil},
		{"text around it", append([]byte("my key\n"), good...), nil},
		{"no JSON inside", wrap(block.Type, []byte("secret")), nil},
		{"a member twice", box(`{"kdf"`, `{"cipher":{},"kdf"`), nil},
		{"another cipher", box("nacl/secretbox", "aes"), nil},
		{"another kdf", box(`"scrypt"`, `"md5"`), nil},
		{"scrypt for a gigabyte", box(`"N":65536`, `"N":1073741824`), ErrPassword},
		{"scrypt for nothing", box(`"N":65536`, `"N":2`), ErrPassword},
		{"a short nonce", box(`"nonce":"`, `"nonce":"AAAA","x":"`), ErrPassword},
		{"no ciphertext", box(`"ciphertext":"`, `"x":"`), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := LoadKey(c.text, []byte("password"))
			wantKeyError(t, err, c.kind)
		})
	}
	_, err = LoadKey(wrap("PRIVATE KEY", der384), nil)
	wantKeyError(t, err, ErrKeyType)
	_, err = LoadKey(wrap("PRIVATE KEY", []byte("x")), nil)
	wantKeyError(t, err, nil)
	_, err = LoadKey(good, make([]byte, MaxPasswordBytes+1))
	wantKeyError(t, err, ErrPassword)
	if _, err := LoadKey(append([]byte("\n"), append(plain, '\n')...), nil); err != nil {
		t.Errorf("empty lines around a key: %v", err)
	}
}

// A key pair that cosign v3.1.3 made (cosign generate-key-pair, password "interop"), and its older PEM type.
func TestCosignKey(t *testing.T) {
	text, err := os.ReadFile("testdata/cosign.key")
	if err != nil {
		t.Fatal(err)
	}
	public, err := os.ReadFile("testdata/cosign.pub")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{text, bytes.ReplaceAll(text, []byte("SIGSTORE"), []byte("COSIGN"))} {
		k, err := LoadKey(text, []byte("interop"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(public), string(k.PublicPEM())); diff != "" {
			t.Errorf("the public key differs (-cosign +ours):\n%s", diff)
		}
	}
}

// Signatures that cosign v3.1.3 made with that key: sign, and attest with the predicate type of sign.
func TestCosignSignatures(t *testing.T) {
	public, err := os.ReadFile("testdata/cosign.pub")
	if err != nil {
		t.Fatal(err)
	}
	acme := publisher("acme")
	acme.Keys = []Key{{PublicKey: string(public)}}
	c, err := policy(t, acme).use()
	if err != nil {
		t.Fatal(err)
	}
	digest, err := os.ReadFile("testdata/cosign.digest")
	if err != nil {
		t.Fatal(err)
	}
	d := strings.TrimSpace(string(digest))
	for _, name := range []string{"cosign-sign.json", "cosign-attest.json"} {
		raw, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if s, refused := c.signature(raw, d); refused != nil || s.signer.Publisher != "acme" {
			t.Errorf("%s: %v", name, refused)
		}
		if _, refused := c.signature(raw, "sha256:"+strings.Repeat("0", 64)); refused == nil || refused.State != StateInvalidSignature {
			t.Errorf("%s over another artifact: %v", name, refused)
		}
	}
}

// No way of printing a key shows the private part.
func TestKeysAreNotPrinted(t *testing.T) {
	k := testKey(t, "printed")
	der, err := x509.MarshalPKCS8PrivateKey(k.signer)
	if err != nil {
		t.Fatal(err)
	}
	seed := der[len(der)-32:]
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("key", "key", k)
	slog.New(slog.NewTextHandler(&log, nil)).Info("key", "key", k, "value", *k)
	asJSON, err := json.Marshal(map[string]any{"key": k})
	if err != nil {
		t.Fatal(err)
	}
	out := log.String() + string(asJSON)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T %p"} {
		out += fmt.Sprintf(verb+" ", k) + fmt.Sprintf(verb+" ", *k) + fmt.Sprintf(verb+" ", []*SigningKey{k})
	}
	for _, secret := range []string{hex.EncodeToString(seed), base64.StdEncoding.EncodeToString(seed), fmt.Sprint([]byte(seed))[1:20], string(seed)} {
		if strings.Contains(strings.ToLower(out), strings.ToLower(secret)) {
			t.Errorf("the key was printed: %s", out)
		}
	}
	if !strings.Contains(fmt.Sprintf("%#v", k), k.Fingerprint()) {
		t.Errorf("a key prints as %#v", k)
	}
	if got := fmt.Sprint(SigningKey{}); got != "no signing key" {
		t.Errorf("the zero key prints as %q", got)
	}
}

func TestWriteKeys(t *testing.T) {
	base := filepath.Join(t.TempDir(), "acme")
	private, public, err := GenerateKey("", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteKeys(base, private, public); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]fs.FileMode{base + ".key": 0o600, base + ".pub": 0o644} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); runtime.GOOS != "windows" && got&^mode != 0 {
			t.Errorf("%s has the mode %v, want %v at most", name, got, mode)
		}
	}
	k, err := LoadKeyFile(base+".key", nil)
	if err != nil || !bytes.Equal(k.PublicPEM(), public) {
		t.Fatalf("reading it back: %v", err)
	}
	if err := WriteKeys(base, public, public); !errors.Is(err, ErrExists) {
		t.Errorf("over a key: %v", err)
	}
	if err := os.Remove(base + ".key"); err != nil {
		t.Fatal(err)
	}
	if err := WriteKeys(base, private, public); !errors.Is(err, ErrExists) {
		t.Errorf("over a public key: %v", err)
	}
	if _, err := os.Stat(base + ".key"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a private key was left behind: %v", err)
	}
	if _, err := LoadKeyFile(base+".key", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	_, err = LoadKeyFile(base+".pub", nil)
	wantKeyError(t, err, ErrKeyType)
}

// A key has one fingerprint: another encoding of it would get round a revocation.
func TestOneEncodingPerKey(t *testing.T) {
	k := newKey(t, "")
	block, _ := pem.Decode(k.PublicPEM())
	// The same SPKI with its outer length in the long form, which DER forbids.
	ber := append([]byte{0x30, 0x81, block.Bytes[1]}, block.Bytes[2:]...)
	if _, err := Fingerprint(string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: ber}))); !errors.Is(err, ErrKey) {
		t.Errorf("a second encoding: %v", err)
	}
	headers := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Headers: map[string]string{"a": "b"}, Bytes: block.Bytes})
	if _, err := Fingerprint(string(headers)); !errors.Is(err, ErrKey) {
		t.Errorf("headers: %v", err)
	}
	if _, err := newPublic(k.public.key, ber); !errors.Is(err, ErrKey) {
		t.Errorf("newPublic: %v", err)
	}
}
