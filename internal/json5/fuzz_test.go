package json5_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cloister-wasm/cloister/internal/json5"
)

// FuzzParse holds three properties: an error is a SyntaxError that stands inside the document; what encoding/json takes (and
// is UTF-8, without duplicate keys and within the bounds) has the same value here; canonical JSON is a fixed point.
func FuzzParse(f *testing.F) {
	f.Add([]byte("{\"\U0001F600\":1,\"\uFB33\":2,\"\u20AC\":3,\"\":4}")) // keys whose order in UTF-16 is not that in UTF-8
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := json5.Parse("in.json5", data)
		if err != nil {
			checkError(t, data, err)
			if want, ok := strictJSON(data); ok {
				t.Fatalf("valid JSON %q, value %v: %v", data, want, err)
			}
			return
		}
		if want, ok := strictJSON(data); ok {
			// reflect: the work of cmp doubles with each level of nested lists.
			if got := plain(n); !reflect.DeepEqual(want, got) {
				t.Fatalf("value of %q:\n got %v\nwant %v", data, got, want)
			}
		}
		checkJSON(t, n)
	})
}

func checkError(t *testing.T, data []byte, err error) {
	t.Helper()
	syntax, ok := errors.AsType[*json5.SyntaxError](err)
	if !ok {
		t.Fatalf("error is a %T", err)
	}
	if syntax.File != "in.json5" || syntax.Message == "" || strings.ContainsAny(syntax.Message, "\r\n\x1b") {
		t.Fatalf("error %+v", syntax)
	}
	breaks := bytes.Count(data, []byte("\n")) + bytes.Count(data, []byte("\r"))
	if syntax.Line < 1 || syntax.Line > breaks+1 || syntax.Column < 1 || syntax.Column > utf8.RuneCount(data)+1 {
		t.Fatalf("position %d:%d is outside of %q", syntax.Line, syntax.Column, data)
	}
}

func checkJSON(t *testing.T, n *json5.Node) {
	t.Helper()
	out, err := n.JSON()
	if err != nil {
		if _, ok := errors.AsType[*json5.NotJSONError](err); !ok {
			t.Fatalf("JSON error is a %T: %v", err, err)
		}
		if !holdsSpecial(n) {
			t.Fatalf("no number without a JSON form: %v", err)
		}
		return
	}
	var want any
	if err := json.Unmarshal(out, &want); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	if got := plain(n); !reflect.DeepEqual(want, got) {
		t.Fatalf("value of %s:\n got %v\nwant %v", out, got, want)
	}
	again, err := json5.Parse("out.json", out)
	if err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	twice, err := again.JSON()
	if err != nil || !bytes.Equal(out, twice) {
		t.Fatalf("JSON twice: %s, then %s, %v", out, twice, err)
	}
}

func holdsSpecial(n *json5.Node) bool {
	if math.IsNaN(n.Number) || math.IsInf(n.Number, 0) {
		return true
	}
	for _, element := range n.Elements {
		if holdsSpecial(element) {
			return true
		}
	}
	for _, m := range n.Members {
		if holdsSpecial(m.Value) {
			return true
		}
	}
	return false
}

// strictJSON is the value that encoding/json gives, for documents that the package promises to take.
func strictJSON(data []byte) (any, bool) {
	var value any
	if len(data) > json5.MaxBytes || !utf8.Valid(data) || json.Unmarshal(data, &value) != nil {
		return nil, false
	}
	if !uniqueAndShallow(json.NewDecoder(bytes.NewReader(data)), 0) {
		return nil, false
	}
	return value, true
}

// uniqueAndShallow reads one value of valid JSON and tells whether no object in it repeats a key and it nests within the
// bound.
func uniqueAndShallow(dec *json.Decoder, depth int) bool {
	token, err := dec.Token()
	if err != nil {
		return false
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return true
	}
	if depth == json5.MaxDepth {
		return false
	}
	keys := make(map[string]bool)
	for dec.More() {
		if delim == '{' {
			key, err := dec.Token()
			if err != nil || keys[key.(string)] {
				return false
			}
			keys[key.(string)] = true
		}
		if !uniqueAndShallow(dec, depth+1) {
			return false
		}
	}
	_, err = dec.Token()
	return err == nil
}

// A fuzz target without seeds finds nothing in an ordinary test run.
func TestFuzzCorpusIsThere(t *testing.T) {
	seeds, err := filepath.Glob("testdata/fuzz/FuzzParse/*")
	if err != nil || len(seeds) == 0 {
		t.Fatalf("%d seeds, %v", len(seeds), err)
	}
	for _, seed := range seeds {
		if info, err := os.Stat(seed); err != nil || info.Size() == 0 {
			t.Errorf("%s: empty or unreadable: %v", seed, err)
		}
	}
}
