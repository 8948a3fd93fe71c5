package store

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/plugins/trust"
)

var ctx = context.Background()

func TestEveryChangeIsAGeneration(t *testing.T) {
	s := newStore(t)
	if g := current(t, s); g.Number != 0 || len(g.Entries) != 0 {
		t.Fatalf("a new store is at generation %d with %d entries", g.Number, len(g.Entries))
	}
	steps := []struct {
		do      func() (*Generation, error)
		reason  string
		summary string
	}{
		{func() (*Generation, error) {
			return s.Install(ctx, verified(t, spec{id: "acme.b", version: "1.0.0"}), "x")
		},
			"install acme.b 1.0.0", "acme.b 1.0.0"},
		{func() (*Generation, error) {
			return s.Install(ctx, verified(t, spec{id: "acme.a", version: "1.0.0"}), "")
		},
			"install acme.a 1.0.0", "acme.a 1.0.0, acme.b 1.0.0"},
		{func() (*Generation, error) { return s.SetEnabled(ctx, "acme.b", false) },
			"disable acme.b", "acme.a 1.0.0, acme.b 1.0.0 disabled"},
		{func() (*Generation, error) {
			return s.Install(ctx, verified(t, spec{id: "acme.b", version: "1.1.0"}), "x")
		},
			"update acme.b 1.0.0 → 1.1.0", "acme.a 1.0.0, acme.b 1.1.0 disabled"},
		{func() (*Generation, error) { return s.SetEnabled(ctx, "acme.b", true) },
			"enable acme.b", "acme.a 1.0.0, acme.b 1.1.0"},
		{func() (*Generation, error) { return s.Remove(ctx, "acme.a") },
			"remove acme.a 1.0.0", "acme.b 1.1.0"},
		{func() (*Generation, error) { return s.Rollback(ctx, 0) },
			"roll back to generation 5", "acme.a 1.0.0, acme.b 1.1.0"},
		{func() (*Generation, error) { return s.Rollback(ctx, 0) },
			"roll back to generation 6", "acme.b 1.1.0"},
		{func() (*Generation, error) { return s.Rollback(ctx, 3) },
			"roll back to generation 3", "acme.a 1.0.0, acme.b 1.0.0 disabled"},
	}
	for i, step := range steps {
		g, err := step.do()
		if err != nil {
			t.Fatalf("%s: %v", step.reason, err)
		}
		if g.Number != i+1 || g.Reason != step.reason || g.summary() != step.summary {
			t.Errorf("generation %d %q: %s\nwant %d %q: %s", g.Number, g.Reason, g.summary(), i+1, step.reason, step.summary)
		}
		if diff := cmp.Diff(g, current(t, openStore(t, s.Dir()))); diff != "" {
			t.Errorf("%s: what was given back is not what another process reads:\n%s", step.reason, diff)
		}
	}
	list, err := s.Generations()
	if err != nil || len(list) != len(steps)+1 {
		t.Fatalf("Generations: %d, %v, want %d", len(list), err, len(steps)+1)
	}
	for i, g := range list {
		if g.Number != i || i > 0 && g.summary() != steps[i-1].summary {
			t.Errorf("generation %d became %s", g.Number, g.summary())
		}
	}
	if names, err := os.ReadDir(filepath.Join(s.Dir(), tmpDir)); err != nil || len(names) != 0 {
		t.Errorf("left in tmp: %v, %v", names, err)
	}
}

func TestRefusals(t *testing.T) {
	s := newStore(t)
	install(t, s, spec{id: "acme.a", version: "1.0.0", tools: []string{"greet", "part"}, global: "Hello"}, spec{id: "acme.b", version: "1.0.0"})
	if _, err := s.SetEnabled(ctx, "acme.b", false); err != nil {
		t.Fatal(err)
	}
	forged := *verified(t, spec{id: "acme.f", version: "1.0.0"})
	forged.Manifest = verified(t, spec{id: "acme.f", version: "2.0.0"}).Manifest
	unsigned := spec{id: "acme.f", version: "1.0.0"}.build(t)
	manifest, err := unsigned.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	put := func(v *trust.Verified, ref string) func() (*Generation, error) {
		return func() (*Generation, error) { return s.Install(ctx, v, ref) }
	}
	tests := []struct {
		name string
		do   func() (*Generation, error)
		kind error
		text string
	}{
		{"nothing", put(nil, ""), ErrUnverified, "trust policy"},
		{"made by hand", put(&trust.Verified{Artifact: unsigned, Manifest: manifest, Signer: trust.Signer{Publisher: "acme", Key: "k"}}, ""), ErrUnverified, "acme.f"},
		{"changed after it was verified", put(&forged, ""), ErrUnverified, "acme.f"},
		{"same tool", put(verified(t, spec{id: "acme.c", version: "1.0.0", tools: []string{"greet"}}), ""), ErrConflict, "tool greet of acme.c belongs to acme.a"},
		{"same tool, other case", put(verified(t, spec{id: "acme.c", version: "1.0.0", tools: []string{"GREET"}}), ""), ErrConflict, "tool GREET of acme.c belongs to acme.a"},
		{"tool of a disabled plugin", put(verified(t, spec{id: "acme.c", version: "1.0.0", tools: []string{"B"}}), ""), ErrConflict, "belongs to acme.b"},
		{"same global", put(verified(t, spec{id: "acme.c", version: "1.0.0", global: "Hello"}), ""), ErrConflict, "global Hello of acme.c belongs to acme.a"},
		{"update takes another's tool", put(verified(t, spec{id: "acme.b", version: "2.0.0", tools: []string{"part"}}), ""), ErrConflict, "tool part of acme.b belongs to acme.a"},
		{"reference with a line end", put(verified(t, spec{id: "acme.c", version: "1.0.0"}), "a\nb"), ErrInvalid, "reference"},
		{"reference too long", put(verified(t, spec{id: "acme.c", version: "1.0.0"}), strings.Repeat("x", maxRef+1)), ErrInvalid, "reference"},
		{"installed already", put(verified(t, spec{id: "acme.b", version: "1.0.0"}), ""), ErrSame, "plugin enable acme.b"},
		{"disabled already", func() (*Generation, error) { return s.SetEnabled(ctx, "acme.b", false) }, ErrSame, "disabled already"},
		{"enabled already", func() (*Generation, error) { return s.SetEnabled(ctx, "acme.a", true) }, ErrSame, "enabled already"},
		{"enable what is not there", func() (*Generation, error) { return s.SetEnabled(ctx, "acme.x", true) }, ErrNotInstalled, "plugin list"},
		{"remove what is not there", func() (*Generation, error) { return s.Remove(ctx, "acme.x") }, ErrNotInstalled, "acme.x"},
		{"back to the future", func() (*Generation, error) { return s.Rollback(ctx, 99) }, ErrNoGeneration, "99"},
		{"back to nowhere", func() (*Generation, error) { return s.Rollback(ctx, -5) }, ErrNoGeneration, "-5"},
		{"back to now", func() (*Generation, error) { return s.Rollback(ctx, 3) }, ErrSame, "current"},
	}
	want := current(t, s)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, err := tt.do()
			if g != nil || !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.text) {
				t.Fatalf("got %v, %v, want %v with %q", g, err, tt.kind, tt.text)
			}
			if diff := cmp.Diff(want, current(t, s)); diff != "" {
				t.Errorf("the store changed:\n%s", diff)
			}
		})
	}
	_, err = s.Plan(verified(t, spec{id: "acme.c", version: "1.0.0", tools: []string{"greet"}}))
	var ce *ConflictError
	if !errors.As(err, &ce) || *ce != (ConflictError{Kind: "tool", Name: "greet", Plugin: "acme.c", Owner: "acme.a"}) {
		t.Errorf("Plan = %v, want the conflict", err)
	}
}

// A plugin's own names are free for its update, and those of a removed one for anybody.
func TestNamesAreFreed(t *testing.T) {
	s := newStore(t)
	install(t, s,
		spec{id: "acme.a", version: "1.0.0", tools: []string{"greet"}, global: "Hello"},
		spec{id: "acme.a", version: "1.1.0", tools: []string{"Greet", "more"}, global: "Hello"})
	if _, err := s.Remove(ctx, "acme.a"); err != nil {
		t.Fatal(err)
	}
	g := install(t, s, spec{id: "acme.b", version: "1.0.0", tools: []string{"greet"}, global: "Hello"})
	if g.summary() != "acme.b 1.0.0" {
		t.Error(g.summary())
	}
}

// The policy gives the id to another publisher: what is installed is not simply replaced.
func TestIDFromAnotherPublisher(t *testing.T) {
	s := newStore(t)
	install(t, s, spec{id: "acme.a", version: "1.0.0"})
	other := newPublisher("mallory", acme().Owns)
	policy := testPolicy(t, func(p *trust.Policy) { p.Publishers = []trust.Publisher{other.Publisher} })
	v := verify(t, policy, sign(t, spec{id: "acme.a", version: "1.1.0"}.build(t), other))
	for name, err := range map[string]error{"Plan": second(s.Plan(v)), "Install": second(s.Install(ctx, v, ""))} {
		var ce *ConflictError
		if !errors.As(err, &ce) || *ce != (ConflictError{Kind: "id", Name: "acme.a", Plugin: "mallory", Owner: "acme"}) {
			t.Errorf("%s = %v, want a conflict of mallory with acme", name, err)
		}
		if err != nil && !strings.Contains(err.Error(), "cloister plugin remove acme.a") {
			t.Errorf("%s does not say how to mend it: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestPlan(t *testing.T) {
	s := newStore(t)
	old := spec{id: "acme.a", version: "1.2.0", tools: []string{"greet"}}
	v := verified(t, old)
	c, err := s.Plan(v)
	if err != nil || c.Before != nil || !c.Widens() || c.Same || c.Downgrade || c.SignerChanged || c.After.ID != "acme.a" {
		t.Fatalf("a new plugin: %+v, %v", c, err)
	}
	if _, err := s.InstallPlanned(ctx, v, "", c); err != nil {
		t.Fatal(err)
	}
	rotated := newPublisher("acme", acme().Owns)
	both := testPolicy(t, func(p *trust.Policy) { p.Publishers[0].Keys = append(p.Publishers[0].Keys, rotated.Keys...) })
	tests := []struct {
		name                                   string
		v                                      *trust.Verified
		widens, same, downgrade, signerChanged bool
	}{
		{"the same", verified(t, old), false, true, false, false},
		{"nothing widens", verified(t, spec{id: "acme.a", version: "1.3.0", tools: []string{"greet"}}), false, false, false, false},
		{"pre-release is lower", verified(t, spec{id: "acme.a", version: "1.2.0-rc.1", tools: []string{"greet"}}), true, false, true, false},
		{"lower, by number", verified(t, spec{id: "acme.a", version: "1.1.10", tools: []string{"greet"}}), true, false, true, false},
		{"higher, by number", verified(t, spec{id: "acme.a", version: "1.10.0", tools: []string{"greet"}}), false, false, false, false},
		{"a tool more", verified(t, spec{id: "acme.a", version: "1.3.0", tools: []string{"greet", "more"}}), true, false, false, false},
		{"a permission more", verified(t, spec{id: "acme.a", version: "1.3.0", tools: []string{"greet"}, hosts: []string{"example.com"}}), true, false, false, false},
		{"another key", verify(t, both, sign(t, spec{id: "acme.a", version: "1.3.0", tools: []string{"greet"}}.build(t), rotated)), true, false, false, true},
		{"another key, same artifact", verify(t, both, sign(t, old.build(t), rotated)), true, false, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := s.Plan(tt.v)
			if err != nil {
				t.Fatal(err)
			}
			if c.Before == nil || c.Widens() != tt.widens || c.Same != tt.same || c.Downgrade != tt.downgrade || c.SignerChanged != tt.signerChanged {
				t.Errorf("widens %v same %v downgrade %v signer %v: %+v", c.Widens(), c.Same, c.Downgrade, c.SignerChanged, c.Diff)
			}
		})
	}
	if n := current(t, s).Number; n != 1 {
		t.Errorf("planning made generation %d", n)
	}
}

// With the old artifact damaged nobody knows what an update adds: everything counts as new.
func TestPlanOnDamage(t *testing.T) {
	s := newStore(t)
	g := install(t, s, spec{id: "acme.a", version: "1.0.0"})
	writeFile(t, s.blobPath(g.Entries[0].Digest), []byte("x"))
	c, err := s.Plan(verified(t, spec{id: "acme.a", version: "1.0.1"}))
	if err != nil || !c.Widens() {
		t.Errorf("Plan = %+v, %v", c, err)
	}
	if c, err := s.Plan(verified(t, spec{id: "acme.a", version: "1.0.0"})); err != nil || !c.Same {
		t.Errorf("the same artifact: %+v, %v", c, err)
	}
}

// What a person agreed to is what is installed, or nothing.
func TestInstallPlannedRefusesWhatMoved(t *testing.T) {
	s := newStore(t)
	install(t, s, spec{id: "acme.a", version: "1.0.0"})
	v := verified(t, spec{id: "acme.a", version: "1.2.0"})
	c, err := s.Plan(v)
	if err != nil {
		t.Fatal(err)
	}
	for name, do := range map[string]func(){
		"updated": func() { install(t, s, spec{id: "acme.a", version: "1.1.0"}) },
		"removed": func() {
			if _, err := s.Remove(ctx, "acme.a"); err != nil {
				t.Fatal(err)
			}
		},
	} {
		do()
		if g, err := s.InstallPlanned(ctx, v, "", c); g != nil || !errors.Is(err, ErrMoved) {
			t.Errorf("after it was %s: %v, %v, want ErrMoved", name, g, err)
		}
		install(t, s, spec{id: "acme.b", version: "1.0.0"}) // others may come and go
		if _, err := s.Remove(ctx, "acme.b"); err != nil {
			t.Fatal(err)
		}
	}
	other := verified(t, spec{id: "acme.a", version: "6.6.6"})
	c, err = s.Plan(v)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.InstallPlanned(ctx, other, "", c); !errors.Is(err, ErrMoved) {
		t.Errorf("another artifact than was planned: %v", err)
	}
	if g, err := s.InstallPlanned(ctx, v, "", c); err != nil || g.summary() != "acme.a 1.2.0" {
		t.Errorf("the plan that holds: %v", err)
	}
}

func TestFolderMustBePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no mode bits")
	}
	base := t.TempDir()
	open := filepath.Join(base, "open")
	if err := os.Mkdir(open, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(base, "file")
	writeFile(t, file, nil)
	link := filepath.Join(base, "link")
	if err := os.Symlink(newStore(t).Dir(), link); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"open to others": open, "a file": file, "a link": link, "below a file": filepath.Join(file, "x")} {
		if _, err := Open(dir, nil); !errors.Is(err, ErrDir) {
			t.Errorf("%s: Open = %v, want ErrDir", name, err)
		}
	}
	// Opened up while the process runs: refused from then on.
	s := newStore(t)
	g := install(t, s, spec{id: "acme.a", version: "1.0.0"})
	if err := os.Chmod(s.Dir(), 0o770); err != nil {
		t.Fatal(err)
	}
	_, gens := s.Generations()
	_, art := s.Artifact(g.Entries[0].Digest)
	_, ld := s.Load(ctx, testPolicy(t, nil), nil, nil)
	_, rm := s.Remove(ctx, "acme.a")
	_, rep := s.Repair(ctx)
	_, col := s.Collect(ctx, 1)
	_, cur := s.Current()
	for name, err := range map[string]error{"Current": cur, "Generations": gens, "Artifact": art, "Load": ld, "Remove": rm, "Repair": rep, "Collect": col} {
		if !errors.Is(err, ErrDir) || !strings.Contains(err.Error(), "chmod 700") {
			t.Errorf("%s on a folder open to others = %v, want ErrDir", name, err)
		}
	}
}

func TestArtifact(t *testing.T) {
	s := newStore(t)
	v := verified(t, spec{id: "acme.a", version: "1.0.0"})
	if _, err := s.Install(ctx, v, ""); err != nil {
		t.Fatal(err)
	}
	install(t, s, spec{id: "acme.a", version: "1.1.0"})
	a, err := s.Artifact(v.Artifact.Digest())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(v.Artifact.Blobs(), a.Blobs()); diff != "" || len(a.Signatures()) != 1 {
		t.Errorf("an older generation's artifact differs:\n%s", diff)
	}
	for _, digest := range []string{digestOf(nil), "", "sha256:../../current", a.Digest()[7:]} {
		if _, err := s.Artifact(digest); !errors.Is(err, ErrNotInstalled) {
			t.Errorf("Artifact(%q) = %v, want ErrNotInstalled", digest, err)
		}
	}
}

// Another signature of the same artifact, after a key was changed, is an update of its own.
func TestResign(t *testing.T) {
	s := newStore(t)
	sp := spec{id: "acme.a", version: "1.0.0"}
	first := install(t, s, sp)
	rotated := newPublisher("acme", acme().Owns)
	policy := testPolicy(t, func(p *trust.Policy) {
		p.Revoked.Keys = []string{acme().key.Fingerprint()}
		p.Publishers[0].Keys = rotated.Keys
	})
	v := verify(t, policy, sign(t, sign(t, sp.build(t), acme()), rotated))
	g, err := s.Install(ctx, v, "")
	if err != nil || g.Entries[0].Digest != first.Entries[0].Digest || g.Entries[0].Signer == first.Entries[0].Signer {
		t.Fatalf("%+v, %v", g, err)
	}
	l, err := s.Load(ctx, policy, nil, nil)
	if err != nil || len(l.Plugins) != 1 {
		t.Fatalf("%+v, %v", l, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestContextEnds(t *testing.T) {
	s := newStore(t)
	install(t, s, spec{id: "acme.a", version: "1.0.0"})
	want := current(t, s)
	over, cancel := context.WithCancelCause(ctx)
	why := errors.New("why")
	cancel(why)
	v := verified(t, spec{id: "acme.b", version: "1.0.0"})
	f, err := s.open(false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	release, err := f.lock(ctx, true)
	if err != nil {
		t.Fatal(err)
	}
	// Held by somebody else: only the context's end gets a caller out.
	if _, err := s.Load(over, testPolicy(t, nil), nil, nil); !errors.Is(err, ErrBusy) || !errors.Is(err, why) {
		t.Errorf("Load while the store is locked = %v, want ErrBusy and the cause", err)
	}
	if g := current(t, s); g.Number != 1 { // needs no lock
		t.Error(g)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"Install": second(s.Install(over, v, "")), "Remove": second(s.Remove(over, "acme.a")), "Rollback": second(s.Rollback(over, 0)),
		"Collect": second(s.Collect(over, 1)), "Repair": second(s.Repair(over)), "SetEnabled": second(s.SetEnabled(over, "acme.a", false)),
		"Load": second(s.Load(over, testPolicy(t, nil), nil, nil)),
	} {
		if err == nil || !errors.Is(err, context.Canceled) && !errors.Is(err, why) {
			t.Errorf("%s with an ended context = %v", name, err)
		}
	}
	if diff := cmp.Diff(want, current(t, s)); diff != "" {
		t.Error(diff)
	}
}

func TestGenerationFileIsReadable(t *testing.T) {
	s := newStore(t)
	install(t, s, spec{id: "acme.a", version: "1.0.0", global: "Hello"})
	var file map[string]any
	if err := json.Unmarshal(readFile(t, s.genPath(1)), &file); err != nil {
		t.Fatal(err)
	}
	text := string(readFile(t, s.genPath(1)))
	for _, want := range []string{`"reason": "install acme.a 1.0.0"`, `"created": "2026-03-04T05:06:`, `"version": 1`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	for _, name := range []string{currentFile, genDir + "/1.json", lockName} {
		info, err := os.Stat(filepath.Join(s.Dir(), name))
		if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// A store of a newer version is not damaged, and is left alone by all means of mending.
func TestNewerStore(t *testing.T) {
	s := newStore(t)
	install(t, s, spec{id: "acme.a", version: "1.0.0"})
	text := []byte(strings.Replace(string(readFile(t, s.genPath(1))), `"version": 1,`, `"version": 2, "more": [],`, 1))
	writeFile(t, s.genPath(1), text)
	writeFile(t, filepath.Join(s.Dir(), currentFile), []byte("1 "+digestOf(text)+"\n"))
	for name, err := range map[string]error{
		"Current": second(s.Current()), "Repair": second(s.Repair(ctx)), "Remove": second(s.Remove(ctx, "acme.a")),
		"Rollback": second(s.Rollback(ctx, 0)), "Collect": second(s.Collect(ctx, 1)), "Load": second(s.Load(ctx, testPolicy(t, nil), nil, nil)),
	} {
		if !errors.Is(err, ErrTooNew) || errors.Is(err, ErrDamaged) {
			t.Errorf("%s = %v, want ErrTooNew", name, err)
		}
	}
	if string(readFile(t, s.genPath(1))) != string(text) {
		t.Error("it was changed")
	}
}

func TestMissingFolder(t *testing.T) {
	s := newStore(t)
	if err := os.RemoveAll(s.Dir()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Current(); !errors.Is(err, ErrDir) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Current = %v", err)
	}
	if g := install(t, s, spec{id: "acme.a", version: "1.0.0"}); g.Number != 1 {
		t.Error(g)
	}
}
