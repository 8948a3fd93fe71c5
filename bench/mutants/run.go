package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// strictBundles wants every bundle that differs in a byte to be refused. Without it one
// that has the same content digest, signer and files counts as the same: bytes that no
// digest covers may differ, such as a tar's padding.
const strictBundles = false

// hung is when nobody waits for a mutant any more.
const hung = time.Minute

// verdict is what became of a mutant that was read without a fault.
type verdict int

const (
	refused  verdict = iota
	same             // it means what the original means
	narrower         // it is another, and lets in nothing that the original does not
	wider            // it is another that somebody could have written: see policySubject
)

// mutant is a changed copy, ready to be read.
type mutant struct {
	// what was done, for people.
	what string
	// changed says that its bytes are not those of the original.
	changed bool
	// read has it read. An error is a fault: it was accepted and means something else.
	read func(ctx context.Context) (verdict, error)
}

// subject is an artefact with all that reading it needs.
type subject struct {
	mutate func(r *rand.Rand) mutant
	// intact reads the original, which has to be accepted, or nothing is shown.
	intact func(ctx context.Context) (verdict, error)
	close  func()
}

// artefact is a kind of subject.
type artefact struct {
	name string
	make func(ctx context.Context, dir string, o *options) (*subject, error)
}

var artefacts = []artefact{
	{"bundle", newBundle}, {"policy", newPolicy}, {"lock", newLock}, {"store", newStore},
	{"snapshot-engine", newEngineSnapshot}, {"snapshot-host", newHostSnapshot},
}

// options are the flags.
type options struct {
	n, from int
	seed    uint64
	only    []string
	engine  string
	// slow is how long a mutant may take; 0 for any time. One that takes longer is read
	// again, since the machine may have been busy.
	slow     time.Duration
	progress io.Writer
}

// result is what became of the mutants of one artefact.
type result struct {
	Name     string   `json:"name"`
	N        int      `json:"n"`
	Refused  int      `json:"refused"`
	Same     int      `json:"same"`
	Narrower int      `json:"narrower"`
	Wider    int      `json:"wider"`
	Slow     int      `json:"slow"` // over options.slow, and again when read once more
	MaxMs    float64  `json:"maxMs"`
	Seconds  float64  `json:"seconds"`
	Faults   []string `json:"faults"`
}

// run takes each artefact in turn.
func run(ctx context.Context, o *options) ([]result, error) {
	for _, name := range o.only {
		if !slices.ContainsFunc(artefacts, func(a artefact) bool { return a.name == name }) {
			return nil, fmt.Errorf("there is no artefact %q", name)
		}
	}
	var out []result
	for _, a := range artefacts {
		if len(o.only) > 0 && !slices.Contains(o.only, a.name) {
			continue
		}
		r, err := o.artefact(ctx, a)
		if err != nil {
			return out, fmt.Errorf("%s: %w", a.name, err)
		}
		out = append(out, r)
	}
	return out, nil
}

// artefact makes and reads the mutants of one.
func (o *options) artefact(ctx context.Context, a artefact) (r result, err error) {
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := a.make(ctx, dir, o)
	if err != nil {
		return r, err
	}
	defer s.close()
	if v, err := s.intact(ctx); err != nil || v != same {
		return r, fmt.Errorf("the original is not accepted: %d, %w", v, err)
	}
	r.Name = a.name
	began, shown := time.Now(), time.Now()
	for i := o.from; i < o.from+o.n; i++ {
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		o.one(ctx, s, i, &r)
		if time.Since(shown) > 2*time.Second {
			shown = time.Now()
			fmt.Fprintf(o.progress, "%s: %d of %d\n", a.name, r.N, o.n)
		}
	}
	r.Seconds = time.Since(began).Seconds()
	return r, nil
}

// one makes the mutant of a number, which depends on the seed and the artefact only, and
// has it read.
func (o *options) one(ctx context.Context, s *subject, number int, r *result) {
	name := fnv.New64a()
	_, _ = name.Write([]byte(r.Name)) // never fails
	rng := rand.New(rand.NewPCG(o.seed^name.Sum64(), uint64(number)))
	m := s.mutate(rng)
	for !m.changed {
		m = s.mutate(rng)
	}
	v, took, err := guarded(ctx, m)
	if err == nil && o.slow > 0 && took > o.slow {
		if v, took, err = guarded(ctx, m); err == nil && took > o.slow {
			r.Slow++
			err = fmt.Errorf("took %v, twice", took)
		}
	}
	r.N++
	r.MaxMs = max(r.MaxMs, float64(took.Microseconds())/1000)
	if err != nil {
		r.Faults = append(r.Faults, fmt.Sprintf("%s --seed %d --from %d (%s): %v", r.Name, o.seed, number, m.what, err))
		return
	}
	*map[verdict]*int{refused: &r.Refused, same: &r.Same, narrower: &r.Narrower, wider: &r.Wider}[v]++
}

// guarded reads a mutant. A panic and a hang are faults.
func guarded(ctx context.Context, m mutant) (v verdict, took time.Duration, err error) {
	type answer struct {
		v   verdict
		err error
	}
	done := make(chan answer, 1)
	began := time.Now()
	go func() {
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
			done <- a
		}()
		a.v, a.err = m.read(ctx)
	}()
	select {
	case a := <-done:
		return a.v, time.Since(began), a.err
	case <-time.After(hung):
		return 0, time.Since(began), errors.New("hangs")
	}
}

// table lays the results out.
func table(results []result) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "artefact\tmutants\trefused\tsame\tnarrower\twider\tfaults\t> 1 s\tslowest\ttook\t")
	for _, r := range results {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.0f ms\t%.0f s\t\n", r.Name, r.N, r.Refused, r.Same, r.Narrower, r.Wider, len(r.Faults), r.Slow, r.MaxMs, r.Seconds)
	}
	_ = w.Flush() // into memory
	return b.String()
}

func writeJSON(file string, o *options, results []result) error {
	text, err := json.MarshalIndent(map[string]any{"seed": o.seed, "n": o.n, "results": results}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
