package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/lock"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

func TestLoad(t *testing.T) {
	s := newStore(t)
	if l := load(t, s); len(l.Plugins)+len(l.Refused) != 0 {
		t.Errorf("an empty store gave %s", loadedIDs(l))
	}
	g := install(t, s, spec{id: "acme.b", version: "1.0.0", global: "Hello"}, spec{id: "acme.a", version: "1.0.0", filler: 100}, spec{id: "acme.off", version: "1.0.0"})
	if _, err := s.SetEnabled(ctx, "acme.off", false); err != nil {
		t.Fatal(err)
	}
	l := load(t, s)
	if got := loadedIDs(l); got != "acme.a 1.0.0, acme.b 1.0.0" || l.Generation != 4 || l.Plugins[0].ID() != "acme.a" {
		t.Fatalf("generation %d: %s", l.Generation, got)
	}
	for i, p := range l.Plugins {
		e := g.Entries[i]
		want := plugins.Origin{Digest: e.Digest, Publisher: "acme", Signer: e.Signer, Ref: e.Ref}
		if diff := cmp.Diff(want, p.Origin()); diff != "" || p.Unsigned() {
			t.Errorf("%s: origin\n%s", p.ID(), diff)
		}
	}
	sum := sha256.Sum256(module(100))
	if l.Plugins[0].Digest() != hex.EncodeToString(sum[:]) {
		t.Error("other wasm was loaded than was installed")
	}
}

// Each of these refuses one plugin, at the step that says why, and no other.
func TestLoadRefusesOneByOne(t *testing.T) {
	locked := func(t *testing.T, s *Store, change func(*lock.Plugin)) *lock.File {
		l := lock.New()
		for _, e := range current(t, s).Entries {
			p := lock.Plugin{Version: e.Version, Digest: e.Digest, Publisher: e.Publisher, Signer: e.Signer}
			if e.ID == "acme.a" {
				change(&p)
			}
			l.Plugins[e.ID] = p
		}
		return l
	}
	tests := []struct {
		name   string
		policy func(*trust.Policy)
		lock   func(t *testing.T, s *Store) *lock.File
		damage func(t *testing.T, s *Store, e *Entry)
		step   trust.Step
		state  trust.State
		is     error
		text   string
	}{
		{name: "key revoked", policy: func(p *trust.Policy) { p.Revoked.Keys = []string{acme().key.Fingerprint()} },
			step: trust.StepSigner, state: trust.StateRevoked, is: trust.ErrRevoked},
		{name: "publisher gone", policy: func(p *trust.Policy) { p.Publishers = p.Publishers[1:] },
			step: trust.StepSigner, state: trust.StateUnknownSigner, is: trust.ErrUnknownSigner},
		{name: "id not owned any more", policy: func(p *trust.Policy) { p.Publishers[0].Owns.IDs = []string{"acme.other"} },
			step: trust.StepOwnership, state: trust.StateNotOwned, is: trust.ErrNotOwned},
		{name: "version below the least one", policy: func(p *trust.Policy) { p.MinVersions = map[string]string{"acme.a": "99.0.0"} },
			step: trust.StepManifest, state: trust.StateTooOld, is: trust.ErrTooOld, text: "takes none below 99.0.0"},
		{name: "two signers wanted", policy: func(p *trust.Policy) {
			p.Publishers[0].Keys = append(p.Publishers[0].Keys, newPublisher("second", acme().Owns).Keys...)
			p.Publishers[0].Threshold = 2
		}, step: trust.StepSigner, state: trust.StateTooFewSigners, is: trust.ErrTooFewSigners, text: "wants 2 of the 2 signers"},
		{name: "not in the lock file", lock: func(t *testing.T, s *Store) *lock.File {
			l := locked(t, s, func(*lock.Plugin) {})
			delete(l.Plugins, "acme.a")
			return l
		}, step: trust.StepLock, state: trust.StateInvalid, is: lock.ErrDrift, text: "cloister lock accept"},
		{name: "other digest locked", lock: func(t *testing.T, s *Store) *lock.File {
			return locked(t, s, func(p *lock.Plugin) { p.Digest = digestOf(nil) })
		}, step: trust.StepLock, state: trust.StateInvalid, is: lock.ErrDrift, text: "digest"},
		{name: "other signer locked", lock: func(t *testing.T, s *Store) *lock.File {
			return locked(t, s, func(p *lock.Plugin) { p.Signer = "somebody" })
		}, step: trust.StepLock, state: trust.StateInvalid, is: lock.ErrDrift, text: "signer"},
		{name: "wasm blob damaged", damage: func(t *testing.T, s *Store, e *Entry) { damageBlob(t, s, e, "\x00asm") },
			step: trust.StepDigests, state: trust.StateInvalid, is: ErrDamaged, text: "cloister plugin install"},
		{name: "manifest blob damaged", damage: func(t *testing.T, s *Store, e *Entry) { damageBlob(t, s, e, `"cloister.plugin/1"`) },
			step: trust.StepDigests, state: trust.StateInvalid, is: ErrDamaged},
		{name: "artifact manifest gone", damage: func(t *testing.T, s *Store, e *Entry) {
			if err := os.Remove(s.blobPath(e.Digest)); err != nil {
				t.Fatal(err)
			}
		}, step: trust.StepDigests, state: trust.StateInvalid, is: os.ErrNotExist, text: "missing"},
		{name: "signature damaged", damage: func(t *testing.T, s *Store, e *Entry) { writeFile(t, s.blobPath(e.Signatures[0]), []byte("{}")) },
			step: trust.StepDigests, state: trust.StateInvalid, is: ErrDamaged},
		{name: "blob is a pipe of another name", damage: func(t *testing.T, s *Store, e *Entry) {
			name := s.blobPath(e.Digest)
			if err := errors.Join(os.Remove(name), os.Symlink(os.DevNull, name)); err != nil {
				t.Fatal(err)
			}
		}, step: trust.StepDigests, state: trust.StateInvalid, is: ErrDamaged, text: "regular"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStore(t)
			both := func(p *trust.Policy) {
				p.Publishers[0].Owns.Tools = []string{"a"}
				p.Publishers = append(p.Publishers, umbrella().Publisher)
			}
			install(t, s, spec{id: "acme.a", version: "1.0.0"})
			v := verify(t, testPolicy(t, both), sign(t, spec{id: "umbrella.b", version: "1.0.0", tools: []string{"u_b"}, filler: 9}.build(t), umbrella()))
			g, err := s.Install(ctx, v, "")
			if err != nil {
				t.Fatal(err)
			}
			policy := testPolicy(t, func(p *trust.Policy) {
				both(p)
				if tt.policy != nil {
					tt.policy(p)
				}
			})
			var lf *lock.File
			if tt.lock != nil {
				lf = tt.lock(t, s)
			}
			if tt.damage != nil {
				tt.damage(t, s, &g.Entries[0])
			}
			l, err := s.Load(ctx, policy, lf, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if got := loadedIDs(l); got != "acme.a refused at "+string(tt.step)+", umbrella.b 1.0.0" {
				t.Fatalf("loaded %s: %v", got, l.Refused)
			}
			e := l.Refused[0]
			if e.State != tt.state || !errors.Is(e, tt.is) || !strings.Contains(e.Error(), tt.text) || !strings.Contains(e.Error(), "acme.a") {
				t.Errorf("refused with state %s: %v\nwant %s, %v, %q", e.State, e, tt.state, tt.is, tt.text)
			}
		})
	}
}

// damageBlob breaks the blob of an entry that holds a text.
func damageBlob(t *testing.T, s *Store, e *Entry, text string) {
	t.Helper()
	for _, d := range e.Blobs {
		if data := readFile(t, s.blobPath(d)); bytes.Contains(data, []byte(text)) {
			data[len(data)-1] ^= 1
			writeFile(t, s.blobPath(d), data)
			return
		}
	}
	t.Fatalf("no blob holds %q", text)
}

func TestLoadWithoutPolicy(t *testing.T) {
	s := newStore(t)
	if l, err := s.Load(ctx, nil, nil, nil); l != nil || !errors.Is(err, trust.ErrNoPolicy) {
		t.Errorf("Load without a policy = %v, %v", l, err)
	}
	install(t, s, spec{id: "acme.a", version: "1.0.0"})
	broken := &trust.Policy{Publishers: []trust.Publisher{{Name: "!"}}}
	l, err := s.Load(ctx, broken, nil, &plugins.LoadOptions{AllowUnsignedUnsafe: true})
	if err != nil || len(l.Plugins) != 0 || l.Refused[0].State != trust.StateInternal {
		t.Errorf("Load with a broken policy = %v, %v", l, err)
	}
}

// Installing again writes damaged blobs anew, although there is nothing to change.
func TestInstallHeals(t *testing.T) {
	sp := spec{id: "acme.a", version: "1.0.0"}
	for name, hurt := range map[string]func(path string) error{
		"flipped":   func(p string) error { return os.WriteFile(p, []byte("x"), 0o600) },
		"empty":     func(p string) error { return os.Truncate(p, 0) },
		"gone":      os.Remove,
		"directory": func(p string) error { return errors.Join(os.Remove(p), os.MkdirAll(filepath.Join(p, "x"), 0o700)) },
		"link":      func(p string) error { return errors.Join(os.Remove(p), os.Symlink(os.DevNull, p)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			g := install(t, s, sp)
			for _, d := range g.Entries[0].files() {
				if err := hurt(s.blobPath(d)); err != nil {
					t.Fatal(err)
				}
			}
			if got := loadedIDs(load(t, s)); got != "acme.a refused at digests" {
				t.Fatal(got)
			}
			if _, err := s.Install(ctx, verified(t, sp), ""); !errors.Is(err, ErrSame) {
				t.Fatalf("Install = %v, want ErrSame", err)
			}
			if got := loadedIDs(load(t, s)); got != "acme.a 1.0.0" {
				t.Error(got)
			}
		})
	}
}

// What was verified runs, whatever happens to the files after they were read.
func TestSwapAfterReading(t *testing.T) {
	s := newStore(t)
	g := install(t, s, spec{id: "acme.a", version: "1.0.0", filler: 10}, spec{id: "acme.a", version: "2.0.0", filler: 20})
	old, err := s.Generations()
	if err != nil {
		t.Fatal(err)
	}
	swapped := 0
	s.step = func(name string) {
		if name != "artifacts are read" {
			return
		}
		// Every file of the new version becomes one of the old version, and current leads to the old list.
		for i, d := range g.Entries[0].Blobs {
			writeFile(t, s.blobPath(d), readFile(t, s.blobPath(old[1].Entries[0].Blobs[i])))
			swapped++
		}
		writeFile(t, filepath.Join(s.Dir(), currentFile), []byte("1 "+digestOf(readFile(t, s.genPath(1)))+"\n"))
	}
	l := load(t, s)
	s.step = nil
	sum := sha256.Sum256(module(20))
	if got := loadedIDs(l); swapped == 0 || got != "acme.a 2.0.0" || l.Plugins[0].Digest() != hex.EncodeToString(sum[:]) {
		t.Errorf("after %d swaps: %s with wasm %s", swapped, got, l.Plugins[0].Digest())
	}
	if got := l.Plugins[0].Origin().Digest; got != g.Entries[0].Digest {
		t.Errorf("origin %s", got)
	}
}

// An attacker who can write to the folder and makes all checksums right still cannot have anything run that is not signed,
// nor one plugin in another's place.
func TestForgedGeneration(t *testing.T) {
	s := newStore(t)
	install(t, s, spec{id: "acme.a", version: "1.0.0"}, spec{id: "acme.a", version: "1.1.0"}, spec{id: "acme.b", version: "1.0.0"})
	evil := spec{id: "acme.a", version: "1.1.0", filler: 666}.build(t)
	mallory := newPublisher("acme", acme().Owns)
	forge := func(do func(c *change, g *Generation)) {
		t.Helper()
		err := s.exclusive(ctx, func(c *change) error {
			g, err := c.current()
			if err != nil {
				return err
			}
			do(c, g)
			g.Number++
			return c.put(g)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	put := func(c *change, e *Entry, signatures [][]byte) {
		e.Digest, e.Blobs, e.Signatures = evil.Digest(), nil, []string{}
		blobs := evil.Blobs()
		for d := range blobs {
			e.Blobs = append(e.Blobs, d)
		}
		for _, b := range signatures {
			blobs[digestOf(b)] = b
			e.Signatures = append(e.Signatures, digestOf(b))
		}
		sortAll(&e.Blobs, &e.Signatures)
		if _, err := c.putBlobs(ctx, blobs); err != nil {
			t.Fatal(err)
		}
	}
	good, err := s.Artifact(current(t, s).Entries[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		do   func(c *change, g *Generation)
		want string
	}{
		{"unsigned", func(c *change, g *Generation) { put(c, &g.Entries[0], nil) }, "acme.a refused at signature, acme.b 1.0.0"},
		{"signature of the good one", func(c *change, g *Generation) { put(c, &g.Entries[0], good.Signatures()) }, "acme.a refused at signature, acme.b 1.0.0"},
		{"signed by a namesake", func(c *change, g *Generation) {
			signature, err := trust.Sign(ctx, evil, mallory.key)
			if err != nil {
				t.Fatal(err)
			}
			put(c, &g.Entries[0], [][]byte{signature})
		}, "acme.a refused at signer, acme.b 1.0.0"},
		{"one artifact under two ids", func(c *change, g *Generation) {
			id, tools := g.Entries[0].ID, g.Entries[0].Tools
			g.Entries[0] = g.Entries[1].clone()
			g.Entries[0].ID, g.Entries[0].Tools = id, tools
		}, "acme.a refused at digests, acme.b 1.0.0"},
		{"claims a higher version", func(c *change, g *Generation) { g.Entries[0].Version = "9.0.0" }, "acme.a refused at digests, acme.b 1.0.0"},
		{"claims another publisher", func(c *change, g *Generation) {
			g.Entries[0].Publisher, g.Entries[0].Signer = "umbrella", "sha256:x"
		}, "acme.a 1.1.0, acme.b 1.0.0"}, // what it says does not count: the signature does
	}
	before := current(t, s).Number
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			forge(tt.do)
			l := load(t, s)
			if got := loadedIDs(l); got != tt.want {
				t.Errorf("loaded %s\nwant %s", got, tt.want)
			}
			for _, p := range l.Plugins {
				if p.Origin().Publisher != "acme" || p.Digest() != hexSum(module(0)) {
					t.Errorf("%s: %+v", p.ID(), p.Origin())
				}
			}
			if _, err := s.Rollback(ctx, before); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// The names in an entry are for installing; loading goes by the manifests. The plugin that was there first keeps them.
func TestLoadConflict(t *testing.T) {
	s := newStore(t)
	install(t, s, spec{id: "acme.z", version: "1.0.0", tools: []string{"greet"}})
	other := newStore(t)
	e := install(t, other, spec{id: "acme.a", version: "1.0.0", tools: []string{"GREET"}}).Entries[0]
	if err := os.CopyFS(filepath.Join(s.Dir(), "copy"), os.DirFS(filepath.Join(other.Dir(), "blobs"))); err != nil {
		t.Fatal(err)
	}
	e.Tools, e.Installed = []string{"other"}, e.Installed.AddDate(1, 0, 0)
	err := s.exclusive(ctx, func(c *change) error {
		for _, d := range e.files() {
			if _, err := c.putBlob(d, readFile(t, other.blobPath(d))); err != nil {
				return err
			}
		}
		g, err := c.current()
		if err != nil {
			return err
		}
		g.Entries, g.Number = g.with(e), g.Number+1
		return c.put(g)
	})
	if err != nil {
		t.Fatal(err)
	}
	l := load(t, s)
	if got := loadedIDs(l); got != "acme.a refused at ownership, acme.z 1.0.0" || !errors.Is(l.Refused[0], plugins.ErrConflict) || l.Refused[0].State != trust.StateNotOwned {
		t.Errorf("loaded %s: %v", got, l.Refused)
	}
}

// The module is checked against what the manifest grants: a signature does not grant anything.
func TestLoadChecksImports(t *testing.T) {
	s := newStore(t)
	importing := bytes.Replace(module(0), []byte("\x03\x02\x01\x00"), []byte("\x02\x19\x01\x10extism:host/envx\x04host\x00\x00\x03\x02\x01\x00"), 1)
	install(t, s, spec{id: "acme.a", version: "1.0.0", wasm: importing}, spec{id: "acme.b", version: "1.0.0"})
	l := load(t, s)
	if got := loadedIDs(l); got != "acme.a refused at imports, acme.b 1.0.0" || !errors.Is(l.Refused[0], plugins.ErrImport) {
		t.Errorf("loaded %s: %v", got, l.Refused)
	}
}

func TestLoadEager(t *testing.T) {
	s := newStore(t)
	install(t, s, spec{id: "acme.a", version: "1.0.0"})
	compiled := 0
	l, err := s.Load(ctx, testPolicy(t, nil), nil, &plugins.LoadOptions{Eager: true, Progress: func(e plugins.CompileEvent) {
		if e.Done && e.Err == nil {
			compiled++
		}
	}})
	if err != nil || len(l.Plugins) != 1 || compiled != 1 {
		t.Fatalf("Load = %+v, %v; compiled %d", l, err, compiled)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// A context that ends while plugins load leaves nothing open.
func TestLoadStops(t *testing.T) {
	s := newStore(t)
	install(t, s, spec{id: "acme.a", version: "1.0.0"})
	over, cancel := context.WithCancel(ctx)
	s.step = func(string) { cancel() }
	if l, err := s.Load(over, testPolicy(t, nil), nil, nil); l != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("Load = %v, %v", l, err)
	}
}
