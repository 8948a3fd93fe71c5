package lock

import (
	"testing"

	"github.com/cloister-wasm/cloister/internal/plaintext/plaintexttest"
)

func TestTextsOfStrangers(t *testing.T) {
	for name, show := range map[string]func(string) string{
		"file":    func(s string) string { return (&FileError{File: s}).Error() },
		"problem": func(s string) string { return (&FileError{Problems: []Problem{{Path: "/tools", Message: s}}}).Error() },
		"place":   func(s string) string { return Problem{Path: "/" + s, Message: "is wrong"}.String() },
		"drift": func(s string) string {
			return (&DriftError{Difference: Difference{ID: "acme.a", What: WhatDescription, Before: "x", After: s}}).Error()
		},
		"id": func(s string) string { return (&DriftError{Difference: Difference{ID: s, New: true}}).Error() },
	} {
		t.Run(name, func(t *testing.T) { plaintexttest.Line(t, show) })
	}
}
