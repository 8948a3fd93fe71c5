package lock

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var params = json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)

func h(s string) string { return sum([]byte(s)) }

// sample has a plugin with a tool and an MCP tool.
func sample() *File {
	f := New()
	f.Plugins["acme.hello"] = Plugin{Version: "1.0.0", Digest: h("a"), Publisher: "Acme <Inc>", Signer: "sha256:ab"}
	f.Plugins["acme.a"] = Plugin{Version: "2.0.0-rc.1+b", Digest: h("b"), Publisher: "Acme", Signer: "me@example.com (https://issuer.example)"}
	f.Tools["cloister:acme.hello:greet"] = HashTool("greet", "Greets & smiles.", params, nil)
	f.Tools["mcp:git-hub:issues/create"] = HashTool("issues/create", "Creates\nan issue.", params, json.RawMessage(`true`))
	return f
}

// sampleWithHints has one with everything as well.
func sampleWithHints() *File {
	f, destroys := sample(), true
	f.Tools["mcp:git-hub:issues/delete"] = (&Definition{Name: "issues/delete", Title: "Delete", Description: "Deletes.", Hints: Hints{Destructive: &destroys}, Approval: "ask"}).Entry()
	return f
}

func marshal(tb testing.TB, f *File) []byte {
	tb.Helper()
	text, err := f.Marshal()
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

const sampleText = `{
  "version": 2,
  "plugins": {
    "acme.a": {
      "version": "2.0.0-rc.1+b",
      "digest": "sha256:3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d",
      "publisher": "Acme",
      "signer": "me@example.com (https://issuer.example)"
    },
    "acme.hello": {
      "version": "1.0.0",
      "digest": "sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
      "publisher": "Acme <Inc>",
      "signer": "sha256:ab"
    }
  },
`

func TestMarshal(t *testing.T) {
	text := marshal(t, sample())
	if !strings.HasPrefix(string(text), sampleText) || !strings.HasSuffix(string(text), "}\n") || strings.HasSuffix(string(text), "\n\n") {
		t.Errorf("%s", text)
	}
	f, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), f); diff != "" {
		t.Error(diff)
	}
	for range 20 {
		if again := marshal(t, f.Clone()); !bytes.Equal(again, text) {
			t.Fatal("the same content gives other bytes")
		}
	}
	if got := string(marshal(t, New())); got != "{\n  \"version\": 2,\n  \"plugins\": {},\n  \"tools\": {}\n}\n" {
		t.Errorf("an empty file: %s", got)
	}
	// One tool changed is a change of its lines only.
	f.Tools["cloister:acme.hello:greet"] = HashTool("greet", "Greets.", params, nil)
	before, after := strings.Split(string(text), "\n"), strings.Split(string(marshal(t, f)), "\n")
	changed := 0
	for i := range before {
		if before[i] != after[i] {
			changed++
		}
	}
	if len(before) != len(after) || changed != 2 {
		t.Errorf("%d lines changed", changed)
	}
}

// Each is refused by Parse, and by Marshal where a File can hold it.
func TestMistakes(t *testing.T) {
	plugin := func(change func(*Plugin)) func(*File) {
		return func(f *File) {
			p := f.Plugins["acme.a"]
			change(&p)
			f.Plugins["acme.a"] = p
		}
	}
	tool := func(change func(*Tool)) func(*File) {
		return func(f *File) {
			p := f.Tools["cloister:acme.hello:greet"]
			change(&p)
			f.Tools["cloister:acme.hello:greet"] = p
		}
	}
	rename := func(id string) func(*File) {
		return func(f *File) { f.Tools[id] = f.Tools["cloister:acme.hello:greet"] }
	}
	tests := []struct {
		name   string
		change func(*File)
		path   string
	}{
		{"version 0", func(f *File) { f.Version = 0 }, "/version"},
		{"no plugins", func(f *File) { f.Plugins = nil }, "/plugins"},
		{"no tools", func(f *File) { f.Tools = nil }, "/tools"},
		{"id that climbs", func(f *File) { f.Plugins["../x"] = f.Plugins["acme.a"] }, "/plugins/..~1x"},
		{"id of capitals", func(f *File) { f.Plugins["Acme.a"] = f.Plugins["acme.a"] }, "/plugins/Acme.a"},
		{"no digest", plugin(func(p *Plugin) { p.Digest = "" }), "/plugins/acme.a/digest"},
		{"digest of capitals", plugin(func(p *Plugin) { p.Digest = "sha256:" + strings.Repeat("A", 64) }), "/plugins/acme.a/digest"},
		{"no semantic version", plugin(func(p *Plugin) { p.Version = "v1" }), "/plugins/acme.a/version"},
		{"no publisher", plugin(func(p *Plugin) { p.Publisher = "" }), "/plugins/acme.a/publisher"},
		{"no signer", plugin(func(p *Plugin) { p.Signer = "" }), "/plugins/acme.a/signer"},
		{"signer too long", plugin(func(p *Plugin) { p.Signer = strings.Repeat("x", maxSigner+1) }), "/plugins/acme.a/signer"},
		{"signer that turns the text around", plugin(func(p *Plugin) { p.Signer = "a\u202eb" }), "/plugins/acme.a/signer"},
		{"tool without source", rename("greet"), "/tools/greet"},
		{"tool of no source", rename("file:x:greet"), "/tools/file:x:greet"},
		{"tool that climbs", rename("mcp:x:../greet"), "/tools/mcp:x:..~1greet"},
		{"tool with a space", rename("mcp:x:a b"), "/tools/mcp:x:a b"},
		{"no hash", tool(func(p *Tool) { p.Hash = "" }), "/tools/cloister:acme.hello:greet/hash"},
		{"short hash", tool(func(p *Tool) { p.ParametersHash = "sha256:00" }), "/tools/cloister:acme.hello:greet/parametersHash"},
		{"wrong returns", tool(func(p *Tool) { p.ReturnsHash = "none" }), "/tools/cloister:acme.hello:greet/returnsHash"},
		{"long description", tool(func(p *Tool) { p.Description = strings.Repeat("x", MaxDescriptionBytes+4) }), "/tools/cloister:acme.hello:greet/description"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := sample()
			tt.change(f)
			text, err := json.Marshal(f)
			if err != nil {
				t.Fatal(err)
			}
			_, perr := Parse(text)
			_, merr := f.Marshal()
			for what, err := range map[string]error{"Parse": perr, "Marshal": merr} {
				var fe *FileError
				if !errors.As(err, &fe) || !errors.Is(err, ErrInvalid) || fe.Problems[0].Path != tt.path || !strings.Contains(err.Error(), "cloister lock accept") {
					t.Errorf("%s = %v, want a mistake at %s", what, err, tt.path)
				}
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	good := string(marshal(t, sample()))
	for name, bad := range map[string]string{
		"empty":             "",
		"not an object":     "[]",
		"null":              "null",
		"two values":        good + good,
		"cut":               good[:len(good)/2],
		"unknown member":    strings.Replace(good, `"version": 2,`, `"version": 2, "more": 1,`, 1),
		"unknown in a tool": strings.Replace(good, `"hash":`, `"Hash": "", "hash":`, 1),
		"plugin twice":      strings.Replace(good, `"acme.a"`, `"acme.hello"`, 1),
		"twice by escape":   strings.Replace(good, `"acme.a"`, `"acme.\u0068ello"`, 1),
		"other case":        strings.Replace(good, `"plugins"`, `"Plugins"`, 1),
		"version of a text": strings.Replace(good, `"version": 2`, `"version": "1"`, 1),
		"no version":        strings.Replace(good, `"version": 2,`, ``, 1),
		"negative version":  strings.Replace(good, `"version": 2`, `"version": -1`, 1),
		"invalid UTF-8":     strings.Replace(good, "Acme", "Acm\xff", 1),
		"comment":           "// x\n" + good,
		"bomb":              strings.Repeat(`{"plugins":`, 1<<16),
		"too large":         good + strings.Repeat(" ", MaxBytes),
	} {
		f, err := Parse([]byte(bad))
		var fe *FileError
		if f != nil || !errors.As(err, &fe) || !errors.Is(err, ErrInvalid) || errors.Is(err, ErrTooNew) || len(err.Error()) > 2000 {
			t.Errorf("%s: Parse = %v, %v", name, f, err)
		}
	}
	newer := strings.Replace(good, `"version": 2`, `"version": 3, "more": {}`, 1)
	if _, err := Parse([]byte(newer)); !errors.Is(err, ErrTooNew) || !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "use a newer one") {
		t.Errorf("a newer version = %v, want ErrTooNew", err)
	}
}

func TestAllMistakesAtOnce(t *testing.T) {
	f := New()
	for i := range 2 * maxProblems {
		f.Plugins[fmt.Sprintf("acme.p%02d", i)] = Plugin{Version: "1.0.0", Digest: "x", Publisher: "a", Signer: "s"}
	}
	_, err := f.Marshal()
	var fe *FileError
	if !errors.As(err, &fe) || len(fe.Problems) != maxProblems || !fe.More || fe.Problems[1].Path != "/plugins/acme.p01/digest" {
		t.Errorf("%v", err)
	}
	f = New()
	for i := range MaxPlugins + 1 {
		f.Plugins[fmt.Sprintf("acme.p%d", i)] = Plugin{}
	}
	if _, err := f.Marshal(); !errors.As(err, &fe) || len(fe.Problems) != 1 {
		t.Errorf("too many plugins: %v", err)
	}
}

func TestHashTool(t *testing.T) {
	base := HashTool("greet", "Greets.", params, nil)
	// Anybody can compute it: the SHA-256 of the canonical JSON.
	canonical := `{"description":"Greets.","name":"greet","parameters":{"properties":{"name":{"type":"string"}},"type":"object"}}`
	want := sha256.Sum256([]byte(canonical))
	if base.Hash != "sha256:"+hex.EncodeToString(want[:]) || base.ReturnsHash != "" || base.Description != "Greets." {
		t.Errorf("%+v", base)
	}
	for name, same := range map[string]Tool{
		"order and space": HashTool("greet", "Greets.", json.RawMessage(" { \"properties\" : {\"name\":{\"type\":\"\\u0073tring\"}}, \"type\":\"object\" }\n"), nil),
		"empty returns":   HashTool("greet", "Greets.", params, json.RawMessage(" ")),
	} {
		if diff := cmp.Diff(base, same); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	invalid := json.RawMessage(`{"a":1,"a":2}`)
	big := func(n string) json.RawMessage { return json.RawMessage(`{"maximum":` + n + `}`) }
	all := map[string]Tool{
		"base":            base,
		"name":            HashTool("greets", "Greets.", params, nil),
		"case":            HashTool("Greet", "Greets.", params, nil),
		"description":     HashTool("greet", "Greets!", params, nil),
		"parameters":      HashTool("greet", "Greets.", json.RawMessage(`{"type":"object"}`), nil),
		"no parameters":   HashTool("greet", "Greets.", nil, nil),
		"null parameters": HashTool("greet", "Greets.", json.RawMessage(`null`), nil),
		"returns":         HashTool("greet", "Greets.", params, json.RawMessage(`true`)),
		"moved":           HashTool("greet", "Greets.", nil, params),
		"duplicate keys":  HashTool("greet", "Greets.", invalid, nil),
		"others":          HashTool("greet", "Greets.", json.RawMessage(`{"a":1,"a":3}`), nil),
		"rounded 1":       HashTool("greet", "Greets.", big("9007199254740992"), nil),
		"rounded 2":       HashTool("greet", "Greets.", big("9007199254740993"), nil),
		"bad UTF-8 1":     HashTool("greet", "\xff", params, nil),
		"bad UTF-8 2":     HashTool("greet", "\xfe", params, nil),
		"replaced UTF-8":  HashTool("greet", "\ufffd", params, nil),
		"not JSON":        HashTool("greet", "Greets.", json.RawMessage(`{`), nil),
		"forged raw":      HashTool("greet", "Greets.", json.RawMessage(`"`+sum(invalid)+`"`), nil),
		"quotes":          HashTool(`greet","parameters":{}`, "Greets.", nil, nil),
		"long 1":          HashTool("greet", strings.Repeat("é", MaxDescriptionBytes)+"1", params, nil),
		"long 2":          HashTool("greet", strings.Repeat("é", MaxDescriptionBytes)+"2", params, nil),
	}
	seen := map[string]string{}
	for name, tool := range all {
		if other, dup := seen[tool.Hash]; dup {
			t.Errorf("%s and %s have one hash", name, other)
		}
		seen[tool.Hash] = name
		f := New()
		f.Tools["mcp:a:b"] = tool
		if _, err := Parse(marshal(t, f)); err != nil {
			t.Errorf("%s does not fit a file: %v", name, err)
		}
	}
}

func TestCheck(t *testing.T) {
	f := sample()
	greet := "cloister:acme.hello:greet"
	tests := []struct {
		name string
		err  error
		want *DriftError
	}{
		{"plugin as locked", f.CheckPlugin("acme.hello", h("a"), "sha256:ab"), nil},
		{"tool as locked", f.CheckTool(greet, HashTool("greet", "Greets & smiles.", params, nil)), nil},
		{"unknown plugin", f.CheckPlugin("acme.new", h("a"), "sha256:ab"), &DriftError{Difference: Difference{ID: "acme.new", What: WhatPlugin, New: true, After: h("a")}}},
		{"other digest", f.CheckPlugin("acme.hello", h("x"), "sha256:ab"), &DriftError{Difference: Difference{ID: "acme.hello", What: WhatDigest, Before: h("a"), After: h("x")}}},
		{"other signer", f.CheckPlugin("acme.hello", h("a"), "x"), &DriftError{Difference: Difference{ID: "acme.hello", What: WhatSigner, Before: "sha256:ab", After: "x"}}},
		{"both", f.CheckPlugin("acme.hello", h("x"), ""), &DriftError{
			Difference: Difference{ID: "acme.hello", What: WhatDigest, Before: h("a"), After: h("x")},
			More:       []Difference{{ID: "acme.hello", What: WhatSigner, Before: "sha256:ab"}}}},
		{"unknown tool", f.CheckTool("mcp:x:y", Tool{Description: "d"}), &DriftError{Difference: Difference{ID: "mcp:x:y", What: WhatTool, New: true, After: "d"}}},
		{"other description", f.CheckTool(greet, HashTool("greet", "Steals.", params, nil)), &DriftError{Difference: Difference{ID: greet, What: WhatDescription, Before: "Greets & smiles.", After: "Steals."}}},
		{"other name", f.CheckTool(greet, HashTool("Greet", "Greets & smiles.", params, nil)), &DriftError{Difference: Difference{ID: greet, What: WhatDefinition,
			Before: f.Tools[greet].Hash, After: HashTool("Greet", "Greets & smiles.", params, nil).Hash}}},
		{"returns appear", f.CheckTool(greet, HashTool("greet", "Greets & smiles.", params, params)), &DriftError{Difference: Difference{ID: greet, What: WhatReturns, After: f.Tools[greet].ParametersHash}}},
		{"no file, plugin", (*File)(nil).CheckPlugin("a.b", "", ""), &DriftError{Difference: Difference{ID: "a.b", What: WhatPlugin, New: true}}},
		{"no file, tool", (*File)(nil).CheckTool("mcp:x:y", Tool{}), &DriftError{Difference: Difference{ID: "mcp:x:y", What: WhatTool, New: true}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want == nil {
				if tt.err != nil {
					t.Fatal(tt.err)
				}
				return
			}
			var de *DriftError
			if !errors.As(tt.err, &de) || !errors.Is(tt.err, ErrDrift) {
				t.Fatalf("%v", tt.err)
			}
			if len(de.More) == 0 {
				de.More = nil
			}
			if diff := cmp.Diff(tt.want, de); diff != "" {
				t.Error(diff)
			}
			if text := de.Error(); !strings.Contains(text, "cloister lock accept") || !strings.Contains(text, tt.want.ID) || strings.ContainsAny(text, "\n\x1b") {
				t.Errorf("%q", text)
			}
		})
	}
	hostile := f.CheckTool(greet, HashTool("greet", "\x1b[2J\n\u202e"+strings.Repeat("x", 1<<20), params, nil))
	if text := hostile.Error(); len(text) > 1000 || strings.ContainsAny(text, "\n\x1b\u202e") {
		t.Errorf("a hostile description reaches the terminal: %q", text)
	}
}

func TestDifferences(t *testing.T) {
	before, after := sample(), sample()
	delete(after.Plugins, "acme.a")
	after.Plugins["acme.z"] = Plugin{Digest: h("z")}
	p := after.Plugins["acme.hello"]
	p.Digest, p.Version, p.Publisher = h("c"), "1.1.0", "Acme"
	after.Plugins["acme.hello"] = p
	delete(after.Tools, "mcp:git-hub:issues/create")
	after.Tools["mcp:new:x"] = Tool{Description: "new"}
	var got []string
	for _, d := range before.Differences(after) {
		got = append(got, d.String())
		if d.Changed() == (d.New || d.Gone) {
			t.Errorf("%+v", d)
		}
	}
	want := []string{
		"acme.a is gone: only the lock file has it",
		"acme.hello: its digest changed from " + h("a") + " to " + h("c"),
		`acme.hello: its publisher changed from "Acme <Inc>" to "Acme"`,
		`acme.hello: its version changed from "1.0.0" to "1.1.0"`,
		"acme.z is new: the lock file does not have it",
		"mcp:git-hub:issues/create is gone: only the lock file has it",
		"mcp:new:x is new: the lock file does not have it",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if d := before.Differences(sample()); len(d) != 0 {
		t.Errorf("no difference: %v", d)
	}
	if d := (*File)(nil).Differences(before); len(d) != 4 || !d[0].New {
		t.Errorf("from nothing: %v", d)
	}
	if d := before.Differences(nil); len(d) != 4 || !d[0].Gone {
		t.Errorf("to nothing: %v", d)
	}
}

func TestSaveAndLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	if _, err := Load(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if err := sample().Save(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sample().Save(path); err != nil {
		t.Fatal(err)
	}
	f, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), f); diff != "" {
		t.Error(diff)
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("permissions became %v, %v", info.Mode(), err)
	}
	broken := sample()
	broken.Version = 7
	if err := broken.Save(path); !errors.Is(err, ErrInvalid) {
		t.Errorf("a wrong file was saved: %v", err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("left behind: %v, %v", names, err)
	}
	if err := sample().Save(filepath.Join(dir, "no", "folder")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("into no folder: %v", err)
	}
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), FileName) {
		t.Errorf("the error does not name the file: %v", err)
	}
	if _, err := Load(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder: %v", err)
	}
}

func TestSaveThroughLink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := sample().Save(target); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if err := New().Save(link); err != nil {
		t.Fatal(err)
	}
	if f, err := Load(target); err != nil || len(f.Plugins) != 0 {
		t.Errorf("the link's target is %+v, %v", f, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info, err)
	}
}

// Damaged copies are refused, or say what they say openly: what differs from the original is found as drift.
func TestTampering(t *testing.T) {
	good := marshal(t, sampleWithHints())
	rng := rand.New(rand.NewPCG(3, 4))
	same, drifted, refused := 0, 0, 0
	for range 2000 {
		data := bytes.Clone(good)
		for range 1 + rng.IntN(2) {
			a, b := rng.IntN(len(data)), rng.IntN(len(data))
			a, b = min(a, b), max(a, b)
			switch rng.IntN(5) {
			case 0, 1:
				data[a] ^= 1 << rng.IntN(8)
			case 2:
				data = append(data[:a:a], data[b:]...)
			case 3:
				data = append(data[:b:b], data[a:]...)
			case 4:
				data[a], data[b] = data[b], data[a]
			}
		}
		f, err := Parse(data)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatalf("%v\n%s", err, data)
			}
			refused++
			continue
		}
		if cmp.Equal(f, sampleWithHints()) {
			same++
			continue
		}
		if len(sampleWithHints().Differences(f)) == 0 {
			t.Fatalf("other content without a difference:\n%s", data)
		}
		drifted++
	}
	t.Logf("%d refused, %d drifted, %d the same", refused, drifted, same)
	if refused == 0 || drifted == 0 {
		t.Error("the damage did not hit what it should")
	}
}

func FuzzLock(f *testing.F) {
	f.Add(marshal(f, sampleWithHints()))
	f.Add(marshal(f, New()))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatalf("%v", err)
			}
			return
		}
		text, err := file.Marshal()
		if err != nil {
			t.Fatalf("read, but not to be written: %v", err)
		}
		again, err := Parse(text)
		if err != nil || !cmp.Equal(file, again) {
			t.Fatalf("%v\n%s", err, cmp.Diff(file, again))
		}
		if d := file.Differences(again); len(d) != 0 {
			t.Fatalf("it differs from itself: %v", d)
		}
	})
}

func BenchmarkHashTool(b *testing.B) {
	for b.Loop() {
		HashTool("greet", "Greets & smiles.", params, nil)
	}
}

func BenchmarkCheckTool(b *testing.B) {
	f := sample()
	tool := f.Tools["cloister:acme.hello:greet"]
	for b.Loop() {
		if err := f.CheckTool("cloister:acme.hello:greet", tool); err != nil {
			b.Fatal(err)
		}
	}
}
