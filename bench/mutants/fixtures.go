package main

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"

	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/bundle"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

// key is the same in every run, so that a seed makes the same mutants.
func key(name string) (*trust.SigningKey, error) {
	seed := sha256.Sum256([]byte("mutants " + name))
	der, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(seed[:]))
	if err != nil {
		return nil, err
	}
	return trust.LoadKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil)
}

// publisher owns what its name says.
func publisher(name string, k *trust.SigningKey) trust.Publisher {
	return trust.Publisher{Name: name, Keys: []trust.Key{{PublicKey: string(k.PublicPEM()), Comment: "for mutants"}},
		Owns: trust.Ownership{IDs: []string{name + "."}, Tools: []string{name + "_"}, Globals: []string{}}}
}

// module is a module with one export, and a section of its own that tells it from others.
func module(own string) []byte {
	b := []byte("\x00asm\x01\x00\x00\x00\x01\x05\x01\x60\x00\x01\x7f\x03\x02\x01\x00\x07\x07\x01\x03run\x00\x00\x0a\x06\x01\x04\x00\x41\x00\x0b")
	section := append([]byte{1, 'x'}, own[:min(len(own), 100)]...)
	return append(append(b, 0, byte(len(section))), section...)
}

// artifact is a signed plugin with one tool, id is "PUBLISHER.NAME".
func artifact(ctx context.Context, owner, name, version string, by *trust.SigningKey) (*bundle.Artifact, error) {
	manifest, err := json.Marshal(map[string]any{
		"abi": plugins.ManifestABI, "id": owner + "." + name, "version": version, "description": "For mutants.",
		"tools": []any{map[string]any{
			"name": owner + "_" + name, "description": "Says nothing.", "export": "run",
			"parameters": map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string", "description": "A text."}}},
		}},
		"permissions": map[string]any{"hosts": []any{map[string]any{"host": "api.example", "methods": []string{"GET"}, "paths": []string{"/v1/"}}}, "timeoutMs": 1000},
	})
	if err != nil {
		return nil, err
	}
	a, err := bundle.Build(bundle.Files{Manifest: manifest, Wasm: module(name + " " + version), Readme: []byte("# " + name + "\n")})
	if err != nil {
		return nil, err
	}
	signature, err := trust.Sign(ctx, a, by)
	if err != nil {
		return nil, err
	}
	return a, a.AddSignature(signature)
}

// meaning is all that a plugin is: two of the same meaning do the same, for the same
// publisher.
func meaning(p *plugins.Plugin, wasm []byte) (string, error) {
	text, err := json.Marshal([]any{p.Manifest(), p.Digest(), p.Origin().Publisher, p.Origin().Signer})
	return fmt.Sprintf("%s %x", text, sha256.Sum256(wasm)), err
}
