//go:build interop

// Package interop_test holds our signatures against cosign's, in both directions, through a registry on loopback. It needs
// cosign v3 and nothing from any network:
//
//	CLOISTER_COSIGN=/path/to/cosign go test -tags interop ./plugins/trust/interop
//
// With -update it writes the signatures that cosign made into ../testdata, for the tests that run without cosign.
package interop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/cloister-wasm/cloister/plugins/bundle"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

var update = flag.Bool("update", false, "write cosign's signatures into ../testdata")

const (
	manifest = `{"abi": "cloister.plugin/1", "id": "acme.hello", "version": "1.0.0", "description": "Says hello.",
		"tools": [{"name": "greet", "description": "Greets.", "parameters": {"type": "object"}}]}`
	password = "interop"
)

// lab is a registry on loopback and a folder for cosign.
type lab struct {
	t      *testing.T
	cosign string
	dir    string
	host   string
	remote *bundle.Remote
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t, cosign: os.Getenv("CLOISTER_COSIGN"), dir: t.TempDir(), remote: &bundle.Remote{}}
	if l.cosign == "" {
		t.Fatal("set CLOISTER_COSIGN to the path of cosign v3")
	}
	srv := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(srv.Close)
	l.host = strings.TrimPrefix(srv.URL, "http://")
	l.write("predicate.json", "{}")
	// An empty root: cosign looks for the public one in the network otherwise. Keys do not need it.
	l.write("root.json", `{"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1"}`)
	l.must("signing-config", "create", "--out", "sc.json")
	return l
}

func (l *lab) write(name, text string) string {
	l.t.Helper()
	path := filepath.Join(l.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
	return path
}

// run runs cosign. Its network ends at loopback: the proxy for everything else is not there.
func (l *lab) run(args ...string) (string, error) {
	cmd := exec.Command(l.cosign, args...)
	cmd.Dir = l.dir
	cmd.Env = append(os.Environ(), "COSIGN_PASSWORD="+password, "HOME="+l.dir,
		"HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1", "NO_PROXY=127.0.0.1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		l.t.Fatalf("cosign cannot be started: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	shown := strings.NewReplacer(l.host, "REGISTRY").Replace("cosign " + strings.Join(args, " ") + "\n  → " + lines[len(lines)-1])
	l.t.Logf("%.500s (%v)", shown, err)
	return out.String(), err
}

func (l *lab) must(args ...string) {
	l.t.Helper()
	if out, err := l.run(args...); err != nil {
		l.t.Fatalf("%v\n%s", err, out)
	}
}

// push builds a plugin whose digest is its own, signs it with the keys, and pushes it.
func (l *lab) push(name string, keys ...*trust.SigningKey) (*bundle.Artifact, string) {
	l.t.Helper()
	a, err := bundle.Build(bundle.Files{Manifest: []byte(manifest), Wasm: []byte("\x00asm\x01\x00\x00\x00"), Readme: []byte(name)})
	if err != nil {
		l.t.Fatal(err)
	}
	for _, k := range keys {
		sig, err := trust.Sign(context.Background(), a, k)
		if err != nil {
			l.t.Fatal(err)
		}
		if err := a.AddSignature(sig); err != nil {
			l.t.Fatal(err)
		}
	}
	digest, err := l.remote.Push(context.Background(), l.host+"/acme/"+name+":1.0.0", a)
	if err != nil {
		l.t.Fatal(err)
	}
	return a, l.host + "/acme/" + name + "@" + digest
}

func (l *lab) pull(ref string) *bundle.Artifact {
	l.t.Helper()
	a, err := l.remote.Pull(context.Background(), ref)
	if err != nil {
		l.t.Fatal(err)
	}
	return a
}

func (l *lab) sign(key, ref string) (string, error) {
	return l.run("sign", "--yes", "--key", key, "--signing-config", "sc.json", "--trusted-root", "root.json", "--allow-http-registry", ref)
}

func (l *lab) attest(key, predicate, ref string) (string, error) {
	return l.run("attest", "--yes", "--key", key, "--predicate", "predicate.json", "--type", predicate, "--signing-config", "sc.json",
		"--trusted-root", "root.json", "--allow-http-registry", ref)
}

func (l *lab) verify(key, ref string) (string, error) {
	return l.run("verify", "--key", key, "--insecure-ignore-tlog=true", "--trusted-root", "root.json", "--allow-http-registry", ref)
}

func (l *lab) verifyAttestation(key, ref string) (string, error) {
	return l.run("verify-attestation", "--key", key, "--type", trust.PredicateType, "--insecure-ignore-tlog=true", "--trusted-root", "root.json", "--allow-http-registry", ref)
}

// keys makes a key pair of ours, encrypted, and puts it into the folder.
func (l *lab) keys(name string, kind trust.KeyKind) *trust.SigningKey {
	l.t.Helper()
	private, public, err := trust.GenerateKey(kind, []byte(password))
	if err != nil {
		l.t.Fatal(err)
	}
	base := filepath.Join(l.dir, name)
	if err := trust.WriteKeys(base, private, public); err != nil {
		l.t.Fatal(err)
	}
	return l.load(base + trust.PrivateKeySuffix)
}

func (l *lab) load(path string) *trust.SigningKey {
	l.t.Helper()
	k, err := trust.LoadKeyFile(path, []byte(password))
	if err != nil {
		l.t.Fatal(err)
	}
	return k
}

func policy(t *testing.T, keys ...*trust.SigningKey) *trust.Policy {
	t.Helper()
	p := trust.Publisher{Name: "acme", Owns: trust.Ownership{IDs: []string{"acme."}, Tools: []string{"*"}}}
	for _, k := range keys {
		p.Keys = append(p.Keys, trust.Key{PublicKey: string(k.PublicPEM())})
	}
	policy := &trust.Policy{}
	if err := policy.AddPublisher(p); err != nil {
		t.Fatal(err)
	}
	return policy
}

// Ours, verified by cosign: accepted with the key, refused with another.
func TestOursByCosign(t *testing.T) {
	for _, kind := range []trust.KeyKind{trust.KeyECDSAP256, trust.KeyEd25519} {
		t.Run(string(kind), func(t *testing.T) {
			l := newLab(t)
			_, ref := l.push("hello", l.keys("acme", kind))
			l.keys("other", kind)
			for what, verify := range map[string]func(key, ref string) (string, error){"verify": l.verify, "verify-attestation": l.verifyAttestation} {
				if out, err := verify("acme.pub", ref); err != nil {
					t.Errorf("cosign %s refuses our signature: %v\n%s", what, err, out)
				}
				if out, err := verify("other.pub", ref); err == nil {
					t.Errorf("cosign %s accepts it with another key\n%s", what, out)
				}
			}
			_, unsigned := l.push("unsigned")
			if out, err := l.verify("acme.pub", unsigned); err == nil {
				t.Errorf("cosign verifies what is not signed\n%s", out)
			}
		})
	}
}

// cosign's, verified by us: sign and attest, with a key of cosign's and with one of ours.
func TestCosignsByUs(t *testing.T) {
	l := newLab(t)
	l.must("generate-key-pair", "--output-key-prefix", "cosigns")
	ours := l.keys("ours", trust.KeyECDSAP256)
	for name, k := range map[string]*trust.SigningKey{"cosigns": l.load(filepath.Join(l.dir, "cosigns.key")), "ours": ours} {
		for how, sign := range map[string]func(ref string) (string, error){
			"sign":   func(ref string) (string, error) { return l.sign(name+".key", ref) },
			"attest": func(ref string) (string, error) { return l.attest(name+".key", trust.PredicateType, ref) },
		} {
			t.Run(how+" with the key "+name, func(t *testing.T) {
				a, ref := l.push(name + "-" + how)
				if _, err := policy(t, k).Verify(t.Context(), l.pull(ref)); !errors.Is(err, trust.ErrUnsigned) {
					t.Fatalf("before it is signed: %v", err)
				}
				if out, err := sign(ref); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				v, err := policy(t, k).Verify(t.Context(), l.pull(ref))
				if err != nil {
					t.Fatal(err)
				}
				if v.Artifact.Digest() != a.Digest() || v.Signer.Key != k.Fingerprint() {
					t.Errorf("verified %s by %v", v.Artifact.Digest(), v.Signer)
				}
				other := l.keys("other-"+name+how, trust.KeyECDSAP256)
				if _, err := policy(t, other).Verify(t.Context(), l.pull(ref)); !errors.Is(err, trust.ErrUnknownSigner) {
					t.Errorf("with another key: %v", err)
				}
			})
		}
	}
}

// An attestation of another type is about an artifact, and no signature of it.
func TestAttestationIsNoSignature(t *testing.T) {
	l := newLab(t)
	k := l.keys("acme", trust.KeyECDSAP256)
	_, ref := l.push("hello")
	if out, err := l.attest("acme.key", "custom", ref); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, err := policy(t, k).Verify(t.Context(), l.pull(ref))
	if !errors.Is(err, trust.ErrInvalidSignature) {
		t.Fatalf("got %v", err)
	}
	t.Logf("refused: %v", err)
	// Beside a signature it does no harm.
	if out, err := l.sign("acme.key", ref); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := policy(t, k).Verify(t.Context(), l.pull(ref)); err != nil {
		t.Error(err)
	}
}

// cosign uses Ed25519 keys for DSSE as Ed25519ph, which its own verify does not take. If this test fails, cosign has
// changed, and the documentation of package trust should say so.
func TestEd25519WithCosign(t *testing.T) {
	l := newLab(t)
	k := l.keys("acme", trust.KeyEd25519)
	_, ref := l.push("hello")
	if out, err := l.sign("acme.key", ref); err == nil {
		if _, err := l.verify("acme.pub", ref); err == nil {
			t.Errorf("cosign signs with Ed25519 now\n%s", out)
		}
		if _, err := policy(t, k).Verify(t.Context(), l.pull(ref)); !errors.Is(err, trust.ErrInvalidSignature) {
			t.Errorf("we say %v", err)
		}
	} else if !strings.Contains(out, "failed to verify signature") {
		t.Errorf("cosign fails for another reason:\n%s", out)
	}
}

// One artifact with signatures of both sides verifies on both sides.
func TestBothSign(t *testing.T) {
	l := newLab(t)
	ours := l.keys("ours", trust.KeyEd25519)
	l.must("generate-key-pair", "--output-key-prefix", "cosigns")
	cosigns := l.load(filepath.Join(l.dir, "cosigns.key"))
	_, ref := l.push("hello", ours)
	if out, err := l.sign("cosigns.key", ref); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := len(l.pull(ref).Signatures()); n != 2 {
		t.Fatalf("%d signatures are there, want 2", n)
	}
	for name, k := range map[string]*trust.SigningKey{"ours": ours, "cosigns": cosigns} {
		if _, err := policy(t, k).Verify(t.Context(), l.pull(ref)); err != nil {
			t.Errorf("%s, by us: %v", name, err)
		}
		if out, err := l.verify(name+".pub", ref); err != nil {
			t.Errorf("%s, by cosign: %v\n%s", name, err, out)
		}
	}
}

// Vectors for the tests that run without cosign.
func TestVectors(t *testing.T) {
	if !*update {
		t.Skip("only with -update: it writes files")
	}
	l := newLab(t)
	key, err := filepath.Abs("../testdata/cosign.key")
	if err != nil {
		t.Fatal(err)
	}
	a, ref := l.push("vectors")
	for name, sign := range map[string]func() (string, error){
		"cosign-sign.json":   func() (string, error) { return l.sign(key, ref) },
		"cosign-attest.json": func() (string, error) { return l.attest(key, trust.PredicateType, ref) },
	} {
		before := l.pull(ref).Signatures()
		if out, err := sign(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, s := range l.pull(ref).Signatures() {
			if !contains(before, s) && json.Valid(s) {
				if err := os.WriteFile(filepath.Join("../testdata", name), s, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := os.WriteFile("../testdata/cosign.digest", []byte(a.Digest()+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func contains(list [][]byte, s []byte) bool {
	for _, o := range list {
		if bytes.Equal(o, s) {
			return true
		}
	}
	return false
}
