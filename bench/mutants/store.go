package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cloister-wasm/cloister/plugins/lock"
	"github.com/cloister-wasm/cloister/plugins/store"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

// storeSubject changes one or two files of a store of installed plugins, the blobs, the
// generations and the pointer to the current one, and has the store loaded.
type storeSubject struct {
	store  *store.Store
	policy *trust.Policy
	lock   *lock.File
	files  map[string][]byte
	names  []string
	want   map[string]string // by plugin id
	dirty  map[string]bool   // what has to be mended before the next mutant
}

func newStore(ctx context.Context, dir string, _ *options) (*subject, error) {
	k, err := key("acme")
	if err != nil {
		return nil, err
	}
	s := &storeSubject{lock: lock.New(), files: map[string][]byte{}, dirty: map[string]bool{}}
	if s.policy, err = trust.ParsePolicy((&trust.Policy{Publishers: []trust.Publisher{publisher("acme", k)}}).Marshal()); err != nil {
		return nil, err
	}
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	if s.store, err = store.Open(filepath.Join(dir, "store"), &store.Options{Now: func() time.Time { now = now.Add(time.Second); return now }}); err != nil {
		return nil, err
	}
	for _, p := range [][2]string{{"one", "1.0.0"}, {"two", "1.0.0"}, {"one", "1.1.0"}, {"three", "1.0.0"}, {"one", "2.0.0"}} {
		a, err := artifact(ctx, "acme", p[0], p[1], k)
		if err != nil {
			return nil, err
		}
		v, err := s.policy.Verify(ctx, a)
		if err != nil {
			return nil, err
		}
		if _, err := s.store.Install(ctx, v, "registry.example/acme/"+p[0]+":"+p[1]); err != nil {
			return nil, err
		}
		origin := v.Origin("")
		s.lock.Plugins[v.Manifest.ID] = lock.Plugin{Version: v.Manifest.Version, Digest: origin.Digest, Publisher: origin.Publisher, Signer: origin.Signer}
	}
	if s.want, err = s.load(ctx); err != nil {
		return nil, err
	}
	return &subject{
		mutate: s.mutate, close: func() {},
		intact: func(ctx context.Context) (verdict, error) { return s.read(ctx, nil) },
	}, s.keep()
}

// keep takes a copy of all files.
func (s *storeSubject) keep() error {
	err := fs.WalkDir(os.DirFS(s.store.Dir()), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		s.files[name], err = os.ReadFile(filepath.Join(s.store.Dir(), name))
		return err
	})
	s.names = slices.Sorted(maps.Keys(s.files))
	return err
}

func (s *storeSubject) mutate(r *rand.Rand) mutant {
	files, what, changed := map[string][]byte{}, "", false
	for range 1 + r.IntN(2) {
		name := s.names[r.IntN(len(s.names))]
		var text []byte
		switch r.IntN(8) {
		case 0:
			what += name + " is gone; "
		case 1: // another good file in its place: an older generation, another plugin's blob
			other := s.names[r.IntN(len(s.names))]
			text, what = s.files[other], what+name+" is "+other+"; "
		default:
			var how string
			text, how = damage(r, s.files[name])
			what += name + ": " + how + "; "
		}
		files[name] = text
		changed = changed || text == nil || !bytes.Equal(text, s.files[name])
	}
	return mutant{what, changed, func(ctx context.Context) (verdict, error) { return s.read(ctx, files) }}
}

// put writes files; nil removes one.
func (s *storeSubject) put(files map[string][]byte) error {
	for name, text := range files {
		path := filepath.Join(s.store.Dir(), name)
		if text == nil {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// read loads the store with these files in it. Whatever is loaded has to be what was
// installed.
func (s *storeSubject) read(ctx context.Context, files map[string][]byte) (verdict, error) {
	whole := map[string][]byte{}
	for name := range s.dirty {
		whole[name] = s.files[name]
	}
	if err := errors.Join(s.put(whole), s.put(files)); err != nil {
		return refused, err
	}
	s.dirty = map[string]bool{}
	for name := range files {
		s.dirty[name] = true
	}
	got, err := s.load(ctx)
	if err != nil {
		return refused, nil
	}
	for id, what := range got {
		if what != s.want[id] {
			return refused, fmt.Errorf("%s was loaded as %s", id, what)
		}
	}
	switch len(got) {
	case len(s.want):
		return same, nil
	case 0:
		return refused, nil
	}
	return narrower, nil
}

// load gives the meanings of what is loaded.
func (s *storeSubject) load(ctx context.Context) (map[string]string, error) {
	l, err := s.store.Load(ctx, s.policy, s.lock, nil)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, p := range l.Plugins {
		// The digest, which was verified from the bytes, stands for the module.
		text, err := meaning(p, nil)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		out[p.ID()] = text
	}
	return out, l.Close()
}
