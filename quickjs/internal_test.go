package quickjs

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/guestabi"
)

// What the tests know of the package's inside is in this file, as far as it can be.

// idle is the number of VMs in a template's pool.
func idle(t *Template) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.idle)
}

// drainPool empties a template's pool.
func drainPool(tb testing.TB, t *Template) {
	tb.Helper()
	for idle(t) > 0 {
		vm, err := t.NewVM(context.Background(), nil)
		if err != nil {
			tb.Fatal(err)
		}
		vm.Stop() // a stopped VM does not go back
		vm.Close()
	}
}

// imageLines is one line for each page of a template's image that is not zero: its
// number and digest, with the word at guard and the 16 bytes from the seed of
// Math.random on taken for zero.
func imageLines(t *Template, guard int) string {
	mem := make([]byte, t.im.size)
	for p, page := range t.im.pages {
		copy(mem[p*pageSize:], page)
	}
	clear(mem[t.randAt : t.randAt+16])
	if guard >= 0 {
		clear(mem[guard : guard+4])
	}
	var b strings.Builder
	for p := 0; p < len(mem); p += pageSize {
		if page := mem[p : p+pageSize]; !isZero(page) {
			fmt.Fprintf(&b, "%d %x\n", p/pageSize, sha256.Sum256(page))
		}
	}
	return b.String()
}

// imageDiff lists the addresses of the 32-bit words that differ.
func imageDiff(a, b *image) []int {
	var out []int
	for p := range max(a.used, b.used) {
		x, y := a.page(p), b.page(p)
		for i := 0; i < pageSize; i += 4 {
			if string(x[i:i+4]) != string(y[i:i+4]) {
				out = append(out, p*pageSize+i)
			}
		}
	}
	return out
}

const guestVersion = guestabi.Version

// instances is how many instances of an engine exist.
func instances(e *Engine) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.live
}
