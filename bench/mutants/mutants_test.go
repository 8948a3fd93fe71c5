package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/plugins/bundle"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

// rounds are the mutants of each artefact here; make mutants reads 10,000.
func rounds() int {
	if testing.Short() {
		return 60
	}
	return 400
}

// TestMutants is the short form: whatever is read of a mutant is the original, or less.
func TestMutants(t *testing.T) {
	o := options{n: rounds(), seed: 7, progress: io.Discard}
	results, err := run(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != len(artefacts) {
		t.Errorf("%d of %d artefacts", len(results), len(artefacts))
	}
	for _, r := range results {
		for _, f := range r.Faults {
			t.Error(f)
		}
		if sum := r.Refused + r.Same + r.Narrower + r.Wider; sum != o.n || r.Refused == 0 || r.Wider > 0 && r.Name != "policy" {
			t.Errorf("%s: %+v", r.Name, r)
		}
	}
	t.Log("\n" + table(results))
}

// The same seed and number make the same mutant.
func TestSeed(t *testing.T) {
	s, err := newBundle(t.Context(), t.TempDir(), &options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		one, two := s.mutate(rand.New(rand.NewPCG(1, uint64(i)))), s.mutate(rand.New(rand.NewPCG(1, uint64(i))))
		if one.what != two.what || one.changed != two.changed {
			t.Errorf("%d: %s and %s", i, one.what, two.what)
		}
	}
}

// A bundle that was changed and whose digests were all mended is whole for who reads it:
// only the signature is in its way.
func TestMendedBundlesReachTheSignature(t *testing.T) {
	k, err := key("acme")
	if err != nil {
		t.Fatal(err)
	}
	a, err := artifact(t.Context(), "acme", "hello", "1.0.0", k)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := trust.ParsePolicy((&trust.Policy{Publishers: []trust.Publisher{publisher("acme", k)}}).Marshal())
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := a.WriteTar(&text); err != nil {
		t.Fatal(err)
	}
	tried := 0
	list, err := parts(text.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if !bytes.Contains(list[i].data, []byte("Says nothing.")) {
			continue
		}
		tried++
		changed, err := parts(text.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		changed[i].data = bytes.ReplaceAll(changed[i].data, []byte("Says nothing."), []byte("Says nothing! Or does it?"))
		mend(changed, i)
		packedAgain, err := packed(changed)
		if err != nil {
			t.Fatal(err)
		}
		got, err := bundle.ReadTar(bytes.NewReader(packedAgain))
		if err != nil {
			t.Fatalf("%s: not whole: %v", path.Base(list[i].head.Name), err)
		}
		_, err = policy.Verify(t.Context(), got)
		var e *trust.Error
		if !errors.As(err, &e) || e.Step != trust.StepSignature {
			t.Errorf("%s: %v, want a refusal by the signature", path.Base(list[i].head.Name), err)
		}
	}
	if tried == 0 {
		t.Error("nothing was changed")
	}
}

// What the runner has to see it does: other meanings, panics, and originals that are not
// accepted.
func TestFaultsAreSeen(t *testing.T) {
	subjectOf := func(read func(context.Context) (verdict, error), intact verdict) artefact {
		return artefact{"test", func(context.Context, string, *options) (*subject, error) {
			return &subject{
				mutate: func(*rand.Rand) mutant { return mutant{"changed", true, read} },
				intact: func(context.Context) (verdict, error) { return intact, nil }, close: func() {},
			}, nil
		}}
	}
	o := options{n: 3, seed: 1, progress: io.Discard}
	for what, c := range map[string]struct {
		read   func(context.Context) (verdict, error)
		faults int
	}{
		"good":  {func(context.Context) (verdict, error) { return refused, nil }, 0},
		"other": {func(context.Context) (verdict, error) { return same, errors.New("accepted") }, 3},
		"panic": {func(context.Context) (verdict, error) { panic("on data") }, 3},
	} {
		r, err := o.artefact(t.Context(), subjectOf(c.read, same))
		if err != nil || len(r.Faults) != c.faults || r.N != 3 {
			t.Errorf("%s: %+v, %v", what, r, err)
		}
	}
	if _, err := o.artefact(t.Context(), subjectOf(nil, refused)); err == nil {
		t.Error("an original that is not accepted shows nothing")
	}
	if _, err := run(t.Context(), &options{only: []string{"none"}}); err == nil {
		t.Error("an artefact that does not exist")
	}
}

// Each way to change bytes takes whatever bytes there are, and leaves them alone.
func TestChangesTakeAnything(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, b := range [][]byte{nil, {}, {0}, []byte(","), []byte(`{"a":1,"b":2}`), bytes.Repeat([]byte("x1,"), 2000)} {
		before := bytes.Clone(b)
		for _, c := range changes {
			for range 200 {
				c.do(r, b)
			}
			if !bytes.Equal(b, before) {
				t.Fatalf("%s changed the original", c.name)
			}
		}
	}
}

func TestReport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	o := options{n: 5, seed: 3, only: []string{"lock"}, progress: io.Discard}
	code, err := report(t.Context(), &o, file)
	text, readErr := os.ReadFile(file)
	if code != 0 || err != nil || readErr != nil || !strings.Contains(string(text), `"seed": 3`) {
		t.Errorf("%d, %v, %v\n%s", code, err, readErr, text)
	}
}
