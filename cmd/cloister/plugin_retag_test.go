package main

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
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
