package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/plugins/lock"
)

// A lock file that was merely found agrees to nothing that the user's own does not
// agree to.
func TestNarrowLock(t *testing.T) {
	dir := t.TempDir()
	s := &settings.Settings{
		File: filepath.Join(dir, "project", "cloister.json5"), Found: true, Places: settings.Places{Data: filepath.Join(dir, "data")},
	}
	for _, folder := range []string{"project", "data"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	digest := "sha256:" + strings.Repeat("a", 64)
	file := func(change func(*lock.File)) *lock.File {
		l := lock.New()
		l.Plugins["acme.same"] = lock.Plugin{Version: "1.0.0", Digest: digest, Publisher: "acme", Signer: "k"}
		l.Plugins["acme.other"] = lock.Plugin{Version: "1.0.0", Digest: digest, Publisher: "acme", Signer: "k"}
		l.Tools["cloister:acme.same:a"] = lock.HashTool("a", "A.", nil, nil)
		l.Tools["cloister:acme.same:b"] = lock.HashTool("b", "B.", nil, nil)
		change(l)
		return l
	}
	found := file(func(l *lock.File) {
		l.Plugins["acme.other"] = lock.Plugin{Version: "1.0.0", Digest: digest, Publisher: "acme", Signer: "mallory"}
		l.Plugins["acme.new"] = l.Plugins["acme.same"]
		l.Tools["cloister:acme.same:b"] = lock.HashTool("b", "Changed.", nil, nil)
		l.Tools["cloister:acme.dev:d"] = lock.HashTool("d", "D.", nil, nil)
		l.Tools["mcp:server:m"] = lock.HashTool("m", "M.", nil, nil)
	})
	if err := found.Save(filepath.Join(dir, "project", lock.FileName)); err != nil {
		t.Fatal(err)
	}
	// Without a file of the user's, the user agreed to nothing.
	development := lock.New()
	development.Tools["cloister:acme.dev:d"] = found.Tools["cloister:acme.dev:d"]
	if l, err := LoadLock(s); err != nil || !cmp.Equal(l.File, development) || l.Own || l.Missing {
		t.Errorf("without a file of the user's: %+v, %v", l, err)
	}
	path, err := s.Places.InstalledLock()
	if err != nil {
		t.Fatal(err)
	}
	if err := file(func(*lock.File) {}).Save(path); err != nil {
		t.Fatal(err)
	}
	got, err := LoadLock(s)
	want := lock.New()
	want.Plugins["acme.same"] = lock.Plugin{Version: "1.0.0", Digest: digest, Publisher: "acme", Signer: "k"}
	want.Tools["cloister:acme.same:a"] = lock.HashTool("a", "A.", nil, nil)
	want.Tools["cloister:acme.dev:d"] = lock.HashTool("d", "D.", nil, nil)
	if err != nil || !cmp.Equal(got.File, want) {
		t.Fatalf("%v\n(-want +got):\n%s", err, cmp.Diff(want, got.File))
	}
	named := *s
	named.Found = false
	if got, err := LoadLock(&named); err != nil || !cmp.Equal(got.File, found) {
		t.Errorf("of a configuration that was named: %+v, %v", got, err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadLock(s); err == nil {
		t.Errorf("with a damaged file of the user's: %v", err)
	}
}

// Tokens are kept for this user alone.
func TestTokens(t *testing.T) {
	dir := t.TempDir()
	tokens, err := (&Options{Settings: &settings.Settings{Places: settings.Places{Data: dir}}}).tokens()
	if err != nil {
		t.Fatal(err)
	}
	if data, err := tokens.Load("../../key"); data != nil || err != nil {
		t.Fatalf("%q, %v", data, err)
	}
	if err := tokens.Save("../../key", []byte("secret")); err != nil {
		t.Fatal(err)
	}
	if data, err := tokens.Load("../../key"); string(data) != "secret" || err != nil {
		t.Fatalf("%q, %v", data, err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "mcp-tokens", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for range 2 {
		if err := tokens.Save("../../key", nil); err != nil {
			t.Fatal(err)
		}
	}
	if data, err := tokens.Load("../../key"); data != nil || err != nil {
		t.Fatalf("%q, %v", data, err)
	}
}
