package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// history is a store with three versions of a plugin and another plugin: generations 1 to 4.
func history(t *testing.T) *Store {
	t.Helper()
	s := newStore(t)
	install(t, s,
		spec{id: "acme.a", version: "1.0.0", filler: 1}, spec{id: "acme.a", version: "1.1.0", filler: 2},
		spec{id: "acme.b", version: "1.0.0", filler: 3}, spec{id: "acme.a", version: "1.2.0", filler: 4})
	return s
}

func blobs(t *testing.T, s *Store) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(s.Dir(), blobDir))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestCollect(t *testing.T) {
	for _, tt := range []struct {
		keep int
		want []int // generations that go
	}{{100, nil}, {5, nil}, {4, []int{0}}, {2, []int{0, 1, 2}}, {1, []int{0, 1, 2, 3}}, {0, []int{0, 1, 2, 3}}, {-3, []int{0, 1, 2, 3}}} {
		s := history(t)
		before := len(blobs(t, s))
		// What a killed writer may leave: a blob that nobody needs, a generation that was never made, a temporary file.
		writeFile(t, s.blobPath(digestOf([]byte("x"))), []byte("x"))
		writeFile(t, s.genPath(5), []byte("{"))
		writeFile(t, filepath.Join(s.Dir(), tmpDir, "left"), []byte("x"))
		got, err := s.Collect(ctx, tt.keep)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(append(slices.Clone(tt.want), 5), got.Generations); diff != "" {
			t.Errorf("Collect(%d) removed other generations:\n%s", tt.keep, diff)
		}
		if n := len(blobs(t, s)); n != before+1-got.Blobs || got.Blobs < 1 || got.Bytes < 1 {
			t.Errorf("Collect(%d) = %+v; there were %d blobs, now %d", tt.keep, got, before, n)
		}
		list, err := s.Generations()
		if err != nil || len(list) != 5-len(tt.want) {
			t.Errorf("Collect(%d) left %d generations, %v", tt.keep, len(list), err)
		}
		for _, g := range list {
			for i := range g.Entries {
				if _, err := s.Artifact(g.Entries[i].Digest); err != nil {
					t.Errorf("after Collect(%d), generation %d: %v", tt.keep, g.Number, err)
				}
			}
		}
		if got := loadedIDs(load(t, s)); got != "acme.a 1.2.0, acme.b 1.0.0" {
			t.Errorf("after Collect(%d): %s", tt.keep, got)
		}
		if tt.keep < 2 {
			if _, err := s.Rollback(ctx, 0); !errors.Is(err, ErrNoGeneration) {
				t.Errorf("rolled back to what was collected: %v", err)
			}
			again, err := s.Collect(ctx, 1)
			if err != nil || len(again.Generations)+again.Blobs != 0 {
				t.Errorf("a second Collect = %+v, %v", again, err)
			}
		}
		if left, err := os.ReadDir(filepath.Join(s.Dir(), tmpDir)); err != nil || len(left) != 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
}

// A kept generation that cannot be read may need any blob: nothing goes.
func TestCollectOnDamage(t *testing.T) {
	for _, number := range []int{3, 4} {
		s := history(t)
		before := blobs(t, s)
		writeFile(t, s.genPath(number), []byte("{"))
		if _, err := s.Collect(ctx, 2); !errors.Is(err, ErrDamaged) {
			t.Errorf("generation %d damaged: Collect = %v, want ErrDamaged", number, err)
		}
		if diff := cmp.Diff(before, blobs(t, s)); diff != "" {
			t.Errorf("blobs went:\n%s", diff)
		}
	}
}

// Loading and collecting at once: what is loaded is whole, whatever is collected meanwhile.
func TestLoadWhileCollecting(t *testing.T) {
	s := history(t)
	done := make(chan error, 1)
	stop := make(chan struct{})
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			sp := spec{id: "acme.a", version: "1.3.0", filler: 100 + i%2}
			_, err := s.Install(ctx, verified(t, sp), "")
			if err == nil {
				_, err = s.Collect(ctx, 1)
			}
			if err != nil {
				done <- err
				return
			}
		}
	}()
	for range 40 {
		l, err := s.Load(ctx, testPolicy(t, nil), nil, nil)
		if err != nil || len(l.Refused) > 0 || len(l.Plugins) != 2 {
			t.Errorf("Load = %+v, %v", l, err)
			break
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if _, err := s.Generations(); err != nil {
			t.Errorf("Generations: %v", err)
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestDamageAndRepair(t *testing.T) {
	write := func(name, text string) func(*testing.T, *Store) {
		return func(t *testing.T, s *Store) { writeFile(t, filepath.Join(s.Dir(), name), []byte(text)) }
	}
	remove := func(name string) func(*testing.T, *Store) {
		return func(t *testing.T, s *Store) {
			if err := os.Remove(filepath.Join(s.Dir(), name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	all := func(list ...func(*testing.T, *Store)) func(*testing.T, *Store) {
		return func(t *testing.T, s *Store) {
			for _, do := range list {
				do(t, s)
			}
		}
	}
	blobOf := func(number, entry int) func(*testing.T, *Store) {
		return func(t *testing.T, s *Store) {
			list, err := s.Generations()
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, s.blobPath(list[number].Entries[entry].Digest), []byte("{"))
		}
	}
	const latest = "acme.a 1.2.0, acme.b 1.0.0"
	tests := []struct {
		name    string
		damage  func(*testing.T, *Store)
		current error // what Current says before
		number  int   // the generation after
		back    int
		summary string
		found   string
	}{
		{"nothing", all(), nil, 4, -1, latest, ""},
		{"current is gone", remove(currentFile), ErrDamaged, 5, 4, latest, "current is missing"},
		{"current is empty", write(currentFile, ""), ErrDamaged, 5, 4, latest, "does not name"},
		{"current names none", write(currentFile, "9 sha256:"+strings.Repeat("0", 64)+"\n"), ErrDamaged, 5, 4, latest, "generations/9.json is missing"},
		{"current without its line end", write(currentFile, "4 sha256:"+strings.Repeat("0", 64)), ErrDamaged, 5, 4, latest, "does not name"},
		{"current with another sum", write(currentFile, "4 sha256:"+strings.Repeat("0", 64)+"\n"), ErrDamaged, 5, 4, latest, "not the file that current names"},
		{"current too long", write(currentFile, strings.Repeat("4", 1<<20)), ErrDamaged, 5, 4, latest, "cannot be read"},
		{"the list is damaged", write(genDir+"/4.json", "{}"), ErrDamaged, 5, 3, "acme.a 1.1.0, acme.b 1.0.0", "generations/4.json"},
		{"the list is gone", remove(genDir + "/4.json"), ErrDamaged, 4, 3, "acme.a 1.1.0, acme.b 1.0.0", "generations/4.json is missing"},
		{"two lists are damaged", all(write(genDir+"/4.json", ""), write(genDir+"/3.json", "x")), ErrDamaged, 5, 2, "acme.a 1.1.0", "generations/3.json"},
		{"an old list is damaged", write(genDir+"/2.json", "x"), nil, 4, -1, latest, "generations/2.json"},
		{"a blob is damaged", blobOf(4, 0), nil, 5, 3, "acme.a 1.1.0, acme.b 1.0.0", "(of acme.a)"},
		{"an old blob is damaged", blobOf(1, 0), nil, 4, -1, latest, "(of acme.a)"},
		{"a blob of all is damaged", all(blobOf(4, 1), blobOf(1, 0), blobOf(2, 0), remove(genDir+"/0.json")), nil, 4, -1, latest, "(of acme.b)"},
		{"all lists are damaged", all(write(genDir+"/0.json", ""), write(genDir+"/1.json", ""), write(genDir+"/2.json", ""), write(genDir+"/3.json", ""), write(genDir+"/4.json", "")),
			ErrDamaged, 5, -1, "", "generations/0.json"},
		{"a generation that was never made", write(genDir+"/5.json", "{"), nil, 4, -1, latest, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := history(t)
			tt.damage(t, s)
			_, err := s.Current()
			if !errors.Is(err, tt.current) {
				t.Fatalf("Current = %v, want %v", err, tt.current)
			}
			if err != nil && (!strings.Contains(err.Error(), "rollback") || !strings.Contains(err.Error(), "repair")) {
				t.Errorf("the error does not say how to mend it: %v", err)
			}
			if err != nil { // nothing goes on by itself
				_, inst := s.Install(ctx, verified(t, spec{id: "acme.c", version: "1.0.0"}), "")
				_, ld := s.Load(ctx, testPolicy(t, nil), nil, nil)
				_, back := s.Rollback(ctx, 0)
				for what, err := range map[string]error{"Install": inst, "Load": ld, "Rollback(0)": back} {
					if !errors.Is(err, ErrDamaged) {
						t.Errorf("%s on a damaged store = %v", what, err)
					}
				}
			}
			r, err := s.Repair(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if r.Generation.Number != tt.number || r.Back != tt.back || r.Generation.summary() != tt.summary {
				t.Errorf("repaired to generation %d, back to %d: %s\nwant %d, %d: %s\nfound %q, did %q",
					r.Generation.Number, r.Back, r.Generation.summary(), tt.number, tt.back, tt.summary, r.Found, r.Done)
			}
			if !strings.Contains(strings.Join(r.Found, "\n"), tt.found) || (tt.found == "") != (len(r.Found) == 0) || len(r.Found) > 0 && len(r.Done) == 0 {
				t.Errorf("found %q, did %q, want %q", r.Found, r.Done, tt.found)
			}
			if diff := cmp.Diff(r.Generation, current(t, s)); diff != "" {
				t.Errorf("the store is not at what Repair gave:\n%s", diff)
			}
			again, err := s.Repair(ctx)
			if err != nil || again.Generation.Number != tt.number || len(again.Done) > 0 && !strings.Contains(again.Done[0], "Kept") {
				t.Errorf("a second Repair = %+v, %v", again, err)
			}
			// What was damaged can be installed again.
			install(t, s, spec{id: "acme.a", version: "2.0.0", filler: 5})
			if g := current(t, s); !strings.Contains(g.summary(), "acme.a 2.0.0") {
				t.Error(g.summary())
			}
		})
	}
}

// With a number, rolling back works on a store that is damaged, and only to what is whole.
func TestRollbackOnDamage(t *testing.T) {
	s := history(t)
	list, err := s.Generations()
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(s.Dir(), currentFile), []byte("nonsense"))
	writeFile(t, s.genPath(3), []byte("nonsense"))
	writeFile(t, s.blobPath(list[1].Entries[0].Digest), []byte("nonsense"))
	for number, want := range map[int]error{0: ErrDamaged, 1: ErrDamaged, 3: ErrDamaged, 9: ErrNoGeneration, -1: ErrNoGeneration} {
		if g, err := s.Rollback(ctx, number); g != nil || !errors.Is(err, want) {
			t.Errorf("Rollback(%d) = %v, %v, want %v", number, g, err, want)
		}
	}
	g, err := s.Rollback(ctx, 2)
	if err != nil || g.Number != 5 || g.summary() != "acme.a 1.1.0" {
		t.Fatalf("Rollback(2) = %+v, %v", g, err)
	}
	if diff := cmp.Diff(g, current(t, s)); diff != "" {
		t.Error(diff)
	}
	_, err = s.Generations()
	var de *DamageError
	if !errors.As(err, &de) || de.File != genDir+"/3.json" {
		t.Errorf("Generations = %v, want the damage of 3.json", err)
	}
}

// Who waits is not starved by a writer that never rests, and gets out when its context ends.
func TestLocks(t *testing.T) {
	s := newStore(t)
	f, err := s.open(true)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	take := func(exclusive bool) func() error {
		t.Helper()
		release, err := f.lock(ctx, exclusive)
		if err != nil {
			t.Fatal(err)
		}
		return release
	}
	one, two := take(false), take(false) // readers at once
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := f.lock(short, true); !errors.Is(err, ErrBusy) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a writer among readers: %v, want ErrBusy", err)
	}
	if err := errors.Join(one(), two()); err != nil {
		t.Fatal(err)
	}
	writer := take(true)
	if _, err := f.lock(short, false); !errors.Is(err, ErrBusy) {
		t.Errorf("a reader beside a writer: %v, want ErrBusy", err)
	}
	got := make(chan error, 1)
	go func() {
		release, err := f.lock(ctx, false)
		if err == nil {
			err = release()
		}
		got <- err
	}()
	for waiting := true; waiting; { // a writer that takes the lock again at once
		if err := writer(); err != nil {
			t.Fatal(err)
		}
		writer = take(true)
		select {
		case err := <-got:
			if err != nil {
				t.Error(err)
			}
			waiting = false
		default:
		}
	}
	if err := writer(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{lockName, turnName} {
		if _, err := os.Stat(filepath.Join(s.Dir(), name)); errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was removed", name)
		}
	}
}
