package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/lock"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

// fingerprint is all that a loaded plugin is: two with the same one do the same.
func fingerprint(tb testing.TB, p *plugins.Plugin, origin plugins.Origin) string {
	tb.Helper()
	text, err := json.Marshal([]any{p.Manifest(), p.Digest(), origin})
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// victim is a store whose files are damaged and mended again.
type victim struct {
	s        *Store
	policy   *trust.Policy
	lockText []byte
	files    map[string][]byte // by path, lockPath for the lock file
	names    []string
	want     map[string]string // fingerprints by id
	now      *Generation
	rng      *rand.Rand
	dirty    []string // what restore has to mend
}

const lockPath = "(lock file)"

func newVictim(t *testing.T) *victim {
	t.Helper()
	v := &victim{s: newStore(t), policy: testPolicy(t, nil), files: map[string][]byte{}, want: map[string]string{}, rng: rand.New(rand.NewPCG(1, 2))}
	v.now = install(t, v.s,
		spec{id: "acme.a", version: "1.0.0", filler: 10}, spec{id: "acme.b", version: "1.0.0", global: "Hello"},
		spec{id: "acme.a", version: "1.1.0", filler: 10}, spec{id: "acme.a", version: "2.0.0", filler: 20})
	l := lock.New()
	for _, e := range v.now.Entries {
		l.Plugins[e.ID] = lock.Plugin{Version: e.Version, Digest: e.Digest, Publisher: e.Publisher, Signer: e.Signer}
	}
	var err error
	if v.files[lockPath], err = l.Marshal(); err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(os.DirFS(v.s.Dir()), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		v.files[path] = readFile(t, filepath.Join(v.s.Dir(), path))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	v.lockText = v.files[lockPath]
	v.names = slices.Sorted(maps.Keys(v.files))
	for _, p := range load(t, v.s).Plugins {
		v.want[p.ID()] = fingerprint(t, p, p.Origin())
	}
	return v
}

// put writes a file; nil removes it.
func (v *victim) put(t *testing.T, name string, data []byte) {
	t.Helper()
	path := filepath.Join(v.s.Dir(), name)
	v.dirty = append(v.dirty, name)
	switch {
	case name == lockPath:
		v.lockText = data
	case data == nil:
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	default:
		writeFile(t, path, data)
	}
}

func (v *victim) restore(t *testing.T) {
	t.Helper()
	for _, name := range v.dirty {
		v.put(t, name, v.files[name]) // nil for a file that was not there
	}
	v.dirty = nil
}

// check loads what is there. Whatever is loaded must be exactly what was installed. It says how many plugins that were.
func (v *victim) check(t *testing.T, what string, sameRefs bool) int {
	t.Helper()
	l, err := lock.Parse(v.lockText)
	if err != nil {
		if !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
		return 0
	}
	got, err := v.s.Load(ctx, v.policy, l, nil)
	if err != nil {
		if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrTooNew) {
			t.Errorf("%s: Load = %v, want damage", what, err)
		}
		return 0
	}
	defer got.Close()
	for _, p := range got.Plugins {
		origin := p.Origin()
		if !sameRefs {
			origin.Ref = "registry.example/" + p.ID() + ":" + p.Version() // nobody signs where a file came from
		}
		if fingerprint(t, p, origin) != v.want[p.ID()] {
			t.Errorf("%s: loaded as something else: %s\nwant %s", what, fingerprint(t, p, origin), v.want[p.ID()])
		}
	}
	for _, e := range got.Refused {
		if e.State == trust.StateUnsigned || e.State == trust.StateInternal || e.Plugin == "" {
			t.Errorf("%s: refused as if something else were wrong: %v", what, e)
		}
	}
	return len(got.Plugins)
}

// missed names a file that is needed and not as it was, or "".
func (v *victim) missed(t *testing.T) string {
	t.Helper()
	needed := []string{currentFile, genFile(v.now.Number)}
	for i := range v.now.Entries {
		for _, d := range v.now.Entries[i].files() {
			needed = append(needed, blobFile(d))
		}
	}
	for _, name := range needed {
		have, err := os.ReadFile(filepath.Join(v.s.Dir(), name))
		if err != nil || !bytes.Equal(have, v.files[name]) {
			return name
		}
	}
	return ""
}

// mutate damages bytes in one of several ways.
func (v *victim) mutate(name string) (data []byte, how string) {
	old := v.files[name]
	data = bytes.Clone(old)
	at := func() int { return v.rng.IntN(len(old)) }
	part := func() (int, int) {
		a, b := at(), at()
		return min(a, b), max(a, b) + 1
	}
	if len(old) == 0 {
		return []byte("x"), "write"
	}
	switch v.rng.IntN(10) {
	case 0, 1:
		data[at()] ^= 1 << v.rng.IntN(8)
		return data, "flip a bit"
	case 2:
		data[at()] = byte(v.rng.Uint32())
		return data, "change a byte"
	case 3:
		return data[:at()], "cut the end"
	case 4:
		a, b := part()
		return slices.Delete(data, a, b), "cut a part"
	case 5:
		a, b := part()
		return slices.Insert(data, b, old[a:b]...), "double a part"
	case 6:
		a, b := part()
		slices.Reverse(data[a:b])
		return data, "reverse a part"
	case 7:
		other := v.names[v.rng.IntN(len(v.names))]
		return bytes.Clone(v.files[other]), "put " + other + " in its place"
	case 8:
		return append(data, old...), "double it"
	default:
		return nil, "remove it"
	}
}

// TestTampering damages single files and pairs of them, thousands of times.
func TestTampering(t *testing.T) {
	t.Parallel() // it waits for disks and other processes
	v := newVictim(t)
	if n := v.check(t, "undamaged", true); n != 2 {
		t.Fatalf("%d plugins are loaded without damage", n)
	}
	rounds := 2400
	if testing.Short() {
		rounds = 240
	}
	all, none := 0, 0
	for i := range rounds {
		name := v.names[v.rng.IntN(len(v.names))]
		data, how := v.mutate(name)
		v.put(t, name, data)
		if i%3 == 0 { // swap another two
			a, b := v.names[v.rng.IntN(len(v.names))], v.names[v.rng.IntN(len(v.names))]
			v.put(t, a, v.files[b])
			v.put(t, b, v.files[a])
			how += ", swap " + a + " and " + b
		}
		n := v.check(t, name+": "+how, true)
		switch n {
		case 0:
			none++
		case 2:
			all++
		}
		if missed := v.missed(t); n == 2 && missed != "" {
			t.Errorf("%s: everything was loaded although %s is damaged", name+": "+how, missed)
		}
		if t.Failed() {
			t.FailNow()
		}
		v.restore(t)
	}
	// The rest of the files belongs to older generations, which nobody asked for here.
	t.Logf("%d damaged copies: %d loaded all the same, %d in part, %d not", rounds, all, rounds-all-none, none)
	if all == 0 || none < rounds/5 || rounds-all-none < rounds/10 {
		t.Error("the damage did not hit what it should")
	}
	if n := v.check(t, "mended", true); n != 2 {
		t.Errorf("%d plugins are loaded after all was mended", n)
	}
}

// TestForgedLists changes the list of entries and makes all checksums right again, as somebody could who knows the format.
// The signatures and the lock file still let nothing in but what was installed.
func TestForgedLists(t *testing.T) {
	t.Parallel() // it waits for disks and other processes
	v := newVictim(t)
	rounds := 600
	if testing.Short() {
		rounds = 60
	}
	generations, err := v.s.Generations()
	if err != nil {
		t.Fatal(err)
	}
	var pool []Entry
	for _, g := range generations {
		pool = append(pool, g.Entries...)
	}
	accepted := 0
	for range rounds {
		v.restore(t)
		g := *v.now
		g.Entries = v.now.copies()
		how := v.forge(&g, pool)
		inner, err := encode(&g, "")
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Appendf(nil, `{"version":1,"sum":%q,"generation":%s}`, digestOf(inner), inner)
		v.put(t, genFile(g.Number), text)
		v.put(t, currentFile, fmt.Appendf(nil, "%d %s\n", g.Number, digestOf(text)))
		accepted += v.check(t, how, false)
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("%d forged lists, %d plugins loaded from them", rounds, accepted)
	if accepted == 0 {
		t.Error("no forged list could be read: the checks behind the checksums were never asked")
	}
}

// forge changes a list in one to three ways.
func (v *victim) forge(g *Generation, pool []Entry) (how string) {
	for range 1 + v.rng.IntN(3) {
		if len(g.Entries) == 0 {
			g.Entries = append(g.Entries, pool[0].clone())
		}
		e := &g.Entries[v.rng.IntN(len(g.Entries))]
		other := pool[v.rng.IntN(len(pool))].clone()
		n := v.rng.IntN(12)
		how += fmt.Sprintf("%d ", n)
		switch n {
		case 0:
			g.Entries = append(g.Entries, other)
		case 1:
			*e = other
		case 2:
			e.Digest = other.Digest
		case 3:
			e.Digest, e.Blobs = other.Digest, other.Blobs
		case 4:
			e.Signatures = other.Signatures
		case 5:
			e.ID, e.Tools = "acme.new", []string{"new_one"}
		case 6:
			e.Version = other.Version
		case 7:
			e.Signer, e.Publisher = "sha256:0", "umbrella"
		case 8:
			e.Disabled = !e.Disabled
		case 9:
			e.Blobs = e.Blobs[:v.rng.IntN(len(e.Blobs))]
		case 10:
			g.Number += v.rng.IntN(3) - 1
		case 11:
			e.Ref = "registry.example/evil"
		}
	}
	slices.SortFunc(g.Entries, func(a, b Entry) int { return bytes.Compare([]byte(a.ID), []byte(b.ID)) })
	return how
}
