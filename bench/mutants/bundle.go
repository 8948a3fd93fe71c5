package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/bundle"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

// bundleSubject reads .cloister files as installing one does: bounds and digests,
// signature and owner, the manifest, the module.
type bundleSubject struct {
	file   string
	policy *trust.Policy
	want   string // the meaning of the original
	bytes  []byte
	parts  []tarFile
}

// tarFile is a file of the bundle.
type tarFile struct {
	head tar.Header
	data []byte
}

func newBundle(ctx context.Context, dir string, _ *options) (*subject, error) {
	k, err := key("acme")
	if err != nil {
		return nil, err
	}
	a, err := artifact(ctx, "acme", "hello", "1.0.0", k)
	if err != nil {
		return nil, err
	}
	b := &bundleSubject{file: filepath.Join(dir, "mutant.cloister")}
	if b.policy, err = trust.ParsePolicy((&trust.Policy{Publishers: []trust.Publisher{publisher("acme", k)}}).Marshal()); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := a.WriteTar(&text); err != nil {
		return nil, err
	}
	b.bytes = text.Bytes()
	if b.parts, err = parts(b.bytes); err != nil {
		return nil, err
	}
	if again, err := packed(b.parts); err != nil || !bytes.Equal(again, b.bytes) {
		return nil, fmt.Errorf("packing again gives another bundle: %w", err)
	}
	if b.want, err = b.meaning(ctx, b.bytes); err != nil {
		return nil, err
	}
	return &subject{
		mutate: b.mutate, close: func() {},
		intact: func(ctx context.Context) (verdict, error) { return b.read(ctx, b.bytes) },
	}, nil
}

func parts(text []byte) (list []tarFile, err error) {
	for r := tar.NewReader(bytes.NewReader(text)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		list = append(list, tarFile{*h, data})
	}
}

func packed(list []tarFile) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, p := range list {
		h := p.head
		h.Size = int64(len(p.data))
		if err := w.WriteHeader(&h); err != nil {
			return nil, err
		}
		if _, err := w.Write(p.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// mutate changes bytes of the file, or what one of its parts holds; then, mostly, as
// somebody would who wants to be believed: all digests fit again, but for the signature's.
func (b *bundleSubject) mutate(r *rand.Rand) mutant {
	if r.IntN(2) == 0 {
		text, what := damage(r, b.bytes)
		return b.mutant(text, "the file: "+what)
	}
	list := slices.Clone(b.parts)
	i := r.IntN(len(list))
	name := path.Base(list[i].head.Name)
	data, what := damage(r, list[i].data)
	list[i].data = data
	if r.IntN(4) > 0 {
		mend(list, i)
		what += ", digests mended"
	}
	text, err := packed(list)
	if err != nil {
		return mutant{} // no tar can hold it: another is made
	}
	return b.mutant(text, name+": "+what)
}

// mend gives a part that was changed the name of its digest, and says so wherever the old
// one stood, and so on until all fits.
func mend(list []tarFile, i int) {
	old := path.Base(list[i].head.Name)
	sum := sha256.Sum256(list[i].data)
	now := hex.EncodeToString(sum[:])
	if old == now || len(old) != len(now) {
		return // not named by a digest, or not changed
	}
	list[i].head.Name = path.Join(path.Dir(list[i].head.Name), now)
	sizes := regexp.MustCompile(`("digest":"sha256:` + old + `","size":)\d+`)
	for j := range list {
		if j == i || !bytes.Contains(list[j].data, []byte(old)) {
			continue
		}
		data := sizes.ReplaceAll(list[j].data, fmt.Appendf(nil, "${1}%d", len(list[i].data)))
		list[j].data = []byte(strings.ReplaceAll(string(data), old, now))
		mend(list, j)
	}
}

func (b *bundleSubject) mutant(text []byte, what string) mutant {
	return mutant{what: what, changed: !bytes.Equal(text, b.bytes), read: func(ctx context.Context) (verdict, error) { return b.read(ctx, text) }}
}

func (b *bundleSubject) read(ctx context.Context, text []byte) (verdict, error) {
	got, err := b.meaning(ctx, text)
	switch {
	case err != nil && got == "":
		return refused, nil
	case err != nil:
		return refused, err
	case got != b.want:
		return refused, fmt.Errorf("accepted as %s", got)
	case strictBundles && !bytes.Equal(text, b.bytes):
		return refused, errors.New("accepted, and its bytes differ")
	}
	return same, nil
}

// meaning reads a bundle from its file. An error with no text is a refusal.
func (b *bundleSubject) meaning(ctx context.Context, text []byte) (string, error) {
	if err := os.WriteFile(b.file, text, 0o600); err != nil {
		return "cannot be written", err
	}
	a, err := bundle.Read(b.file)
	if err != nil {
		return "", err
	}
	v, err := b.policy.Verify(ctx, a)
	if err != nil {
		return "", err
	}
	wasm := v.Artifact.Files().Wasm
	p, err := plugins.New(v.Manifest, wasm, v.Origin(""), nil)
	if err != nil {
		return "", err
	}
	means, err := meaning(p, wasm)
	return means, errors.Join(err, p.Close())
}
