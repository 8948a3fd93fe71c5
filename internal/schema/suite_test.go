package schema

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOfficialSuite runs the JSON Schema organisation's own test suite, which github.com/google/jsonschema-go, a
// dependency of this package, carries in its module. A case counts unless its schema is one that this package refuses
// by design: another document to fetch, or a dynamic reference.
func TestOfficialSuite(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/jsonschema-go").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "jsonschema", "testdata")
	files, err := filepath.Glob(filepath.Join(root, "draft*", "*.json"))
	if err != nil || len(files) == 0 {
		t.Skipf("no suite under %s: a vendored build carries no testdata of its modules", root)
	}
	var ran, refused int
	for _, f := range files {
		draft7 := filepath.Base(filepath.Dir(f)) == "draft7"
		for _, g := range readSuite(t, f) {
			name := filepath.Base(filepath.Dir(f)) + "/" + filepath.Base(f) + ": " + g.Description
			s, err := Compile(suiteSchema(t, g.Schema, draft7))
			if errors.Is(err, ErrRemoteRef) || errors.Is(err, ErrUnsupported) {
				refused++
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			for _, c := range g.Tests {
				ran++
				err := s.Validate(mustDecode(t, string(c.Data)))
				if (err == nil) != c.Valid {
					t.Errorf("%s, %s: got %v, want valid %v", name, c.Description, err, c.Valid)
				}
			}
		}
	}
	if ran < 1900 || refused > 47 {
		t.Errorf("ran %d cases and refused %d schemas: too few to mean anything", ran, refused)
	}
}

type suiteGroup struct {
	Description string
	Schema      json.RawMessage
	Tests       []struct {
		Description string
		Data        json.RawMessage
		Valid       bool
	}
}

func readSuite(t *testing.T, path string) []suiteGroup {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var groups []suiteGroup
	if err := json.Unmarshal(raw, &groups); err != nil {
		t.Fatal(err)
	}
	return groups
}

// suiteSchema names the draft, which the suite's draft 7 leaves to its directory.
func suiteSchema(t *testing.T, raw json.RawMessage, draft7 bool) []byte {
	t.Helper()
	var m map[string]json.RawMessage
	if !draft7 || json.Unmarshal(raw, &m) != nil || m["$schema"] != nil {
		return raw
	}
	m["$schema"] = json.RawMessage(`"http://json-schema.org/draft-07/schema#"`)
	out, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
