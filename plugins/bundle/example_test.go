package bundle_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"strings"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/cloister-wasm/cloister/plugins/bundle"
)

var exampleFiles = bundle.Files{
	Manifest: []byte(`{"abi":"cloister.plugin/1","id":"acme.hello","version":"1.0.0","description":"Greets.",
		"tools":[{"name":"greet","description":"Greets.","parameters":{"type":"object"}}]}`),
	Wasm:   []byte("\x00asm\x01\x00\x00\x00"),
	Readme: []byte("# Hello\n"),
}

func Example() {
	a, err := bundle.Build(exampleFiles)
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer // or a.WriteFile("hello-1.0.0.cloister")
	if err := a.WriteTar(&file); err != nil {
		log.Fatal(err)
	}
	b, err := bundle.ReadTar(&file) // or bundle.Read("hello-1.0.0.cloister")
	if err != nil {
		log.Fatal(err)
	}
	m, err := b.Manifest()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.ID, m.Version, a.Digest() == b.Digest(), len(b.Signatures()))
	// Output: acme.hello 1.0.0 true 0
}

func ExampleFromBlobs() {
	a, err := bundle.Build(exampleFiles)
	if err != nil {
		log.Fatal(err)
	}
	stored := a.Blobs() // by digest; a store would keep them as files
	b, err := bundle.FromBlobs(a.Digest(), func(digest string, most int64) ([]byte, error) {
		return stored[digest], nil
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", b.Files().Readme)
	// Output: # Hello
}

func ExampleReadTar_error() {
	_, err := bundle.ReadTar(strings.NewReader("hello"))
	var e *bundle.Error
	if errors.As(err, &e) {
		fmt.Println(e.Step, errors.Is(err, bundle.ErrFormat))
	}
	// Output: format true
}

func ExampleRemote() {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	ref := strings.TrimPrefix(server.URL, "http://") + "/acme/hello:1.0.0"

	a, err := bundle.Build(exampleFiles)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	r := &bundle.Remote{Progress: func(p bundle.Progress) {
		if p.Finished {
			fmt.Println(p.Operation, p.Name)
		}
	}}
	if _, err := r.Push(ctx, ref, a); err != nil {
		log.Fatal(err)
	}
	b, err := r.Pull(ctx, ref)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.Digest() == b.Digest())
	// Output:
	// push config
	// push manifest
	// push wasm
	// push readme
	// push OCI manifest
	// pull OCI manifest
	// pull config
	// pull manifest
	// pull wasm
	// pull readme
	// true
}

func ExampleParseReference() {
	_, err := bundle.ParseReference("acme/hello:1.0.0")
	fmt.Println(err)
	// Output: this is no reference to a plugin in a registry: "acme/hello:1.0.0" names no registry; write REGISTRY/REPOSITORY:VERSION, such as ghcr.io/acme/hello:1.0.0
}
