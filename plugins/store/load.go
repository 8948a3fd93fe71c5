package store

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/bundle"
	"github.com/cloister-wasm/cloister/plugins/lock"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

// Loaded is what [Store.Load] gives.
type Loaded struct {
	// Plugins are sorted by id. They are the caller's to close.
	Plugins []*plugins.Plugin
	// Refused has one error for each plugin that is enabled and was not loaded, sorted by id: at which step, and why.
	Refused []*trust.Error
	// Generation is the number of the generation that was loaded.
	Generation int
}

// Close closes all plugins. Only for who did not hand them on.
func (l *Loaded) Close() error {
	var errs []error
	for _, p := range l.Plugins {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// Load loads the plugins of the current generation that are enabled. Nothing that was found out when a plugin was installed
// is relied on: each one goes through all steps again, in their order, against the policy and the lock as they are now. What
// was verified is in memory and is what runs: the files are not read again.
//
// A plugin that fails is refused alone. Where two have the same tool or global, which only a damaged store or a changed
// manifest can bring about, the one that was installed later is refused. l may be nil: then nothing is locked. opts go to
// plugins.New; with Eager the machine code is made here, one plugin after the other on each processor.
//
// The error is about all of them: no policy ([trust.ErrNoPolicy]), a store that is damaged or cannot be read, ErrBusy, or
// the end of ctx. Then nothing is loaded.
func (s *Store) Load(ctx context.Context, policy *trust.Policy, l *lock.File, opts *plugins.LoadOptions) (*Loaded, error) {
	if policy == nil {
		return nil, trust.ErrNoPolicy
	}
	jobs, number, err := s.readEnabled(ctx)
	if err != nil {
		return nil, err
	}
	each(jobs, func(j *job) { j.load(ctx, policy, l, opts) })
	done := &Loaded{Generation: number}
	if ctx.Err() != nil {
		for _, j := range jobs {
			j.drop()
		}
		return nil, context.Cause(ctx)
	}
	refuseConflicts(jobs)
	for _, j := range jobs {
		if j.err != nil {
			done.Refused = append(done.Refused, j.refusal())
		} else {
			done.Plugins = append(done.Plugins, j.plugin)
		}
	}
	return done, nil
}

// job is the loading of one plugin.
type job struct {
	entry    Entry
	artifact *bundle.Artifact
	plugin   *plugins.Plugin
	err      error // once it is set the plugin is refused
}

// readEnabled reads the artifacts of the enabled plugins, while nobody can collect them.
func (s *Store) readEnabled(ctx context.Context) ([]*job, int, error) {
	f, err := s.open(false)
	if err != nil {
		return nil, 0, err
	}
	defer f.close() // nothing was written
	release, err := f.lock(ctx, false)
	if err != nil {
		return nil, 0, err
	}
	defer release() // closing a file that was only read
	g, err := f.current()
	if err != nil {
		return nil, 0, err
	}
	var jobs []*job
	for _, e := range g.Entries {
		if !e.Disabled {
			jobs = append(jobs, &job{entry: e})
		}
	}
	each(jobs, func(j *job) {
		if j.err = ctx.Err(); j.err == nil {
			j.artifact, j.err = f.artifact(&j.entry)
		}
	})
	s.stepped("artifacts are read")
	return jobs, g.Number, nil
}

// each runs do for all jobs, as many at a time as there are processors.
func each(jobs []*job, do func(*job)) {
	next := make(chan *job)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(jobs)) {
		workers.Go(func() {
			for j := range next {
				do(j)
			}
		})
	}
	for _, j := range jobs {
		next <- j
	}
	close(next)
	workers.Wait()
}

// load takes one artifact through the steps after bounds and digests, which reading it has made.
func (j *job) load(ctx context.Context, policy *trust.Policy, l *lock.File, opts *plugins.LoadOptions) {
	if j.err != nil {
		return
	}
	v, err := policy.Verify(ctx, j.artifact)
	j.artifact = nil // from here on there is only what was verified
	if err != nil {
		j.err = err
		return
	}
	origin := v.Origin(j.entry.Ref)
	if v.Manifest.ID != j.entry.ID || v.Manifest.Version != j.entry.Version || origin.Digest != j.entry.Digest {
		j.err = &trust.Error{Step: trust.StepDigests, State: trust.StateInvalid, Detail: "the artifact is " + v.Manifest.ID + " " + v.Manifest.Version +
			", the store has it as version " + j.entry.Version + " of this plugin; " + mendBlob}
		return
	}
	if j.plugin, j.err = plugins.New(v.Manifest, v.Artifact.Files().Wasm, origin, opts); j.err != nil {
		return
	}
	if l != nil {
		j.err = l.CheckPlugin(j.entry.ID, origin.Digest, origin.Signer)
	}
	if j.err == nil && opts != nil && opts.Eager {
		j.err = j.plugin.Compile(ctx)
	}
	if j.err != nil {
		j.drop()
	}
}

// drop closes a plugin that is not handed on.
func (j *job) drop() {
	if j.plugin != nil {
		j.err = errors.Join(j.err, j.plugin.Close())
		j.plugin = nil
	}
}

// refuseConflicts refuses plugins whose names an earlier installed one has.
func refuseConflicts(jobs []*job) {
	order := slices.Clone(jobs)
	slices.SortStableFunc(order, func(a, b *job) int { return a.entry.Installed.Compare(b.entry.Installed) })
	var list []*plugins.Plugin
	for _, j := range order {
		if j.err == nil {
			list = append(list, j.plugin)
		}
	}
	for _, err := range plugins.Conflicts(list) {
		var ce *plugins.ConflictError
		if !errors.As(err, &ce) {
			continue
		}
		for _, j := range jobs {
			if j.plugin == ce.Refused {
				j.err = err
				j.drop()
			}
		}
	}
}

// refusal says at which step the plugin failed.
func (j *job) refusal() *trust.Error {
	e := trust.Classify(j.err)
	switch {
	case errors.Is(j.err, ErrDamaged):
		e.Step, e.State = trust.StepDigests, trust.StateInvalid
	case errors.Is(j.err, plugins.ErrConflict):
		e.Step, e.State = trust.StepOwnership, trust.StateNotOwned
	}
	e.Plugin = cmp.Or(j.entry.ID, e.Plugin)
	return e
}
