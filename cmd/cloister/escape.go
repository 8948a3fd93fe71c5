package main

import "github.com/cloister-wasm/cloister/internal/plaintext"

// escapeText makes text safe for a terminal. Line feeds and tabs stay.
func escapeText(s string) string { return plaintext.ShowLines(s, plaintext.Whole) }

// escapeLine makes text safe for a terminal and keeps it on one line.
func escapeLine(s string) string { return plaintext.Show(s, plaintext.Whole) }

// escapeJSON makes JSON safe for a terminal. The value stays the same.
func escapeJSON(text []byte) []byte { return []byte(plaintext.ShowJSON(string(text))) }
