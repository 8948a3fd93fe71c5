package quickjs

import (
	"encoding/hex"
	"testing"
)

// TestRewriteIsPinned fails when the rewriting changes: note the new digest in
// rewrittenSHA256.
func TestRewriteIsPinned(t *testing.T) {
	found, err := FindEngine()
	if err != nil {
		t.Fatal(err)
	}
	p, err := rewrite(found.Wasm)
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(p.sum[:]); got != rewrittenSHA256 {
		t.Errorf("the rewritten engine's digest is %s", got)
	}
}
