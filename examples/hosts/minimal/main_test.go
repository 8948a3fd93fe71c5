package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out, nil); err != nil {
		t.Fatal(err)
	}
	const sees = "the model sees: exec\nthe model sees: wait\na cell can call: cloister:core:stock\n"
	text, ok := strings.CutPrefix(out.String(), sees)
	if !ok {
		t.Fatalf("output:\n%s", out.String())
	}
	var got struct {
		Status string `json:"status"`
		Value  any    `json:"value"`
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	want := map[string]any{
		"reorder": []any{"A-100", "B-700"},
		"weeks":   map[string]any{"A-100": 1.5, "A-200": 14.7, "B-700": 1.3},
		"unknown": []any{"C-900: unknown_article"},
	}
	if diff := cmp.Diff(want, got.Value); diff != "" || got.Status != "completed" {
		t.Errorf("status %s: %s", got.Status, diff)
	}
}
