package store_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/cloister-wasm/cloister/plugins/bundle"
	"github.com/cloister-wasm/cloister/plugins/store"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

// A plugin is installed, loaded, and taken back.
func Example() {
	ctx := context.Background()
	artifact, policy := signedPlugin(ctx)
	dir, err := os.MkdirTemp("", "store-*")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	s, err := store.Open(filepath.Join(dir, "plugins"), nil)
	if err != nil {
		log.Fatal(err)
	}
	v, err := policy.Verify(ctx, artifact)
	if err != nil {
		log.Fatal(err)
	}
	change, err := s.Plan(v)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("needs consent:", change.Widens())
	g, err := s.InstallPlanned(ctx, v, "registry.example/acme/hello:1.0.0", change)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("generation", g.Number, "is to", g.Reason)

	loaded, err := s.Load(ctx, policy, nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer loaded.Close()
	for _, p := range loaded.Plugins {
		fmt.Println("loaded", p.ID(), "of", p.Origin().Publisher)
	}
	for _, e := range loaded.Refused {
		fmt.Println("refused at", e.Step, e)
	}

	g, err = s.Rollback(ctx, 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("generation", g.Number, "has", len(g.Entries), "plugins")
	// Output:
	// needs consent: true
	// generation 1 is to install acme.hello 1.0.0
	// loaded acme.hello of acme
	// generation 2 has 0 plugins
}

// signedPlugin is what an author does, and a policy that trusts the author.
func signedPlugin(ctx context.Context) (*bundle.Artifact, *trust.Policy) {
	private, public, err := trust.GenerateKey(trust.KeyECDSAP256, nil)
	if err != nil {
		log.Fatal(err)
	}
	key, err := trust.LoadKey(private, nil)
	if err != nil {
		log.Fatal(err)
	}
	a, err := bundle.Build(bundle.Files{
		Manifest: []byte(`{"abi":"cloister.plugin/1","id":"acme.hello","version":"1.0.0","description":"Greets.",
			"tools":[{"name":"greet","description":"Greets.","parameters":{"type":"object"},"export":"run"}]}`),
		Wasm: []byte("\x00asm\x01\x00\x00\x00\x01\x05\x01\x60\x00\x01\x7f\x03\x02\x01\x00\x07\x07\x01\x03run\x00\x00\x0a\x06\x01\x04\x00\x41\x00\x0b"),
	})
	if err != nil {
		log.Fatal(err)
	}
	signature, err := trust.Sign(ctx, a, key)
	if err == nil {
		err = a.AddSignature(signature)
	}
	if err != nil {
		log.Fatal(err)
	}
	return a, &trust.Policy{Publishers: []trust.Publisher{{
		Name: "acme",
		Keys: []trust.Key{{PublicKey: string(public)}},
		Owns: trust.Ownership{IDs: []string{"acme."}, Tools: []string{"greet"}},
	}}}
}
