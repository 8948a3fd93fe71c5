package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/bundle"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		os.Exit(child(dir))
	}
	os.Exit(m.Run())
}

// publisher is somebody with a key.
type publisher struct {
	trust.Publisher
	key *trust.SigningKey
}

func newPublisher(name string, owns trust.Ownership) publisher {
	private, public, err := trust.GenerateKey(trust.KeyEd25519, nil)
	if err == nil {
		var key *trust.SigningKey
		if key, err = trust.LoadKey(private, nil); err == nil {
			return publisher{trust.Publisher{Name: name, Keys: []trust.Key{{PublicKey: string(public)}}, Owns: owns}, key}
		}
	}
	panic(err) // only in tests
}

// The publishers of all tests. No two own the same, so that conflicts are between plugins of one.
var acme, umbrella = sync.OnceValue(func() publisher {
	return newPublisher("acme", trust.Ownership{IDs: []string{"acme."}, Tools: []string{"*"}, Globals: []string{"Hello", "Other"}})
}), sync.OnceValue(func() publisher {
	return newPublisher("umbrella", trust.Ownership{IDs: []string{"umbrella."}, Tools: []string{"u_"}})
})

func testPolicy(tb testing.TB, change func(*trust.Policy)) *trust.Policy {
	tb.Helper()
	p := &trust.Policy{Publishers: []trust.Publisher{acme().Publisher}}
	if change != nil {
		change(p)
	}
	again, err := trust.ParsePolicy(p.Marshal())
	if err != nil {
		tb.Fatal(err)
	}
	return again
}

// spec says what plugin to make.
type spec struct {
	id, version string
	tools       []string // default: one by the name of the plugin
	global      string
	hosts       []string // permissions
	export      string   // default: run
	wasm        []byte   // default: module(filler)
	filler      int      // bytes of a custom section, to tell modules apart and to make them larger
	says        string   // what the tools are described by; default: "For tests."
}

// module is a module with one export and a custom section.
func module(filler int) []byte {
	b := []byte("\x00asm\x01\x00\x00\x00\x01\x05\x01\x60\x00\x01\x7f\x03\x02\x01\x00\x07\x07\x01\x03run\x00\x00\x0a\x06\x01\x04\x00\x41\x00\x0b")
	section := append([]byte{1, 'x'}, []byte(strings.Repeat("f", filler))...)
	b = append(b, 0)
	for n := uint(len(section)); ; n >>= 7 {
		if n < 0x80 {
			b = append(b, byte(n))
			break
		}
		b = append(b, byte(n)|0x80)
	}
	return append(b, section...)
}

func (s spec) manifest() []byte {
	tools := s.tools
	if tools == nil {
		tools = []string{strings.ReplaceAll(s.id[strings.Index(s.id, ".")+1:], "-", "_")}
	}
	m := map[string]any{"abi": plugins.ManifestABI, "id": s.id, "version": s.version, "description": "For tests."}
	var list []any
	for _, t := range tools {
		list = append(list, map[string]any{"name": t, "description": cmp.Or(s.says, "For tests."), "export": cmp.Or(s.export, "run"),
			"parameters": map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string", "description": "A text."}}}})
	}
	m["tools"] = list
	if s.global != "" {
		m["namespaces"] = []any{map[string]any{"id": "main", "globalName": s.global, "description": "For tests.",
			"requiredToolNames": []string{tools[0]}, "scope": map[string]any{"go": map[string]any{"$tool": tools[0]}}}}
	}
	if s.hosts != nil {
		var hosts []any
		for _, h := range s.hosts {
			hosts = append(hosts, map[string]any{"host": h})
		}
		m["permissions"] = map[string]any{"hosts": hosts}
	}
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // only in tests
	}
	return text
}

func (s spec) build(tb testing.TB) *bundle.Artifact {
	tb.Helper()
	wasm := s.wasm
	if wasm == nil {
		wasm = module(s.filler)
	}
	a, err := bundle.Build(bundle.Files{Manifest: s.manifest(), Wasm: wasm, Readme: []byte("# " + s.id)})
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

func sign(tb testing.TB, a *bundle.Artifact, p publisher) *bundle.Artifact {
	tb.Helper()
	signature, err := trust.Sign(context.Background(), a, p.key)
	if err == nil {
		err = a.AddSignature(signature)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

func verify(tb testing.TB, policy *trust.Policy, a *bundle.Artifact) *trust.Verified {
	tb.Helper()
	v, err := policy.Verify(context.Background(), a)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// verified makes a plugin of acme's that passes testPolicy.
func verified(tb testing.TB, s spec) *trust.Verified {
	tb.Helper()
	return verify(tb, testPolicy(tb, nil), sign(tb, s.build(tb), acme()))
}

var testTime = time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)

// clock ticks a second each time it is asked.
func clock() func() time.Time {
	var mu sync.Mutex
	now := testTime
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Second)
		return now
	}
}

func openStore(tb testing.TB, dir string) *Store {
	tb.Helper()
	s, err := Open(dir, &Options{Now: clock()})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func newStore(tb testing.TB) *Store {
	tb.Helper()
	return openStore(tb, filepath.Join(tb.TempDir(), "store"))
}

func install(tb testing.TB, s *Store, specs ...spec) *Generation {
	tb.Helper()
	var g *Generation
	for _, sp := range specs {
		var err error
		if g, err = s.Install(context.Background(), verified(tb, sp), "registry.example/"+sp.id+":"+sp.version); err != nil {
			tb.Fatal(err)
		}
	}
	return g
}

func current(tb testing.TB, s *Store) *Generation {
	tb.Helper()
	g, err := s.Current()
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func load(tb testing.TB, s *Store) *Loaded {
	tb.Helper()
	l, err := s.Load(context.Background(), testPolicy(tb, nil), nil, nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	return l
}

// summary is "id version[ disabled], …".
func (g *Generation) summary() string {
	var list []string
	for _, e := range g.Entries {
		s := e.ID + " " + e.Version
		if e.Disabled {
			s += " disabled"
		}
		list = append(list, s)
	}
	return strings.Join(list, ", ")
}

func loadedIDs(l *Loaded) string {
	var list []string
	for _, p := range l.Plugins {
		list = append(list, p.ID()+" "+p.Version())
	}
	for _, e := range l.Refused {
		list = append(list, fmt.Sprintf("%s refused at %s", e.Plugin, e.Step))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// blobPath is where a store keeps a blob.
func (s *Store) blobPath(digest string) string {
	return filepath.Join(s.dir, filepath.FromSlash(blobFile(digest)))
}

func (s *Store) genPath(number int) string {
	return filepath.Join(s.dir, genDir, strconv.Itoa(number)+".json")
}

func readFile(tb testing.TB, path string) []byte {
	tb.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func writeFile(tb testing.TB, path string, data []byte) {
	tb.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
}

func sortAll(lists ...*[]string) {
	for _, l := range lists {
		slices.Sort(*l)
	}
}
