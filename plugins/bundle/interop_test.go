package bundle

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"
)

// Another tool reads the layout and the tar that we write, finds the artifact by its version and the signature by its
// subject.
func TestOthersReadOurLayout(t *testing.T) {
	ctx := t.Context()
	a := signed(t, "one")
	dir := filepath.Join(t.TempDir(), "layout")
	if err := a.WriteLayout(dir); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "a.cloister")
	if err := a.WriteFile(file); err != nil {
		t.Fatal(err)
	}
	fromDir, err := oci.NewFromFS(ctx, os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	fromTar, err := oci.NewFromTar(ctx, file)
	if err != nil {
		t.Fatal(err)
	}
	for _, store := range []*oci.ReadOnlyStore{fromDir, fromTar} {
		d, err := store.Resolve(ctx, "1.2.3_build.7")
		if err != nil || d.Digest.String() != a.Digest() || d.ArtifactType != ArtifactType {
			t.Fatalf("%+v, %v", d, err)
		}
		signatures, err := store.Predecessors(ctx, d)
		if err != nil || len(signatures) != 1 {
			t.Fatalf("%+v, %v", signatures, err)
		}
		layers, err := content.Successors(ctx, store, signatures[0])
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, l := range layers {
			if l.MediaType == SignatureType {
				b, err := content.FetchAll(ctx, store, l)
				found = err == nil && bytes.Equal(b, a.Signatures()[0])
			}
		}
		if !found {
			t.Errorf("no signature among %+v", layers)
		}
	}
}

// What another tool copies from a registry, with referrers, we read.
func TestWeReadTheLayoutOfOthers(t *testing.T) {
	everyRegistry(t, func(t *testing.T, host string) {
		ctx := t.Context()
		r := anonymous()
		want := signed(t, "one", "two")
		ref := host + "/acme/hello:1"
		if _, err := r.Push(ctx, ref, want); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		store, err := oci.New(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := oras.ExtendedCopy(ctx, testSession(t, r, ref).repo, "1", store, "1", oras.ExtendedCopyOptions{}); err != nil {
			t.Fatal(err)
		}
		_, err = Read(dir)
		wantError(t, err, ErrFormat, `"ingest"`) // its own folder, of which nothing is left
		if err := os.Remove(filepath.Join(dir, "ingest")); err != nil {
			t.Fatal(err)
		}
		got, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, want)
	})
}

// What another tool pushes from our file, with referrers, we pull.
func TestWePullWhatOthersPush(t *testing.T) {
	everyRegistry(t, func(t *testing.T, host string) {
		ctx := t.Context()
		r := anonymous()
		want := signed(t, "one", "two")
		file := filepath.Join(t.TempDir(), "a.cloister")
		if err := want.WriteFile(file); err != nil {
			t.Fatal(err)
		}
		store, err := oci.NewFromTar(ctx, file)
		if err != nil {
			t.Fatal(err)
		}
		ref := host + "/acme/hello:1"
		// olareg (0.1.2) reads and writes its list of referrers without a lock, and loses one
		// of two that come at once.
		o := oras.ExtendedCopyOptions{}
		o.Concurrency = 1
		if _, err := oras.ExtendedCopy(ctx, store, "1.2.3_build.7", testSession(t, r, ref).repo, "1", o); err != nil {
			t.Fatal(err)
		}
		got, err := r.Pull(ctx, ref)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, want)
	})
}

// cosign 3 finds signatures so: it lists all referrers, takes each as an image, and wants exactly one layer whose type
// begins as a Sigstore bundle's does.
func TestSignaturesAreFoundAsCosignDoes(t *testing.T) {
	everyRegistry(t, func(t *testing.T, host string) {
		ctx := t.Context()
		r := anonymous()
		a := signed(t, "one", "two")
		ref := host + "/acme/hello:1"
		if _, err := r.Push(ctx, ref, a); err != nil {
			t.Fatal(err)
		}
		repo := testSession(t, r, ref).repo
		subject := ocispec.Descriptor{MediaType: typeOCIManifest, Digest: digest.Digest(a.Digest()), Size: int64(len(a.raw))}
		found := map[string]bool{}
		err := repo.Referrers(ctx, subject, "", func(page []ocispec.Descriptor) error {
			for _, d := range page {
				if d.Annotations["dev.sigstore.bundle.content"] != "dsse-envelope" ||
					d.Annotations["dev.sigstore.bundle.predicateType"] != "https://sigstore.dev/cosign/sign/v1" {
					t.Errorf("annotations %v", d.Annotations)
				}
				found[onlyLayer(ctx, t, repo, d)] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range a.Signatures() {
			if !found[string(s)] {
				t.Errorf("not found: %s", s)
			}
		}
	})
}

func onlyLayer(ctx context.Context, t *testing.T, src content.Fetcher, d ocispec.Descriptor) string {
	t.Helper()
	next, err := content.Successors(ctx, src, d)
	if err != nil {
		t.Fatal(err)
	}
	var layers []string
	for _, l := range next {
		if !strings.HasPrefix(l.MediaType, "application/vnd.dev.sigstore.bundle") {
			continue
		}
		rc, err := src.Fetch(ctx, l)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(rc)
		if e := rc.Close(); err != nil || e != nil {
			t.Fatal(err, e)
		}
		layers = append(layers, string(b))
	}
	if len(layers) != 1 {
		t.Fatalf("%d layers", len(layers))
	}
	return layers[0]
}
