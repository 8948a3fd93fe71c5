//go:build !wasip1

package sdk

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

// A file that is missing from the copy would be found by authors only.
func TestSourcesAreComplete(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && name != "sources.go" {
			want = append(want, name)
		}
	}
	got, err := fs.Glob(Sources, "*.go")
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Sources has %v, %v; want %v", got, err, want)
	}
	for _, name := range []string{"assemblyscript/assembly/index.ts", "c/cloister.h"} {
		if b, err := fs.ReadFile(Sources, name); err != nil || len(b) == 0 {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
}
