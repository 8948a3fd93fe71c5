package trust

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Signature, policy and manifest of a small plugin; signature is the cryptography and its JSON alone.
func BenchmarkVerify(b *testing.B) {
	for _, kind := range []KeyKind{KeyECDSAP256, KeyEd25519} {
		k := newKey(b, kind)
		p := policy(b, publisher("acme", k))
		a := signWith(b, artifact(b, issuesJSON), k)
		b.Run(string(kind), func(b *testing.B) {
			for b.Loop() {
				if _, err := p.Verify(b.Context(), a); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(string(kind)+"/signature", func(b *testing.B) {
			for b.Loop() {
				if _, refused := p.compiled.signature(a.Signatures()[0], a.Digest()); refused != nil {
					b.Fatal(refused)
				}
			}
		})
	}
}

func BenchmarkVerifyKeyless(b *testing.B) {
	vs := sigstoreInstance(b)
	a := artifact(b, helloJSON)
	payload, err := newStatement(a.Digest())
	if err != nil {
		b.Fatal(err)
	}
	add(b, a, keyless(b, vs, workflow, issuer, payload, nil))
	p := keylessPolicy(b, trustedRoot(b, vs, witnesses{log: true, stamps: true}))
	for b.Loop() {
		if _, err := p.Verify(b.Context(), a); err != nil {
			b.Fatal(err)
		}
	}
}

// A policy of 1 and of 50 publishers, from the file.
func BenchmarkLoadPolicy(b *testing.B) {
	for _, n := range []int{1, 50} {
		p := &Policy{}
		for i := range n {
			p.Publishers = append(p.Publishers, publisher(fmt.Sprintf("acme%d", i), testKey(b, fmt.Sprint(i))))
		}
		path := filepath.Join(b.TempDir(), "trust.json")
		if err := p.Save(path); err != nil {
			b.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("publishers=%d", n), func(b *testing.B) {
			b.SetBytes(info.Size())
			for b.Loop() {
				if _, err := LoadPolicy(path); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The check that a policy is still the one that was read, in a policy of 50 publishers.
func BenchmarkPolicyUnchanged(b *testing.B) {
	var publishers []Publisher
	for i := range 50 {
		publishers = append(publishers, publisher(fmt.Sprintf("acme%d", i), testKey(b, fmt.Sprint(i))))
	}
	p := policy(b, publishers...)
	for b.Loop() {
		if _, err := p.use(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSign(b *testing.B) {
	k := newKey(b, "")
	a := artifact(b, helloJSON)
	for b.Loop() {
		if _, err := Sign(b.Context(), a, k); err != nil {
			b.Fatal(err)
		}
	}
}
