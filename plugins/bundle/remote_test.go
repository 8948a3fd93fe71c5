package bundle

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	ggcr "github.com/google/go-containerregistry/pkg/registry"
	"github.com/olareg/olareg"
	"github.com/olareg/olareg/config"
)

// registries are real ones, in process: with the referrers API and without.
var registries = []struct {
	name string
	open func(t testing.TB) http.Handler
}{
	{"ggcr with referrers", func(testing.TB) http.Handler {
		return ggcr.New(ggcr.Logger(discard), ggcr.WithReferrersSupport(true))
	}},
	{"ggcr without referrers", func(testing.TB) http.Handler {
		return ggcr.New(ggcr.Logger(discard))
	}},
	{"olareg with referrers", func(t testing.TB) http.Handler { return newOlareg(t, true) }},
	{"olareg without referrers", func(t testing.TB) http.Handler { return newOlareg(t, false) }},
}

func newOlareg(t testing.TB, referrers bool) http.Handler {
	s := olareg.New(config.Config{
		Storage: config.ConfigStorage{StoreType: config.StoreMem},
		API:     config.ConfigAPI{Referrer: config.ConfigAPIReferrer{Enabled: &referrers}},
	})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// serve starts a registry on a loopback address and gives its host and port.
func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

var discard = log.New(io.Discard, "", 0)

func anonymous() *Remote {
	return &Remote{Credentials: StaticCredentials("", Credential{}), retries: never{}}
}

func everyRegistry(t *testing.T, test func(t *testing.T, host string)) {
	for _, r := range registries {
		t.Run(r.name, func(t *testing.T) { test(t, serve(t, r.open(t))) })
	}
}

// The whole way: build, write, read, push, pull; the same bytes and the same digest at the end.
func TestRegistryRoundTrip(t *testing.T) {
	everyRegistry(t, func(t *testing.T, host string) {
		ctx := t.Context()
		r := anonymous()
		want := signed(t, "one", "two")
		var file bytes.Buffer
		if err := want.WriteTar(&file); err != nil {
			t.Fatal(err)
		}
		a, err := ReadTar(&file)
		if err != nil {
			t.Fatal(err)
		}
		ref := host + "/acme/hello:1.2.3"
		digest, err := r.Push(ctx, ref, a)
		if err != nil {
			t.Fatal(err)
		}
		if digest != want.Digest() {
			t.Errorf("digest %s, want %s", digest, want.Digest())
		}
		for _, ref := range []string{ref, host + "/acme/hello@" + digest, ref + "@" + digest} {
			if got, err := r.Resolve(ctx, ref); err != nil || got != digest {
				t.Errorf("%s resolves to %s, %v", ref, got, err)
			}
			got, err := r.Pull(ctx, ref)
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, want)
		}
	})
}

func TestPushAgain(t *testing.T) {
	everyRegistry(t, func(t *testing.T, host string) {
		ctx := t.Context()
		r := anonymous()
		ref := host + "/acme/hello:1"
		for _, a := range []*Artifact{signed(t), signed(t, "one"), signed(t, "one"), signed(t, "two"), signed(t, "two", "one", "three")} {
			if _, err := r.Push(ctx, ref, a); err != nil {
				t.Fatal(err)
			}
		}
		got, err := r.Pull(ctx, ref)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, signed(t, "one", "two", "three"))
	})
}

func TestPushWithoutTag(t *testing.T) {
	everyRegistry(t, func(t *testing.T, host string) {
		ctx := t.Context()
		r := anonymous()
		a := signed(t, "one")
		ref := host + "/acme/hello@" + a.Digest()
		if _, err := r.Push(ctx, ref, a); err != nil {
			t.Fatal(err)
		}
		got, err := r.Pull(ctx, ref)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, a)
		_, err = r.Push(ctx, host+"/acme/hello@sha256:"+strings.Repeat("0", 64), a)
		wantError(t, err, ErrReference, "names another artifact")
	})
}

func TestPullWhatIsNotThere(t *testing.T) {
	everyRegistry(t, func(t *testing.T, host string) {
		r := anonymous()
		if _, err := r.Push(t.Context(), host+"/acme/hello:1", signed(t)); err != nil {
			t.Fatal(err)
		}
		for _, ref := range []string{"/acme/hello:2", "/acme/other:1", "/acme/hello@sha256:" + strings.Repeat("0", 64)} {
			_, err := r.Pull(t.Context(), host+ref)
			wantError(t, err, ErrNotFound, host)
		}
	})
}

// More signatures than a plugin may have fail, and do not become fewer.
func TestTooManySignatures(t *testing.T) {
	everyRegistry(t, func(t *testing.T, host string) {
		ctx := t.Context()
		r := anonymous()
		ref := host + "/acme/hello:1"
		a := signed(t)
		for i := range MaxSignatures {
			if err := a.AddSignature(testSignature(fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.Push(ctx, ref, a); err != nil {
			t.Fatal(err)
		}
		_, err := r.Push(ctx, ref, signed(t, "more"))
		wantError(t, err, ErrBounds, "more than 16 signatures")
		got, err := r.Pull(ctx, ref)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, a)
	})
}

// Referrers of other types are left alone.
func TestOtherReferrers(t *testing.T) {
	everyRegistry(t, func(t *testing.T, host string) {
		ctx := t.Context()
		r := anonymous()
		ref := host + "/acme/hello:1"
		a := signed(t, "one")
		if _, err := r.Push(ctx, ref, a); err != nil {
			t.Fatal(err)
		}
		pushReferrer(t, r, ref, []byte(strings.ReplaceAll(string(a.referrer([]byte("sbom"))), SignatureType, "application/spdx+json")), []byte("sbom"))
		got, err := r.Pull(ctx, ref)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, a)
	})
}

// What cosign writes: the type in the config's descriptor too, and a real date.
func TestSignatureOfAnotherTool(t *testing.T) {
	everyRegistry(t, func(t *testing.T, host string) {
		ctx := t.Context()
		r := anonymous()
		ref := host + "/acme/hello:1"
		a := signed(t)
		if _, err := r.Push(ctx, ref, a); err != nil {
			t.Fatal(err)
		}
		b := testSignature("cosign")
		raw := strings.Replace(string(a.referrer(b)), created, "2026-03-04T05:06:07Z", 1)
		raw = strings.Replace(raw, `"mediaType":"`+typeEmpty+`"`, `"mediaType":"`+typeEmpty+`","artifactType":"`+SignatureType+`"`, 1)
		pushReferrer(t, r, ref, []byte(raw), b)
		got, err := r.Pull(ctx, ref)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, signed(t, "cosign"))
		// Our push of the same signature adds nothing.
		if _, err := r.Push(ctx, ref, got); err != nil {
			t.Fatal(err)
		}
		again, err := r.Pull(ctx, ref)
		if err != nil {
			t.Fatal(err)
		}
		same(t, again, got)
		if n := countReferrers(t, r, ref, a); n != 1 {
			t.Errorf("%d referrers, want 1", n)
		}
	})
}

func testSession(t testing.TB, r *Remote, ref string) *session {
	t.Helper()
	parsed, err := ParseReference(ref)
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.open(parsed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

func pushReferrer(t testing.TB, r *Remote, ref string, manifest []byte, blobs ...[]byte) {
	t.Helper()
	s := testSession(t, r, ref)
	for _, b := range append(blobs, emptyConfig) {
		d := describe("x", b)
		if err := s.pushBlob(t.Context(), "blob", &d, b); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.pushManifest(t.Context(), "referrer", "", manifest); err != nil {
		t.Fatal(err)
	}
}

func countReferrers(t testing.TB, r *Remote, ref string, a *Artifact) int {
	t.Helper()
	list, err := testSession(t, r, ref).referrers(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func TestConcurrentUse(t *testing.T) {
	everyRegistry(t, func(t *testing.T, host string) {
		r := anonymous()
		want := signed(t, "one")
		ref := host + "/acme/hello:1"
		if _, err := r.Push(t.Context(), ref, want); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				a, err := r.Pull(t.Context(), ref)
				if err != nil {
					t.Error(err)
				} else if a.Digest() != want.Digest() || len(a.Signatures()) != 1 {
					t.Errorf("digest %s, %d signatures", a.Digest(), len(a.Signatures()))
				}
			})
		}
		wg.Wait()
	})
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	host := serve(t, registries[0].open(t))
	_, err := anonymous().Pull(ctx, host+"/acme/hello:1")
	wantError(t, err, ErrRegistry, "stopped")
	_, err = anonymous().Push(ctx, host+"/acme/hello:1", signed(t))
	wantError(t, err, ErrRegistry, "stopped")
}

func TestNobodyThere(t *testing.T) {
	s := httptest.NewServer(nil)
	host := strings.TrimPrefix(s.URL, "http://")
	s.Close()
	_, err := anonymous().Pull(t.Context(), host+"/acme/hello:1")
	wantError(t, err, ErrRegistry, "refused")
}
