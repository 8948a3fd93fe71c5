package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cloister-wasm/cloister/plugins/bundle"
)

// retag makes a registry answer to one tag with what another one names, as whoever may
// write there can: retag REGISTRY/REPOSITORY FROM TO.
func retag(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: retag REPOSITORY FROM TO")
	}
	host, repository, _ := strings.Cut(args[0], "/")
	base := "http://" + host + "/v2/" + repository + "/manifests/"
	const manifest = "application/vnd.oci.image.manifest.v1+json"
	call := func(method, tag string, body []byte) []byte {
		req, err := http.NewRequest(method, base+tag, bytes.NewReader(body))
		ts.Check(err)
		req.Header.Set("Accept", manifest)
		req.Header.Set("Content-Type", manifest)
		resp, err := http.DefaultClient.Do(req)
		ts.Check(err)
		defer resp.Body.Close()
		out, err := io.ReadAll(resp.Body)
		ts.Check(err)
		if resp.StatusCode >= 300 {
			ts.Fatalf("retag: %s: %s", resp.Status, out)
		}
		return out
	}
	call(http.MethodPut, args[2], call(http.MethodGet, args[1], nil))
}

// junk adds signatures to a plugin in a registry that are nobody's, as whoever may write
// there can: junk REF N.
func junk(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: junk REF N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	r := &bundle.Remote{Signer: func(*bundle.Artifact, []byte) string { return "" }, Credentials: bundle.StaticCredentials("", bundle.Credential{})}
	pulled, err := r.Pull(context.Background(), args[0])
	ts.Check(err)
	for i := range n {
		a, err := bundle.Build(pulled.Files())
		ts.Check(err)
		if a.Digest() != pulled.Digest() {
			ts.Fatalf("junk: %s instead of %s", a.Digest(), pulled.Digest())
		}
		ts.Check(a.AddSignature(fmt.Appendf(nil, `{"mediaType":%q,"junk":%d}`, bundle.SignatureType, i)))
		_, err = r.Push(context.Background(), args[0], a)
		ts.Check(err)
	}
}
