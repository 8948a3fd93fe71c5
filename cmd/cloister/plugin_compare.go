package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// firstDifference says where two JSON texts differ first, or nothing. Numbers are
// compared as JavaScript has them.
func firstDifference(want, got []byte) string {
	var w, g any
	if err := json.Unmarshal(want, &w); err != nil {
		return "what is wanted is no JSON: " + err.Error()
	}
	if err := json.Unmarshal(got, &g); err != nil {
		return "the value is no JSON: " + err.Error()
	}
	return differenceAt("", w, g)
}

func differenceAt(path string, want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			keys := maps.Clone(w)
			maps.Copy(keys, g)
			for _, k := range slices.Sorted(maps.Keys(keys)) {
				_, wanted := w[k]
				_, given := g[k]
				at := path + "/" + plaintext.Show(k, 80)
				switch {
				case !given:
					return at + " is missing"
				case !wanted:
					return at + " is not wanted: " + shortJSON(g[k])
				}
				if d := differenceAt(at, w[k], g[k]); d != "" {
					return d
				}
			}
		}
	case []any:
		if g, ok := got.([]any); ok {
			for i := range min(len(w), len(g)) {
				if d := differenceAt(fmt.Sprintf("%s/%d", path, i), w[i], g[i]); d != "" {
					return d
				}
			}
			return fmt.Sprintf("%s has %d items, wanted are %d", whole(path), len(g), len(w))
		}
	}
	return fmt.Sprintf("%s is %s, wanted is %s", whole(path), shortJSON(got), shortJSON(want))
}

func whole(path string) string {
	if path == "" {
		return "the value"
	}
	return path
}

// shortJSON shows a value on one bounded line.
func shortJSON(v any) string {
	const most = 200
	return plaintext.Clip(string(escapeJSON(marshalPlain(v))), most)
}
