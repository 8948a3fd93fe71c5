package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/quickjs"
)

// engineBytes is the engine of the flag; nil has it looked for.
func engineBytes(o *options) ([]byte, error) {
	if o.engine == "" {
		return nil, nil
	}
	return os.ReadFile(o.engine)
}

// statePrelude makes a template with one entry, which keeps state.
const statePrelude = `(function () {
	const state = { list: [], map: new Map() };
	return [function (text) {
		state.list.push({ text, n: state.list.length });
		state.map.set(text, state.list.length);
		return JSON.stringify(state.list) + state.map.size;
	}];
})`

// engineSnapshot restores snapshots as the engine does, and asks what they hold. No
// mutant is restored: one whose checksum does not fit is damaged. Whoever computes the
// checksum anew makes a snapshot of something else, which the host refuses by its digest:
// see hostSnapshot.
type engineSnapshot struct {
	engine   *quickjs.Engine
	template *quickjs.Template
	bytes    []byte
	want     string
}

func newEngineSnapshot(ctx context.Context, dir string, o *options) (*subject, error) {
	wasm, err := engineBytes(o)
	if err != nil {
		return nil, err
	}
	s := &engineSnapshot{}
	if s.engine, err = quickjs.Load(ctx, &quickjs.EngineOptions{Wasm: wasm}); err != nil {
		return nil, err
	}
	closing := func() {
		if s.template != nil {
			s.template.Close()
		}
		_ = s.engine.Close(context.WithoutCancel(ctx)) // the program ends
	}
	if s.template, err = s.engine.NewTemplate(ctx, &quickjs.TemplateOptions{Prelude: statePrelude, Entries: 1}); err == nil {
		err = s.save(ctx)
	}
	if err == nil {
		s.want, err = s.resume(ctx, s.bytes)
	}
	if err != nil {
		closing()
		return nil, err
	}
	return &subject{
		mutate: func(r *rand.Rand) mutant {
			text, what := damage(r, s.bytes)
			return mutant{what, !bytes.Equal(text, s.bytes), func(ctx context.Context) (verdict, error) { return s.read(ctx, text) }}
		},
		intact: func(ctx context.Context) (verdict, error) { return s.read(ctx, s.bytes) },
		close:  closing,
	}, nil
}

// save keeps a machine that has state of its own.
func (s *engineSnapshot) save(ctx context.Context) error {
	vm, err := s.template.NewVM(ctx, nil)
	if err != nil {
		return err
	}
	defer vm.Close()
	for i := range 50 {
		if _, err := s.ask(ctx, vm, fmt.Sprint("entry ", i)); err != nil {
			return err
		}
	}
	s.bytes, err = vm.Snapshot(ctx, nil, s.template.Entry(0))
	return err
}

// ask calls the entry, which answers with all its state.
func (s *engineSnapshot) ask(ctx context.Context, vm *quickjs.VM, text string) (string, error) {
	vm.SetDeadline(time.Now().Add(10 * time.Second))
	arg, err := vm.String(ctx, text)
	if err != nil {
		return "", err
	}
	v, err := vm.Call(ctx, s.template.Entry(0), s.template.Undefined(), arg)
	if err != nil {
		return "", err
	}
	b, err := vm.ReadString(ctx, v, 1<<20)
	return string(b), err
}

func (s *engineSnapshot) resume(ctx context.Context, snapshot []byte) (string, error) {
	vm, roots, err := s.template.Restore(ctx, snapshot, nil)
	if err != nil {
		return "", err
	}
	defer vm.Close()
	text, err := s.ask(ctx, vm, "last")
	return fmt.Sprint(roots, text), err
}

func (s *engineSnapshot) read(ctx context.Context, snapshot []byte) (verdict, error) {
	got, err := s.resume(ctx, snapshot)
	switch {
	case errors.Is(err, quickjs.ErrSnapshot):
		return refused, nil
	case err != nil:
		return refused, fmt.Errorf("restored, and then: %w", err)
	case got != s.want:
		return refused, fmt.Errorf("restored as %.200s", got)
	}
	return same, nil
}

// nothing is a tool: without one there is no code mode.
func nothing() host.RawTool {
	return host.RawTool{Name: "nothing", Description: "Does nothing.", Call: func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage("null"), nil
	}}
}

// hostSnapshot suspends a program for each mutant, in a store that gives the mutant back.
type hostSnapshot struct {
	host  *host.Host
	run   *host.Run
	store *crookedStore
}

// crookedStore keeps the last snapshot, and gives back what crook makes of it.
type crookedStore struct {
	mu    sync.Mutex
	kept  []byte
	crook func([]byte) []byte
}

// Put implements host.SnapshotStore.
func (s *crookedStore) Put(_ context.Context, snapshot *host.Snapshot) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = snapshot.Bytes
	return nil
}

// Get implements host.SnapshotStore.
func (s *crookedStore) Get(context.Context, string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.crook(s.kept), nil
}

// Delete implements host.SnapshotStore.
func (s *crookedStore) Delete(context.Context, string) error { return nil }

func newHostSnapshot(ctx context.Context, _ string, o *options) (*subject, error) {
	wasm, err := engineBytes(o)
	if err != nil {
		return nil, err
	}
	s := &hostSnapshot{store: &crookedStore{}}
	s.host, err = host.New(ctx, &host.Options{EngineWasm: wasm, CodeMode: host.CodeModeConfig{Enabled: true, TimeoutMs: 60_000}, Snapshots: s.store, Tools: []host.RawTool{nothing()}})
	if err != nil {
		return nil, err
	}
	s.run, err = s.host.NewRun(ctx, host.RunOptions{AgentID: "mutants", AgentRunID: "mutants", SessionID: "mutants"})
	if err != nil {
		return nil, errors.Join(err, s.host.Close())
	}
	return &subject{
		mutate: s.mutate,
		intact: func(ctx context.Context) (verdict, error) {
			return s.read(ctx, func(b []byte) []byte { return b })
		},
		close: func() {
			s.run.Close()
			_ = s.host.Close() // the program ends
		},
	}, nil
}

// mutate does not know the snapshot yet, whose bytes are of a program that is started when
// the mutant is read. The choice is made of a seed then.
func (s *hostSnapshot) mutate(r *rand.Rand) mutant {
	one, two, mended := r.Uint64(), r.Uint64(), r.IntN(2) == 0
	what := fmt.Sprintf("checksum mended: %v", mended)
	return mutant{what, true, func(ctx context.Context) (verdict, error) {
		v, err := s.read(ctx, func(b []byte) []byte {
			rng := rand.New(rand.NewPCG(one, two))
			for {
				out, _ := damage(rng, b)
				if mended && len(out) > 4 {
					binary.LittleEndian.PutUint32(out[len(out)-4:], crc32.Checksum(out[:len(out)-4], crc32.MakeTable(crc32.Castagnoli)))
				}
				if !bytes.Equal(out, b) {
					return out
				}
			}
		})
		if err == nil && v == same { // the promise is: byte for byte what was put
			err = errors.New("it went on, though the bytes are not those that were put")
		}
		return v, err
	}}
}

// read suspends a program, and goes on with what the store gives back.
func (s *hostSnapshot) read(ctx context.Context, crook func([]byte) []byte) (verdict, error) {
	s.store.mu.Lock()
	s.store.crook = crook
	s.store.mu.Unlock()
	res, err := s.run.Exec(ctx, host.ExecInput{Code: `const kept = { n: 41, text: "x".repeat(100) }; await yield_control(); return kept.n + kept.text.length;`})
	if err != nil {
		return refused, err
	}
	if res.CellID == "" {
		return refused, fmt.Errorf("the program was not suspended: %s %s", res.Status, res.Error)
	}
	if res, err = s.run.Wait(ctx, host.WaitInput{CellID: res.CellID}); err != nil {
		return refused, err
	}
	switch {
	case string(res.Value) == "141":
		return same, nil
	case res.Reason == "snapshot_restore_failed":
		return refused, nil
	}
	return refused, fmt.Errorf("it went on as %s %s %s %s", res.Status, res.Reason, res.Value, res.Error)
}
