package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/bundle"
	"github.com/cloister-wasm/cloister/plugins/store"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

func TestFirstDifference(t *testing.T) {
	for _, test := range []struct{ want, got, difference string }{
		{`{"a": 1.0, "b": [1, 2]}`, `{"b":[1,2],"a":1}`, ""},
		{`1e2`, `100`, ""},
		{`{"a":{"b":[1,2]}}`, `{"a":{"b":[1,3]}}`, "/a/b/1 is 3, wanted is 2"},
		{`{"a":1}`, `{"a":1,"b":2}`, "/b is not wanted: 2"},
		{`{"a":1,"b":2}`, `{"a":1}`, "/b is missing"},
		{`[1]`, `[1,2]`, "the value has 2 items, wanted are 1"},
		{`{"a":[1]}`, `{"a":{}}`, "/a is {}, wanted is [1]"},
		{`null`, `"x"`, `the value is "x", wanted is null`},
		{`{"a\u001b":1}`, `{"a\u001b":2}`, `/a\x1b is 2, wanted is 1`},
	} {
		if got := firstDifference([]byte(test.want), []byte(test.got)); got != test.difference {
			t.Errorf("%s against %s: %q, want %q", test.got, test.want, got, test.difference)
		}
	}
	for _, bad := range [][2]string{{"{", "1"}, {"1", ""}} {
		if got := firstDifference([]byte(bad[0]), []byte(bad[1])); !strings.Contains(got, "no JSON") {
			t.Errorf("%q against %q: %q", bad[1], bad[0], got)
		}
	}
}

// A registry names the parts, so their names cannot be trusted on a terminal.
func TestTransferLine(t *testing.T) {
	var plain, screen bytes.Buffer
	steps := []bundle.Progress{
		{Operation: bundle.OperationPush, Name: "wa\x1bsm", Total: 2 << 20},
		{Operation: bundle.OperationPush, Name: "wa\x1bsm", Done: 1 << 20, Total: 2 << 20},
		{Operation: bundle.OperationPush, Name: "wa\x1bsm", Done: 2 << 20, Total: 2 << 20, Finished: true},
		{Operation: bundle.OperationPush, Name: "none", Finished: true},
	}
	for _, out := range []*stream{plainStream(&plain), terminal(&screen, 80, false)} {
		line := &transferLine{out: out}
		for _, s := range steps {
			line.show(s)
		}
		line.erase()
	}
	if diff := cmp.Diff("push  wa\\x1bsm, 2.0 MiB\npush  none, 0 bytes\n", plain.String()); diff != "" {
		t.Errorf("to a file (-want +got):\n%s", diff)
	}
	lines := strings.Split(screen.String(), "\r\x1b[K")
	half := "push  wa\\x1bsm      " + strings.Repeat("█", 12) + strings.Repeat("░", 12) + "  1.0 MiB of 2.0 MiB"
	if !slices.Contains(lines, half) || lines[len(lines)-1] != "" {
		t.Errorf("the terminal saw %q, want a line %q and none at the end", lines, half)
	}
}

// tiny is a bundle around an empty module.
func tiny(t *testing.T, version string) *bundle.Artifact {
	t.Helper()
	artifact, err := bundle.Build(bundle.Files{
		Wasm: []byte("\x00asm\x01\x00\x00\x00"),
		Manifest: []byte(`{"abi":"cloister.plugin/1","id":"acme.tiny","version":"` + version + `","description":"Small.",` +
			`"tools":[{"name":"tiny","description":"Does nothing.","parameters":{"type":"object"}}]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	return artifact
}

// cloister runs a command line and gives its exit code and outputs.
func cloister(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	stdin, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	a := &app{stdin: stdin, stdout: plainStream(&out), stderr: plainStream(&errs)}
	code = a.main(t.Context(), args)
	return code, out.String(), errs.String()
}

// An OCI layout is signed in place, and what is not one is left alone.
func TestSignLayout(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	layout := filepath.Join(dir, "layout")
	if err := tiny(t, "1.0.0").WriteLayout(layout); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(dir, "a.key")
	if code, _, stderr := cloister(t, "plugin", "keygen", "--out", key, "--no-password"); code != exitOK {
		t.Fatal(stderr)
	}
	if code, _, stderr := cloister(t, "plugin", "sign", layout, "--key", key); code != exitOK {
		t.Fatal(stderr)
	}
	got, err := bundle.Read(layout)
	if err != nil || len(got.Signatures()) != 1 {
		t.Fatalf("the layout after signing: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Errorf("beside the layout and the keys there is something: %v, %v", entries, err)
	}
	// The module lacks the export that its tool needs: the signature is good, the plugin is not.
	code, stdout, _ := cloister(t, "plugin", "verify", layout, "--key", filepath.Join(dir, "a.pub"), "--json")
	var report verifyReport
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatal(err)
	}
	if code != exitUsage || report.Verified || report.Failed == nil || report.Failed.Step != trust.StepImports {
		t.Errorf("exit code %d, report %s", code, stdout)
	}
	// A file in the layout that is no part of it is not signed away.
	if err := os.WriteFile(filepath.Join(layout, "evil"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := cloister(t, "plugin", "sign", layout, "--key", key); code != exitUsage {
		t.Errorf("exit code %d, want %d: %s", code, exitUsage, stderr)
	}
}

// What is installed is found by its id.
func TestInspectInstalled(t *testing.T) {
	key, policy := acme(t)
	dir, trustFile := t.TempDir(), os.Getenv("CLOISTER_TRUST")
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	artifact := tiny(t, "1.2.3")
	signature, err := trust.Sign(t.Context(), artifact, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := artifact.AddSignature(signature); err != nil {
		t.Fatal(err)
	}
	verified, err := policy.Verify(t.Context(), artifact)
	if err != nil {
		t.Fatal(err)
	}
	where, err := storeDir()
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(where, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Install(t.Context(), verified, ""); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := cloister(t, "plugin", "inspect", "acme.tiny", "--trust", trustFile)
	if code != exitOK || !strings.Contains(stdout, "acme.tiny 1.2.3\nsigned by acme (key sha256:") || !strings.Contains(stdout, "(installed)") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	file := filepath.Join(dir, "new.cloister")
	if err := tiny(t, "1.3.0").WriteFile(file); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr = cloister(t, "plugin", "diff", "acme.tiny", file, "--trust", trustFile)
	if code != exitFailed || !strings.Contains(stdout, "! It is signed by another: nobody, before it was acme") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if code, _, stderr = cloister(t, "plugin", "sign", "acme.tiny", "--key", "x.key"); code != exitUsage || !strings.Contains(stderr, "installed") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}

// Texts of a manifest cannot write to the terminal, whatever let them through.
func TestInspectTextIsEscaped(t *testing.T) {
	evil := "x\x1b[2J\u202ey\n\rz"
	m := &plugins.Manifest{ID: evil, Version: evil, Description: evil, License: evil, Homepage: evil,
		Certification: &plugins.Certification{Report: evil, URL: evil},
		Tools: []plugins.Tool{{Name: evil, Label: evil, Description: evil, Approval: plugins.Approval(evil),
			Parameters: json.RawMessage(`{"type":"object","properties":{"\u001b[2J":{}}}`)}},
		Namespaces: []plugins.Namespace{{ID: evil, GlobalName: evil, Description: evil, Prompt: evil}}}
	in := &inspection{Name: evil, Place: placeFile, Digest: evil, Manifest: m, Permitted: []string{evil},
		Signature: signatureReport{State: "odd", Step: trust.Step(evil), Detail: evil}, Members: []memberReport{{evil, evil, evil, []string{evil}, false}}}
	d := &plugins.Difference{Changes: []plugins.Change{{Area: evil, Path: evil, Text: evil, Before: evil, After: evil + "2", Widens: true}}}
	both := &diffReport{Before: &side{Plugin: evil}, After: &side{Version: evil}}
	r := &verifyReport{Verified: true, Plugin: evil, Version: evil, Signer: &signerJSON{Publisher: evil, Key: evil}, Failed: &refusalJSON{State: trust.State(evil)},
		Steps: []stepReport{{trust.StepBounds, "failed", evil}, {trust.StepSigner, "ok", evil}}}
	for name, show := range map[string]func(*stream) string{
		"inspect": func(s *stream) string { return inspectText(s, in) },
		"diff":    func(s *stream) string { return diffText(s, both, d) },
		"verify":  func(s *stream) string { return verifyText(s, r) },
		"build":   func(s *stream) string { return (&built{Plugin: evil, Version: evil}).text(s) },
	} {
		text := show(terminal(&bytes.Buffer{}, 80, false))
		if i := strings.IndexFunc(text, func(c rune) bool { return c != '\n' && plaintext.Dangerous(c) }); i >= 0 {
			t.Errorf("%s: %q", name, text[i:])
		}
	}
}

// FuzzClaimed: whatever a manifest claims, the policy made of it has no mistakes, so
// that a key alone decides.
func FuzzClaimed(f *testing.F) {
	_, public, err := trust.GenerateKey("", nil)
	if err != nil {
		f.Fatal(err)
	}
	artifact, err := bundle.Build(bundle.Files{Wasm: []byte("\x00asm\x01\x00\x00\x00"),
		Manifest: []byte(`{"abi":"cloister.plugin/1","id":"acme.tiny","version":"1.0.0","description":"x","tools":[{"name":"t","description":"x","parameters":{"type":"object"}}]}`)})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, manifest []byte) {
		policy := &trust.Policy{Publishers: []trust.Publisher{{Name: "key", Keys: []trust.Key{{PublicKey: string(public)}}, Owns: claimed(manifest)}}}
		_, err := policy.Verify(context.Background(), artifact)
		if te := trust.Classify(err); te == nil || te.State != trust.StateUnsigned {
			t.Fatalf("%q: %v", manifest, err)
		}
	})
}
