package settings

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/json5"
)

var update = flag.Bool("update", false, "write the answers of testdata/config anew")

// Each file of testdata/config holds a configuration and what it means, or what
// is said about its faults. -update writes the answers.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "config", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(ar.Files) != 2 {
				t.Fatalf("%s holds %d files, not a configuration and its answer", file, len(ar.Files))
			}
			got := explain(Parse(ar.Files[0].Name, ar.Files[0].Data))
			if *update {
				ar.Files[1].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(ar.Files[1].Data), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func explain(c *Settings, err error) string {
	if err != nil {
		return err.Error() + "\n"
	}
	list := func(l []string) string {
		if l == nil {
			return "-"
		}
		return fmt.Sprintf("%q", l)
	}
	m := c.CodeMode
	return fmt.Sprintf(`codeMode: enabled=%v off=%v languages=%q timeoutMs=%d memory=%d output=%d snapshot=%d pending=%d ttl=%d search=%d/%d runs=%d
allow: %s
deny: %s
sandbox: allow %s, alsoAllow %s, deny %s
plugins: dirs %s, allowUnsignedUnsafe %v
`, m.Enabled, c.CodeModeOff, m.Languages, m.TimeoutMs, m.MemoryLimitBytes, m.MaxOutputBytes, m.MaxSnapshotBytes, m.MaxPendingToolCalls,
		m.SnapshotTTLSeconds, m.SearchDefaultLimit, m.MaxSearchLimit, m.MaxSuspendedRuns,
		list(c.Allow), list(c.Deny), list(c.Sandbox.Allow), list(c.Sandbox.AlsoAllow), list(c.Sandbox.Deny), list(c.Plugins.Dirs), c.Plugins.AllowUnsignedUnsafe)
}

func TestErrorsAreTyped(t *testing.T) {
	_, err := Parse("c.json5", []byte(`{tool: 1}`))
	var ce *Error
	if !errors.As(err, &ce) || !errors.Is(err, host.ErrConfig) || len(ce.Faults) != 1 {
		t.Errorf("got %#v", err)
	}
	_, err = Parse("c.json5", []byte(`{`))
	var se *json5.SyntaxError
	if !errors.As(err, &se) {
		t.Errorf("got %#v", err)
	}
}

func TestLocateOrder(t *testing.T) {
	t.Chdir(t.TempDir())
	check := func(name, want string) {
		t.Helper()
		got, found, err := Locate(name)
		if got != want || found != (want == FileName) || err != nil {
			t.Errorf("Locate(%q) = %q, %v, %v; want %q", name, got, found, err, want)
		}
	}
	t.Setenv("CLOISTER_CONFIG", "")
	check("", "")
	if err := os.WriteFile(FileName, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	check("", FileName)
	t.Setenv("CLOISTER_CONFIG", "env.json5")
	check("", "env.json5")
	check("flag.json5", "flag.json5")
}

// A file that is too large is refused, and not read as a whole.
func TestTooLarge(t *testing.T) {
	name := filepath.Join(t.TempDir(), "big.json5")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(1 << 40); err != nil {
		t.Skip("no sparse files here:", err)
	}
	_, err = Load(&Options{File: name})
	if !errors.Is(err, json5.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

// Whatever the file holds, there is a configuration in which every number is in
// its range, or an error whose lines name the file.
func FuzzConfig(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "config", "*.txtar"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(ar.Files[0].Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if data == nil {
			data = []byte{}
		}
		c, err := Parse("f.json5", data)
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.HasPrefix(line, "f.json5:") {
					t.Errorf("%q: line %q of the error", data, line)
				}
			}
			return
		}
		if diff := cmp.Diff(c.CodeMode.Clamped(), c.CodeMode); diff != "" {
			t.Errorf("%q: %s", data, diff)
		}
		if c.CodeMode.Enabled == c.CodeModeOff {
			t.Errorf("%q: enabled and turned off are both %v", data, c.CodeModeOff)
		}
	})
}
