package trust_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/cloister-wasm/cloister/plugins/bundle"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

func build() *bundle.Artifact {
	a, err := bundle.Build(bundle.Files{
		Manifest: []byte(`{"abi": "cloister.plugin/1", "id": "acme.hello", "version": "1.0.0", "description": "Says hello.",
			"tools": [{"name": "greet", "description": "Greets.", "parameters": {"type": "object"}}]}`),
		Wasm: []byte("\x00asm\x01\x00\x00\x00"),
	})
	if err != nil {
		log.Fatal(err)
	}
	return a
}

// An author signs an artifact; a host whose policy knows the author verifies it.
func Example() {
	ctx := context.Background()
	private, public, err := trust.GenerateKey(trust.KeyECDSAP256, nil)
	if err != nil {
		log.Fatal(err)
	}
	key, err := trust.LoadKey(private, nil)
	if err != nil {
		log.Fatal(err)
	}
	artifact := build()
	signature, err := trust.Sign(ctx, artifact, key)
	if err != nil {
		log.Fatal(err)
	}
	if err := artifact.AddSignature(signature); err != nil {
		log.Fatal(err)
	}

	var policy trust.Policy // the zero value trusts nobody
	err = policy.AddPublisher(trust.Publisher{
		Name: "acme",
		Keys: []trust.Key{{PublicKey: string(public)}},
		Owns: trust.Ownership{IDs: []string{"acme."}, Tools: []string{"greet"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	v, err := policy.Verify(ctx, artifact)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v.Manifest.ID, v.Signer.Publisher, v.Signer.Key == key.Fingerprint())
	// Output: acme.hello acme true
}

// The ways to fail are told apart.
func ExamplePolicy_Verify() {
	_, err := new(trust.Policy).Verify(context.Background(), build())
	var refused *trust.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.Step, refused.State, errors.Is(err, trust.ErrUnsigned))
	}
	_, err = (*trust.Policy)(nil).Verify(context.Background(), build())
	if errors.As(err, &refused) {
		fmt.Println(refused.Step, refused.State, errors.Is(err, trust.ErrNoPolicy))
	}
	// Output:
	// signature unsigned true
	// policy internal true
}

// All mistakes are reported at once, with their places.
func ExampleParsePolicy() {
	_, err := trust.ParsePolicy([]byte(`{
		"version": 1,
		"publishers": [{"name": "acme", "owns": {"ids": ["acme"], "tool": ["*"]}}],
		"revoked": {"digests": ["latest"]}
	}`))
	fmt.Println(err)
	// Output:
	// the trust policy has mistakes:
	//   /publishers/0/keys: it has neither keys nor identities, so nothing can be signed by it; add a key or an identity, or remove the publisher
	//   /publishers/0/owns/ids/0: "acme" is neither an id nor a prefix of ids; write an id such as "acme.hello", or a prefix that ends in "." or "-" such as "acme."
	//   /publishers/0/owns/tool: unknown member; did you mean "tools"?
	//   /publishers/0/owns/tools: it owns no tool name, and every plugin has a tool; write names or prefixes, or "*" for all
	//   /revoked/digests/0: "latest" has the wrong form; write sha256: and the digest of the artifact, 64 hexadecimal digits in lower case
}

// A key that was lost is revoked, and stays so whoever adds it again.
func ExamplePolicy_RevokeKey() {
	_, public, err := trust.GenerateKey(trust.KeyEd25519, nil)
	if err != nil {
		log.Fatal(err)
	}
	fingerprint, err := trust.Fingerprint(string(public))
	if err != nil {
		log.Fatal(err)
	}
	var policy trust.Policy
	if err := policy.RevokeKey(fingerprint); err != nil {
		log.Fatal(err)
	}
	fmt.Println(policy.Revoked.Keys[0] == fingerprint)
	fmt.Println(policy.RevokeKey("the old one") != nil)
	// Output:
	// true
	// true
}

// Errors of every package on the way have a step and a state.
func ExampleClassify() {
	_, err := bundle.Build(bundle.Files{})
	fmt.Println(trust.Classify(err).Step, trust.Classify(err).State)
	fmt.Println(trust.Classify(errors.New("the disk is full")).State)
	// Output:
	// format invalid
	// internal
}
