package trust

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fuzzDigest stands for an artifact that is signed once, by a key that always signs the same.
const fuzzDigest = "sha256:5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a"

// corpus adds the checked-in inputs of a target, and fails when there are none.
func corpus(f *testing.F, target string) {
	f.Helper()
	entries, err := os.ReadDir(filepath.Join("testdata", "fuzz", target))
	if err != nil || len(entries) == 0 {
		f.Fatalf("%s has no corpus: %v", target, err)
	}
}

// Whatever a policy file holds: no panic, and what is accepted means the same after it was written and read again.
func FuzzPolicy(f *testing.F) {
	corpus(f, "FuzzPolicy")
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParsePolicy(data)
		if err != nil {
			var e *PolicyError
			if !errors.As(err, &e) || len(e.Problems) == 0 || len(e.Problems) > MaxProblems {
				t.Fatalf("%v is no list of mistakes", err)
			}
			return
		}
		again, err := ParsePolicy(p.Marshal())
		if err != nil {
			t.Fatalf("what was accepted is refused when it is written again: %v\n%s", err, p.Marshal())
		}
		if !bytes.Equal(p.Marshal(), again.Marshal()) {
			t.Fatalf("it changes when it is read again:\n%s\n%s", p.Marshal(), again.Marshal())
		}
		for _, pub := range p.Publishers {
			if len(pub.Keys)+len(pub.Identities) == 0 || pub.Owns.ownsID("") || pub.Owns.ownsGlobal("") {
				t.Fatalf("accepted: %+v", pub)
			}
		}
	})
}

// Whatever a signature holds: no panic, and nothing verifies but what the key has signed.
func FuzzVerify(f *testing.F) {
	corpus(f, "FuzzVerify")
	ed, ec := testKey(f, "fuzz"), cosignKey(f)
	acme := publisher("acme", ed)
	acme.Keys = append(acme.Keys, ec)
	c, err := policy(f, acme).use()
	if err != nil {
		f.Fatal(err)
	}
	payload, err := newStatement(fuzzDigest)
	if err != nil {
		f.Fatal(err)
	}
	good := envelope(f, ed, payloadType, payload, nil)
	f.Add(good)
	for _, name := range []string{"cosign-sign.json", "cosign-attest.json"} { // good, over another artifact
		raw, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	if _, refused := c.signature(good, fuzzDigest); refused != nil {
		f.Fatal(refused)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, refused := c.signature(data, fuzzDigest)
		switch {
		case refused == nil:
			sameEnvelope(t, good, data)
			if s.signer.Key != ed.Fingerprint() {
				t.Fatalf("it is signed by %v", s.signer)
			}
		case refused.State != StateInvalidSignature && refused.State != StateUnknownSigner:
			t.Fatalf("got %v", refused)
		case strings.ContainsAny(refused.Error(), "\n\x1b"):
			t.Fatalf("the text is not one plain line: %q", refused)
		}
	})
}

// Whatever a key file holds: no panic, and a public key has one fingerprint.
func FuzzKeys(f *testing.F) {
	corpus(f, "FuzzKeys")
	f.Fuzz(func(t *testing.T, data []byte) {
		if pub, err := parsePublic(string(data)); err == nil {
			again, err := parsePublic(string(pub.pem()))
			if err != nil || again.fingerprint() != pub.fingerprint() {
				t.Fatalf("the key has two fingerprints: %v", err)
			}
		} else if !errors.Is(err, ErrKey) {
			t.Fatalf("got %v", err)
		}
		if k, err := LoadKey(data, nil); err == nil {
			if _, err := k.sign(data); err != nil {
				t.Fatalf("a key that cannot sign: %v", err)
			}
		} else if !errors.Is(err, ErrKey) {
			t.Fatalf("got %v", err)
		}
	})
}

func cosignKey(tb testing.TB) Key {
	tb.Helper()
	text, err := os.ReadFile("testdata/cosign.pub")
	if err != nil {
		tb.Fatal(err)
	}
	return Key{PublicKey: string(text)}
}

// The corpora hold what they are for: policies that are accepted, and signatures that verify.
func TestCorporaReachTheInside(t *testing.T) {
	policies, signatures := 0, 0
	c, err := policy(t, publisher("acme", testKey(t, "fuzz"))).use()
	if err != nil {
		t.Fatal(err)
	}
	each := func(target string, visit func([]byte)) {
		files, err := filepath.Glob(filepath.Join("testdata", "fuzz", target, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			raw, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			_, value, _ := strings.Cut(strings.TrimSpace(string(raw)), "\n[]byte(")
			var text string
			if err := json.Unmarshal([]byte(strings.TrimSuffix(value, ")")), &text); err == nil {
				visit([]byte(text))
			}
		}
	}
	each("FuzzPolicy", func(b []byte) {
		if _, err := ParsePolicy(b); err == nil {
			policies++
		}
	})
	each("FuzzVerify", func(b []byte) {
		if _, refused := c.signature(b, fuzzDigest); refused == nil {
			signatures++
		}
	})
	if policies == 0 || signatures == 0 {
		t.Errorf("%d policies are accepted and %d signatures verify", policies, signatures)
	}
}
