package trust

import (
	"testing"

	"github.com/cloister-wasm/cloister/plugins/bundle"
)

// The keys of testdata/earlier.cloister, which the first version of this format wrote and signed twice. Its private keys were
// thrown away.
const (
	earlierP256 = `-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE8+9SnRZxKIOnXhAbQ6vY/v42nAGn
IFhP7x4IGfIU2/BBmrdy1OP/zDk/Iy9CD3INhfaUuUo/MkPwsxbpTvMgQg==
-----END PUBLIC KEY-----
`
	earlierEd25519 = `-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEADwJTK75aoQ/gD37/EC6Fbc0C1R0H+lqw3PS26AR6DkI=
-----END PUBLIC KEY-----
`

	earlierDigest = "sha256:02ca29f095ea81ffcb03b9d83d698d15031383576ad8e0010ecf75de9dc84d1f"
)

// Bundles that were written before there were rules about their writing are read and verified as they were.
func TestEarlierBundles(t *testing.T) {
	a, err := bundle.Read("testdata/earlier.cloister")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{earlierP256, earlierEd25519} {
		p := policy(t, Publisher{Name: "acme", Keys: []Key{{PublicKey: key}}, Owns: Ownership{IDs: []string{"acme."}, Tools: []string{"*"}}})
		v, err := p.Verify(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		if v.Manifest.ID != "acme.hello" || a.Digest() != earlierDigest {
			t.Errorf("%s %s", v.Manifest.ID, a.Digest())
		}
	}
}
