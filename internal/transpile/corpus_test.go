package transpile

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// corpusCase is one case of testdata/corpus; returns.txtar says how one looks.
type corpusCase struct {
	name, source string
	kind, want   string // json, throws or error
}

func readCorpus(t *testing.T) []corpusCase {
	t.Helper()
	files, err := filepath.Glob("testdata/corpus/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	var cases []corpusCase
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(archive.Files)%2 != 0 {
			t.Fatalf("%s: files do not come in pairs", file)
		}
		for i := 0; i < len(archive.Files); i += 2 {
			source, want := archive.Files[i], archive.Files[i+1]
			name, kind := strings.TrimSuffix(source.Name, ".ts"), strings.TrimPrefix(filepath.Ext(want.Name), ".")
			if name == source.Name || want.Name != name+"."+kind {
				t.Fatalf("%s: %s and %s are no case", file, source.Name, want.Name)
			}
			text := string(source.Data)
			if strings.Contains(name, "crlf") {
				// txtar keeps no carriage returns.
				text = strings.ReplaceAll(text, "\n", "\r\n")
			}
			cases = append(cases, corpusCase{name, text, kind, strings.TrimSpace(string(want.Data))})
		}
	}
	return cases
}

// TestCorpus transforms each case in a worker and runs the output under Node,
// once in an ordinary realm and once in a frozen one.
func TestCorpus(t *testing.T) {
	w := newTestWorker(t, nil)
	var cells []nodeCell
	outputs := map[string]*Output{}
	cases := readCorpus(t)
	if testing.Short() {
		day := 0
		cases = slices.DeleteFunc(cases, func(corpusCase) bool { day++; return (day+today())%3 != 0 })
	}
	for _, c := range cases {
		out, err := w.Transform(t.Context(), Input{Source: c.source, Filename: c.name + ".ts"})
		switch {
		case c.kind == "error" && err == nil:
			t.Errorf("%s: no error; the output is\n%s", c.name, out.Code)
		case c.kind == "error":
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", c.name, diff)
			}
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		default:
			outputs[c.name] = out
			cells = append(cells, nodeCell{c.name, out.Code, false}, nodeCell{c.name, out.Code, true})
		}
	}
	results := map[string][]nodeResult{}
	for _, r := range runInNode(t, cells) {
		results[r.Name] = append(results[r.Name], r)
	}
	for _, c := range cases {
		for i, r := range results[c.name] {
			if diff := compareRun(c, outputs[c.name], r); diff != "" {
				t.Errorf("%s (frozen: %v): %s\nthe output is\n%s", c.name, i == 1, diff, outputs[c.name].Code)
			}
		}
	}
}

func compareRun(c corpusCase, out *Output, r nodeResult) string {
	if c.kind == "throws" {
		if r.Value != nil {
			return fmt.Sprintf("no error but %s", *r.Value)
		}
		// The innermost frame may be in a helper, which has no place in the source.
		var place Position
		for _, f := range r.Frames {
			var ok bool
			if place, ok = out.Map.Source(f[0], f[1]); ok {
				break
			}
		}
		return cmp.Diff(c.want, fmt.Sprintf("%v %s", place, r.Error))
	}
	if r.Value == nil {
		return fmt.Sprintf("it throws at %v: %s", r.Frames, r.Error)
	}
	var want, got any
	if err := json.Unmarshal([]byte(c.want), &want); err != nil {
		return err.Error()
	}
	if err := json.Unmarshal([]byte(*r.Value), &got); err != nil {
		return err.Error()
	}
	return cmp.Diff(want, got)
}
