package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// knowing is a connection that knows the signers of the salts that begin with "good".
func knowing(judged *atomic.Int64) *Remote {
	r := anonymous()
	r.Signer = func(_ *Artifact, b []byte) string {
		if judged != nil {
			judged.Add(1)
		}
		if _, rest, ok := bytes.Cut(b, []byte(`"sig":"good`)); ok {
			name, _, _ := bytes.Cut(rest, []byte(`-`))
			return "signer " + string(name)
		}
		return ""
	}
	return r
}

// flooded is a registry with a plugin, its signatures, and as many others as anybody may add.
func flooded(t *testing.T, host string, junk int, salts ...string) string {
	t.Helper()
	ref := host + "/acme/hello:1"
	r := knowing(nil)
	if _, err := r.Push(t.Context(), ref, signed(t, salts...)); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < junk; i += MaxSignatures {
		a := signed(t)
		for k := i; k < min(i+MaxSignatures, junk); k++ {
			if err := a.AddSignature(testSignature(fmt.Sprintf("junk%d", k))); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.Push(t.Context(), ref, a); err != nil {
			t.Fatal(err)
		}
	}
	return ref
}

// Seventeen signatures that somebody added keep nobody from a plugin that is well signed, nor its publisher from adding one.
func TestJunkSignatures(t *testing.T) {
	everyRegistry(t, func(t *testing.T, host string) {
		ref := flooded(t, host, MaxSignatures+1, "good1-", "good2-")
		_, err := anonymous().Pull(t.Context(), ref)
		wantError(t, err, ErrBounds, "more than 16 signatures") // every one counts where nobody is known
		a, err := knowing(nil).Pull(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		list := a.Signatures()
		if len(list) != MaxSignatures || !bytes.Equal(list[0], testSignature("good1-")) || !bytes.Equal(list[1], testSignature("good2-")) {
			t.Errorf("%d signatures, the first is %s", len(list), list[0])
		}
		if _, err := knowing(nil).Push(t.Context(), ref, signed(t, "good3-")); err != nil {
			t.Fatal(err)
		}
		if a, err = knowing(nil).Pull(t.Context(), ref); err != nil || !bytes.Equal(a.Signatures()[2], testSignature("good3-")) {
			t.Errorf("the third signer is missing: %v", err)
		}
	})
}

// Among signatures that verify, copies of one in other writings do not crowd out those of others.
func TestOneSignatureForEachSigner(t *testing.T) {
	host := serve(t, registries[0].open(t))
	salts := []string{"good2-"}
	for i := range MaxSignatures - 1 {
		salts = append(salts, fmt.Sprintf("good1-%02d", i))
	}
	ref := flooded(t, host, 4, salts...)
	r := knowing(nil)
	a, err := r.Pull(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	list := a.Signatures()
	who := map[string]bool{r.Signer(a, list[0]): true, r.Signer(a, list[1]): true}
	if len(list) != MaxSignatures || !who["signer 1"] || !who["signer 2"] {
		t.Errorf("%d signatures, the first are by %v", len(list), who)
	}
}

// With nobody known, what is more than a plugin may have fails, and does not become fewer.
func TestJunkSignaturesOnly(t *testing.T) {
	host := serve(t, registries[0].open(t))
	_, err := knowing(nil).Pull(t.Context(), flooded(t, host, MaxSignatures+1))
	wantError(t, err, ErrBounds, "none of them is by a known signer")
}

// What is wrong with one referrer keeps nobody from the signature beside it; alone it makes no plugin look unsigned.
func TestBrokenReferrers(t *testing.T) {
	ofType := func(d descriptor) descriptor { d.ArtifactType = SignatureType; return d }
	junk := map[string]func(a *Artifact) (descriptor, []byte){
		"lost": func(*Artifact) (descriptor, []byte) { return ofType(describe(typeOCIManifest, []byte("lost"))), nil },
		"no JSON": func(*Artifact) (descriptor, []byte) {
			return ofType(describe(typeOCIManifest, []byte("x"))), []byte("x")
		},
		"huge": func(*Artifact) (descriptor, []byte) {
			return ofType(descriptor{MediaType: typeOCIManifest, Digest: digestOf(nil), Size: 1 << 60}), nil
		},
		"a path": func(*Artifact) (descriptor, []byte) {
			return ofType(descriptor{MediaType: typeOCIManifest, Digest: "sha256:../../../v2/x", Size: 2}), nil
		},
		"an index": func(*Artifact) (descriptor, []byte) {
			return ofType(descriptor{MediaType: typeOCIIndex, Digest: digestOf(nil), Size: 2}), nil
		},
		"of another artifact": func(a *Artifact) (descriptor, []byte) {
			m := []byte(strings.ReplaceAll(string(a.referrer([]byte("{}"))), a.Digest(), digestOf(nil)))
			return ofType(describe(typeOCIManifest, m)), m
		},
		"without a blob": func(a *Artifact) (descriptor, []byte) {
			m := a.referrer([]byte(`{"x":1}`))
			return ofType(describe(typeOCIManifest, m)), m
		},
		"other bytes": func(a *Artifact) (descriptor, []byte) {
			m := a.referrer([]byte(`{"x":1}`))
			return ofType(describe(typeOCIManifest, m)), append(bytes.Clone(m[:len(m)-1]), ' ')
		},
	}
	for name, make := range junk {
		t.Run(name, func(t *testing.T) {
			for _, salts := range [][]string{{"good1-"}, nil} {
				h := &hostile{a: signed(t, salts...)}
				d, m := make(h.a)
				h.override = func(w http.ResponseWriter, r *http.Request) bool {
					kind, name := pathEnd(r)
					switch {
					case kind == "referrers":
						send(w, typeOCIIndex, h.index(d))
					case name == d.Digest && m != nil:
						send(w, typeOCIManifest, m)
					default:
						return false
					}
					return true
				}
				a, err := knowing(nil).Pull(t.Context(), serve(t, h)+"/acme/hello:1")
				if salts == nil {
					var e *Error
					if a != nil || !errors.As(err, &e) {
						t.Errorf("it looks unsigned: %v", err)
					}
				} else if err != nil || len(a.Signatures()) != 1 {
					t.Errorf("one broken referrer keeps us from the plugin: %v", err)
				}
			}
		})
	}
}

// The work is bounded by how many are fetched, by their bytes, and by how many are judged; and then it says so.
func TestWorkOnSignaturesIsBounded(t *testing.T) {
	for name, tt := range map[string]struct {
		salt func(i int) string
		n    int
	}{
		"many":  {func(i int) string { return fmt.Sprintf("j%d", i) }, maxLooked + 40},
		"large": {func(i int) string { return fmt.Sprintf("j%d%s", i, strings.Repeat("x", MaxSignatureBytes*9/10)) }, 60},
	} {
		t.Run(name, func(t *testing.T) {
			h := &hostile{a: signed(t)}
			blobs := map[string][]byte{}
			var list []descriptor
			for i := range tt.n {
				s := testSignature(tt.salt(i))
				m := h.a.referrer(s)
				d := describe(typeOCIManifest, m)
				d.ArtifactType = SignatureType
				blobs[digestOf(s)], blobs[d.Digest] = s, m
				list = append(list, d)
			}
			var fetched atomic.Int64
			h.override = func(w http.ResponseWriter, r *http.Request) bool {
				kind, name := pathEnd(r)
				if kind == "referrers" {
					send(w, typeOCIIndex, encode(ociIndex{SchemaVersion: 2, Manifests: list}))
					return true
				}
				b, ok := blobs[name]
				if ok {
					fetched.Add(int64(len(b)))
					send(w, typeOCIManifest, b)
				}
				return ok
			}
			var judged atomic.Int64
			_, err := knowing(&judged).Pull(t.Context(), serve(t, h)+"/acme/hello:1")
			wantError(t, err, ErrBounds, "more referrers than are looked at")
			if fetched.Load() > maxLookedBytes || judged.Load() > maxLooked || h.requests.Load() > 2*maxLooked+20 {
				t.Errorf("%d bytes, %d judged, %d requests", fetched.Load(), judged.Load(), h.requests.Load())
			}
		})
	}
}

// A good signature is found among large ones, in whatever order they are listed: the small ones are looked at first.
func TestLargeJunkDoesNotHideASignature(t *testing.T) {
	host := serve(t, registries[0].open(t))
	ref := flooded(t, host, 0, "good1-")
	for i := range 40 {
		a := signed(t, fmt.Sprintf("j%d%s", i, strings.Repeat("x", MaxSignatureBytes*9/10)))
		if _, err := knowing(nil).Push(t.Context(), ref, a); err != nil {
			t.Fatal(err)
		}
	}
	a, err := knowing(nil).Pull(t.Context(), ref)
	if err != nil || !bytes.Equal(a.Signatures()[0], testSignature("good1-")) {
		t.Errorf("it is lost: %v", err)
	}
}

// A call that ends while signatures are looked at has not found anything.
func TestChoosingIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := &hostile{a: signed(t, "good1-", "good2-")}
	r := knowing(nil)
	known := r.Signer
	r.Signer = func(a *Artifact, b []byte) string { cancel(); return known(a, b) }
	_, err := r.Pull(ctx, serve(t, h)+"/acme/hello:1")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
