package catalog

import (
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/internal/plaintext/plaintexttest"
)

func TestTextsOfStrangers(t *testing.T) {
	entry := func(s string) *Entry {
		e := tool("cloister:x:y", s)
		e.Label = s
		return mustBuild(t, []Entry{e}).Entries()[0]
	}
	for name, show := range map[string]func(string) string{
		"prompt":      func(s string) string { return PromptText(s, 100) },
		"index":       func(s string) string { return mustBuild(t, []Entry{tool("cloister:x:y", s)}).Index(10_000) },
		"label":       func(s string) string { return entry(s).Label },
		"description": func(s string) string { return strings.ReplaceAll(entry(s).Description, "\n", " ") },
	} {
		t.Run(name, func(t *testing.T) { plaintexttest.Prompt(t, show) })
	}
}
