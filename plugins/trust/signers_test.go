package trust

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

// Two of three signers, in whatever order; one that signs twice, or whose signature is written in two ways, is one.
func TestThreshold(t *testing.T) {
	one, two, three := testKey(t, "one"), testKey(t, "two"), newKey(t, KeyECDSAP256)
	stranger := testKey(t, "stranger")
	p := policy(t, publisher("acme", one, two, three), publisher("other", testKey(t, "others")))
	if err := p.SetThreshold("acme", 2); err != nil {
		t.Fatal(err)
	}
	twice := func(b []byte) []byte { // the same signature, with one more member that nobody reads
		var m map[string]any
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		m["dsseEnvelope"].(map[string]any)["signatures"].([]any)[0].(map[string]any)["keyid"] = "x"
		out, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	a := artifact(t, helloJSON)
	by := func(k *SigningKey) []byte { return sig(t, a, k) }
	tests := []struct {
		name       string
		signatures [][]byte
		signer     *SigningKey // nil: too few
	}{
		{"one", [][]byte{by(one)}, nil},
		{"the same twice", [][]byte{by(three), by(three)}, nil}, // ECDSA: two signatures that differ
		{"the same in two writings", [][]byte{by(one), twice(by(one))}, nil},
		{"one and a stranger", [][]byte{by(one), by(stranger)}, nil},
		{"one and another publisher", [][]byte{by(one), by(testKey(t, "others"))}, nil},
		{"two", [][]byte{by(one), by(two)}, one},
		{"two in another order", [][]byte{by(three), by(two)}, two},
		{"two and junk", [][]byte{by(stranger), []byte("{}"), by(three), by(stranger), by(one)}, one},
		{"all", [][]byte{by(three), by(two), by(one)}, one},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for range 2 {
				slices.Reverse(tt.signatures)
				a := artifact(t, helloJSON)
				for _, s := range tt.signatures {
					if err := a.AddSignature(s); err != nil {
						t.Fatal(err)
					}
				}
				v, err := p.Verify(t.Context(), a)
				switch {
				case tt.signer == nil:
					e := Classify(err)
					if e == nil || e.Step != StepSigner || e.State != StateTooFewSigners || !errors.Is(err, ErrTooFewSigners) ||
						!strings.Contains(e.Detail, "wants 2 of the 3 signers of publisher acme, and 1 signed") {
						t.Errorf("got %v", err)
					}
				case err != nil:
					t.Error(err)
				case v.Signer.Key != tt.signer.Fingerprint() || !v.Genuine():
					t.Errorf("signed by %v", v.Signer)
				}
			}
		})
	}
}

// A revoked key does not count, says so, and can always be revoked; one that the threshold needs cannot be taken away by
// mistake.
func TestThresholdAndRevocation(t *testing.T) {
	one, two, three := testKey(t, "one"), testKey(t, "two"), testKey(t, "three")
	p := policy(t, publisher("acme", one, two, three))
	a := artifact(t, helloJSON)
	signWith(t, a, one, two)
	if err := p.SetThreshold("acme", 4); !errors.Is(err, ErrPolicy) {
		t.Fatalf("4 of 3: %v", err)
	}
	if err := p.SetThreshold("nobody", 1); !errors.Is(err, ErrNotFound) {
		t.Fatalf("nobody: %v", err)
	}
	for _, n := range []int{3, 2} {
		if err := p.SetThreshold("acme", n); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Verify(t.Context(), a); errors.Is(err, ErrTooFewSigners) != (n == 3) {
			t.Fatalf("%d: %v", n, err)
		}
	}
	if err := p.RevokeKey(two.Fingerprint()); err != nil {
		t.Fatal(err)
	}
	_, err := p.Verify(t.Context(), a)
	if !errors.Is(err, ErrTooFewSigners) || !strings.Contains(err.Error(), two.Fingerprint()+" of publisher acme is revoked") {
		t.Errorf("with one revoked: %v", err)
	}
	signWith(t, a, three)
	if _, err := p.Verify(t.Context(), a); err != nil {
		t.Errorf("with a third: %v", err)
	}
	for _, k := range []*SigningKey{one, three} {
		if err := p.RevokeKey(k.Fingerprint()); err != nil {
			t.Fatalf("a revocation is refused: %v", err)
		}
	}
	if _, err := p.Verify(t.Context(), a); !errors.Is(err, ErrRevoked) {
		t.Errorf("with all revoked: %v", err)
	}
	if err := p.RemoveKey("acme", one.Fingerprint()); err != nil {
		t.Fatal(err)
	}
	if err := p.RemoveKey("acme", two.Fingerprint()); !errors.Is(err, ErrPolicy) || !strings.Contains(err.Error(), "lower it") {
		t.Errorf("one key of two wanted is left: %v", err)
	}
}

// A threshold that is set by hand counts at once.
func TestThresholdByHand(t *testing.T) {
	one, two := testKey(t, "one"), testKey(t, "two")
	p := policy(t, publisher("acme", one, two))
	a := artifact(t, helloJSON)
	signWith(t, a, two)
	if v, err := p.Verify(t.Context(), a); err != nil || v.Signer.Key != two.Fingerprint() {
		t.Fatal(v, err)
	}
	p.Publishers[0].Threshold = 2
	if _, err := p.Verify(t.Context(), a); !errors.Is(err, ErrTooFewSigners) {
		t.Errorf("got %v", err)
	}
}
